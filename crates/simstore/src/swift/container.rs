//! Swift accounts and containers: create, ask, change metadata, delete.

use super::{Done, NO_SPACE, checked_merge, refusal, timestamp};
use crate::behaviour::SwiftOptions;
use crate::http::answer::Answer;
use crate::http::head::Method;
use crate::read::Call;
use crate::store::{Container, Store};

/// Longest name of a container, bytes.
pub(super) const MAX_NAME: usize = 256;

const META: &str = "x-container-meta-";
const ACCOUNT_META: &str = "x-account-meta-";

/// HEAD and POST of an account; accounts come to be when they are first used.
pub(super) fn account(store: &mut Store, call: &Call<'_>, answer: &mut Answer) -> Done {
    answer.status = 204;
    match call.head.method {
        Method::Head => {
            account_headers(store, call, answer);
            Ok(())
        }
        Method::Post => {
            let account = store.account_mut(&call.route.account);
            account.fields = checked_merge(&account.fields, call.head, ACCOUNT_META)?;
            Ok(())
        }
        _ => Err(405.into()),
    }
}

pub(super) fn account_headers(store: &Store, call: &Call<'_>, answer: &mut Answer) {
    let account = store.account(&call.route.account);
    let containers = || account.into_iter().flat_map(|account| account.containers.values());
    answer.number("X-Account-Container-Count", containers().count() as u64);
    answer.number("X-Account-Object-Count", containers().map(|container| container.count).sum());
    answer.number("X-Account-Bytes-Used", containers().map(|container| container.bytes).sum());
    for (name, value) in account.into_iter().flat_map(|account| &account.fields) {
        answer.header(name, value);
    }
}

pub(super) fn create(
    store: &mut Store,
    options: &SwiftOptions,
    call: &Call<'_>,
    answer: &mut Answer,
) -> Done {
    let (account, name) = (&*call.route.account, &*call.route.container);
    answer.status = 201;
    if store.is_null() {
        return Ok(());
    }
    if name.len() > MAX_NAME {
        return Err(refusal(400, format!("Container name length of {} longer than {MAX_NAME}", name.len())));
    }
    let policy = match call.head.get("x-storage-policy") {
        None => None,
        Some(asked) => {
            let known = options.policies.iter().find(|known| known.eq_ignore_ascii_case(asked));
            Some(known.ok_or_else(|| refusal(400, format!("Invalid X-Storage-Policy '{asked}'")))?)
        }
    };
    if let Some(container) = store.container_mut(account, name) {
        if policy.is_some() && container.policy.as_ref() != policy {
            return Err(409.into());
        }
        container.fields = checked_merge(&container.fields, call.head, META)?;
        answer.status = 202;
        return Ok(());
    }
    let fields = checked_merge(&Vec::new(), call.head, META)?;
    let policy = policy.or(options.policies.first()).cloned();
    if !store.create_container(account, name, call.now_ms, fields, policy) {
        return Err(refusal(507, NO_SPACE));
    }
    Ok(())
}

pub(super) fn headers(container: &Container, answer: &mut Answer) {
    answer.container = Some(container.name.clone());
    answer.number("X-Container-Object-Count", container.count);
    answer.number("X-Container-Bytes-Used", container.bytes);
    answer.header("X-Timestamp", &timestamp(container.created_ms));
    if let Some(policy) = &container.policy {
        answer.header("X-Storage-Policy", policy);
    }
    for (name, value) in &container.fields {
        answer.header(name, value);
    }
}

pub(super) fn head(store: &Store, call: &Call<'_>, answer: &mut Answer) -> Done {
    answer.status = 204;
    match store.container(&call.route.account, &call.route.container) {
        Some(container) => headers(container, answer),
        None if store.is_null() => {}
        None => return Err(404.into()),
    }
    Ok(())
}

pub(super) fn post(store: &mut Store, call: &Call<'_>, answer: &mut Answer) -> Done {
    answer.status = 204;
    if store.is_null() {
        return Ok(());
    }
    let container = store.container_mut(&call.route.account, &call.route.container).ok_or(404)?;
    container.fields = checked_merge(&container.fields, call.head, META)?;
    Ok(())
}

pub(super) fn delete(store: &mut Store, call: &Call<'_>, answer: &mut Answer) -> Done {
    answer.status = 204;
    if store.is_null() {
        return Ok(());
    }
    let container = store.container(&call.route.account, &call.route.container).ok_or(404)?;
    if container.count > 0 {
        return Err(409.into());
    }
    store.remove_container(&call.route.account, &call.route.container);
    Ok(())
}
