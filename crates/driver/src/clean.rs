//! Removes from a store what a run left there, and nothing else: containers are listed and each name is held against what the run's
//! workload would have written, and against the operation log where that is whole. Where a store has no listings, the names themselves
//! are deleted.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cosmark_adaptor_api::{
    Adaptor, Auth, Capability, Client, Error, ErrorKind, ListPage, ListRequest, Marks, ObjectName,
};
use cosmark_workload::leftovers::{Leftover, NameRule, Objects};
use cosmark_workload::model::TargetSpec;

use crate::ask::{limited, login, with_session};
use crate::catalog::Catalog;
use crate::permit::Permit;
use crate::target::open_target;
use crate::way::Way;

/// Connections that delete side by side.
const CLIENTS: usize = 16;
/// A container that keeps filling is left after so many rounds.
const MOST_ROUNDS: usize = 3;
/// Names of others that are told of a container.
const MOST_TOLD: usize = 5;
/// More containers than these are looked for in a listing of the account.
const MOST_NAMED: u64 = 1000;
/// A call without a time limit of its own has this one.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is to be done.
pub struct Cleaning<'a> {
    /// The adaptors.
    pub catalog: Catalog,
    /// What the run would have made.
    pub leftovers: &'a [Leftover],
    /// What it did write, where its operation log tells that and has everything.
    pub written: Option<&'a Written>,
    /// Containers that it made: they go when nothing is in them any more.
    pub created: BTreeSet<String>,
    /// Containers that were there before it: they stay.
    pub found: BTreeSet<String>,
    /// Remove also those that a begun `init` was to make of which nobody knows who made them.
    pub containers: bool,
    /// Only look.
    pub dry_run: bool,
    /// Objects whose deletion was asked for so far, also where it does not come to an end.
    pub asked: AtomicU64,
    /// Called once, before the first of them is asked for.
    pub begins: &'a dyn Fn(),
}

/// Names of objects by the name of their container.
pub type Written = BTreeMap<String, HashSet<String>>;

/// What became of one container.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CleanedContainer {
    /// Its name.
    pub name: String,
    /// Objects of the run that were deleted, or would be.
    pub objects: u64,
    /// Objects of others, which stay.
    pub others: u64,
    /// Some of their names.
    pub examples: Vec<String>,
    /// Objects that could not be deleted.
    pub failed: u64,
    /// The container itself was removed, or would be.
    pub removed: bool,
    /// Why it stays, or what went wrong.
    pub note: Option<String>,
}

/// A store and what was made in it.
struct Site<'a> {
    auth: &'a TargetSpec,
    storage: &'a TargetSpec,
    leftovers: Vec<&'a Leftover>,
}

impl Cleaning<'_> {
    /// Does it; `told` hears of each container when it is done.
    ///
    /// # Errors
    /// One sentence: the store cannot be opened, logged in to or asked.
    pub async fn run(
        &self,
        report: &mut dyn FnMut(&CleanedContainer),
    ) -> Result<Vec<CleanedContainer>, String> {
        let mut sites: Vec<Site<'_>> = Vec::new();
        for leftover in self.leftovers {
            let same = |site: &&mut Site<'_>| {
                site.auth.kind == leftover.auth.kind
                    && site.storage.kind == leftover.storage.kind
                    && values(site.auth) == values(&leftover.auth)
                    && values(site.storage) == values(&leftover.storage)
            };
            match sites.iter_mut().find(same) {
                Some(site) => site.leftovers.push(leftover),
                None => sites.push(Site {
                    auth: &leftover.auth,
                    storage: &leftover.storage,
                    leftovers: vec![leftover],
                }),
            }
        }
        let mut all = Vec::new();
        for site in &sites {
            let mut endpoint = Endpoint::open(self.catalog, site).await?;
            for name in endpoint.containers(site).await? {
                let cleaned = self.container(&mut endpoint, site, name).await;
                report(&cleaned);
                all.push(cleaned);
            }
        }
        Ok(all)
    }

    async fn container(&self, endpoint: &mut Endpoint, site: &Site<'_>, name: String) -> CleanedContainer {
        let mut cleaned = CleanedContainer { name, ..CleanedContainer::default() };
        let (rules, problem) = self.rules_of(site, &cleaned.name);
        cleaned.note = problem;
        let result = if endpoint.adaptor.capability().has(Capability::LIST) {
            self.by_listing(endpoint, &rules, &mut cleaned).await
        } else {
            self.by_name(endpoint, &rules, &mut cleaned).await
        };
        match result {
            Err(error) if error.kind() == ErrorKind::Status(404) => return cleaned,
            Err(error) => {
                cleaned.note = Some(error.to_string());
                return cleaned;
            }
            Ok(()) => {}
        }
        if cleaned.failed > 0 {
            return cleaned;
        }
        if let Err(why) = self.may_go(endpoint, site, &cleaned) {
            cleaned.note = cleaned.note.or(why);
            return cleaned;
        }
        if !self.dry_run {
            let (name, auth) = (cleaned.name.clone(), Arc::clone(&endpoint.auth));
            let remove =
                async |client: &mut dyn Client| client.delete_container(&name, &mut Marks::default()).await;
            let answer = with_session(PATIENCE, endpoint.first(), auth.as_ref(), remove).await;
            if let Err(error) = answer {
                cleaned.note = Some(format!("the container stays: {error}"));
                return cleaned;
            }
        }
        cleaned.removed = true;
        cleaned
    }

    /// Whether the container itself may be removed; why not, where that is worth a word.
    fn may_go(
        &self,
        endpoint: &Endpoint,
        site: &Site<'_>,
        cleaned: &CleanedContainer,
    ) -> Result<(), Option<String>> {
        let capability = endpoint.adaptor.capability();
        let made =
            |leftover: &&&Leftover| leftover.objects.is_none() && leftover.containers.gives(&cleaned.name);
        if !capability.has(Capability::of(&[Capability::CONTAINERS, Capability::LIST]))
            || site.leftovers.iter().find(made).is_none()
        {
            return Err(None);
        }
        if self.found.contains(&cleaned.name) {
            return Err(Some("the container stays: it was there before the run".to_owned()));
        }
        if cleaned.others > 0 {
            return Err(Some("the container stays: objects of others are in it".to_owned()));
        }
        if self.containers || self.created.contains(&cleaned.name) {
            return Ok(());
        }
        Err(Some(
            "the container stays: nobody knows whether it was there before the run; --containers removes it"
                .to_owned(),
        ))
    }

    async fn by_listing(
        &self,
        endpoint: &mut Endpoint,
        rules: &[Rule<'_>],
        cleaned: &mut CleanedContainer,
    ) -> Result<(), Error> {
        let container = cleaned.name.clone();
        for _ in 0..MOST_ROUNDS {
            let mut way = Way::default();
            let mut found = 0;
            (cleaned.others, cleaned.failed) = (0, 0);
            cleaned.examples.clear();
            while let Some(page) = endpoint.page(&container, &mut way).await? {
                let (own, others): (Vec<String>, Vec<String>) =
                    page.names.into_iter().partition(|name| rules.iter().any(|rule| rule.gives(name)));
                cleaned.others += others.len() as u64;
                let room = MOST_TOLD.saturating_sub(cleaned.examples.len());
                cleaned.examples.extend(others.into_iter().take(room));
                found += own.len() as u64;
                if self.dry_run {
                    cleaned.objects += own.len() as u64;
                } else {
                    self.delete(endpoint, &own, cleaned).await;
                }
            }
            // Pages that are deleted under a listing may hide what comes after them.
            if found == 0 || self.dry_run {
                break;
            }
        }
        Ok(())
    }

    async fn by_name(
        &self,
        endpoint: &mut Endpoint,
        rules: &[Rule<'_>],
        cleaned: &mut CleanedContainer,
    ) -> Result<(), Error> {
        for rule in rules {
            if self.dry_run {
                cleaned.objects += rule.count();
                continue;
            }
            let mut names = rule.names();
            loop {
                let some: Vec<String> = names.by_ref().take(1000).collect();
                if some.is_empty() {
                    break;
                }
                self.delete(endpoint, &some, cleaned).await;
            }
        }
        Ok(())
    }

    async fn delete(&self, endpoint: &mut Endpoint, names: &[String], cleaned: &mut CleanedContainer) {
        let (limit, container, asked) = (endpoint.limit, cleaned.name.as_str(), &self.asked);
        let auth = endpoint.auth.as_ref();
        let begins = self.begins;
        let share = names.len().div_ceil(CLIENTS).max(1);
        let parts = endpoint.clients.iter_mut().zip(names.chunks(share)).map(|(client, names)| async move {
            let (mut done, mut failed, mut first) = (0_u64, 0_u64, None);
            // Where a new login does not help either, not every object asks for another one.
            let mut is_refused = false;
            for object in names {
                if asked.fetch_add(1, Ordering::Relaxed) == 0 {
                    begins();
                }
                let name = ObjectName { container, object };
                let delete = async |client: &mut dyn Client| client.delete(name, &mut Marks::default()).await;
                let answer = if is_refused {
                    limited(limit, delete(client.as_mut())).await
                } else {
                    with_session(limit, client.as_mut(), auth, delete).await
                };
                is_refused = answer.as_ref().is_err_and(Error::is_session_over);
                match answer {
                    Ok(()) => done += 1,
                    Err(error) if error.kind() == ErrorKind::Status(404) => {}
                    Err(error) => {
                        failed += 1;
                        first.get_or_insert_with(|| error.to_string());
                    }
                }
            }
            (done, failed, first)
        });
        for (done, failed, first) in futures_util::future::join_all(parts).await {
            cleaned.objects += done;
            cleaned.failed += failed;
            if first.is_some() && cleaned.note.is_none() {
                cleaned.note = first;
            }
        }
    }
}

/// What two targets that are one have in common.
fn values(spec: &TargetSpec) -> Vec<(&str, &cosmark_workload::model::ConfigValue)> {
    spec.config.entries.iter().map(|entry| (entry.key.as_str(), &entry.value)).collect()
}

/// Names of objects of the run.
enum Rule<'a> {
    /// All that it may have written.
    Numbered(&'a NameRule),
    /// Those of them that its operation log has.
    Written(&'a NameRule, Option<&'a HashSet<String>>),
    Files(BTreeSet<String>),
    /// All that begin so.
    Prefixed(&'a str),
}

impl Rule<'_> {
    fn gives(&self, name: &str) -> bool {
        match self {
            Self::Numbered(rule) => rule.gives(name),
            Self::Written(rule, names) => rule.gives(name) && names.is_some_and(|names| names.contains(name)),
            Self::Files(names) => names.contains(name),
            Self::Prefixed(prefix) => name.starts_with(prefix),
        }
    }

    fn count(&self) -> u64 {
        match self {
            Self::Numbered(rule) => rule.count(),
            Self::Written(..) | Self::Files(_) | Self::Prefixed(_) => self.names().count() as u64,
        }
    }

    fn names(&self) -> Box<dyn Iterator<Item = String> + '_> {
        match self {
            Self::Numbered(rule) => Box::new(rule.names()),
            Self::Written(rule, names) => {
                Box::new(names.iter().flat_map(|names| names.iter()).filter(|name| rule.gives(name)).cloned())
            }
            Self::Files(names) => Box::new(names.iter().cloned()),
            // Only a listing knows them.
            Self::Prefixed(_) => Box::new(std::iter::empty()),
        }
    }
}

impl Cleaning<'_> {
    /// What the run would have written into this container, and what of it cannot be known here.
    fn rules_of<'a>(&'a self, site: &Site<'a>, container: &str) -> (Vec<Rule<'a>>, Option<String>) {
        let mut problem = None;
        let mut rules = Vec::new();
        for leftover in site.leftovers.iter().filter(|leftover| leftover.containers.gives(container)) {
            match &leftover.objects {
                Some(Objects::Numbered(rule)) => rules.push(match self.written {
                    Some(written) => Rule::Written(rule, written.get(container)),
                    None => Rule::Numbered(rule),
                }),
                Some(Objects::Prefixed(prefix)) => rules.push(Rule::Prefixed(prefix)),
                Some(Objects::Files(directory)) => match files_of(Path::new(directory)) {
                    Ok(names) => rules.push(Rule::Files(names)),
                    Err(cause) => {
                        problem = Some(format!(
                            "what was written of the files in {directory} is not known here ({cause}): clean up where they are"
                        ));
                    }
                },
                None => {}
            }
        }
        (rules, problem)
    }
}

fn files_of(directory: &Path) -> std::io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            names.insert(entry.file_name().to_string_lossy().into_owned());
        }
    }
    Ok(names)
}

/// A store that is logged in to.
struct Endpoint {
    /// For a session that is over before all is deleted.
    auth: Arc<dyn Auth>,
    adaptor: Arc<dyn Adaptor>,
    clients: Vec<Box<dyn Client>>,
    limit: Duration,
}

impl Endpoint {
    async fn open(catalog: Catalog, site: &Site<'_>) -> Result<Self, String> {
        let opened = open_target(&catalog, &Permit::here(), site.auth, site.storage)?;
        let session = login(opened.auth.as_ref()).await;
        let session = session.map_err(|error| format!("login at {}: {error}", site.storage.kind))?;
        let clients: Result<Vec<_>, Error> = (0..CLIENTS).map(|_| opened.adaptor.client(&session)).collect();
        let limit = opened.adaptor.timeout().unwrap_or(PATIENCE);
        let clients = clients.map_err(|error| error.to_string())?;
        let mut endpoint = Self { auth: opened.auth, adaptor: opened.adaptor, clients, limit };
        let mut marks = Marks::default();
        let probe = limited(limit, endpoint.first().probe(&mut marks)).await;
        probe.map_err(|error| format!("storage {}: {error}", site.storage.kind))?;
        Ok(endpoint)
    }

    #[expect(clippy::indexing_slicing, reason = "there are always some")]
    fn first(&mut self) -> &mut dyn Client {
        self.clients[0].as_mut()
    }

    /// Containers that the run may have written into: all its names, or those of them that the account has, where they are very
    /// many.
    async fn containers(&mut self, site: &Site<'_>) -> Result<Vec<String>, String> {
        let mut names = BTreeSet::new();
        let rules = || site.leftovers.iter().map(|leftover| &leftover.containers);
        for rule in rules().filter(|rule| rule.count() <= MOST_NAMED) {
            names.extend(rule.names());
        }
        let many: Vec<&NameRule> = rules().filter(|rule| rule.count() > MOST_NAMED).collect();
        if many.is_empty() {
            return Ok(names.into_iter().collect());
        }
        let mut way = Way::default();
        loop {
            let page = self.page("", &mut way).await;
            let page = page.map_err(|error| format!("the containers cannot be listed: {error}"))?;
            let Some(page) = page else { return Ok(names.into_iter().collect()) };
            names.extend(page.names.into_iter().filter(|name| many.iter().any(|rule| rule.gives(name))));
        }
    }

    /// The next page of a listing, of the account's containers where none is named; `None` behind the last.
    async fn page(&mut self, container: &str, way: &mut Way) -> Result<Option<ListPage>, Error> {
        if way.is_over {
            return Ok(None);
        }
        let after = way.after.take();
        let request =
            ListRequest { container, after: after.as_deref(), want_names: true, ..ListRequest::default() };
        let (limit, auth) = (self.limit, Arc::clone(&self.auth));
        let list = async |client: &mut dyn Client| client.list(request, &mut Marks::default()).await;
        let mut page = with_session(limit, self.first(), auth.as_ref(), list).await?;
        page.answers(&request)?;
        // Which names are new is not noted: what is deleted comes no second time, and all others may be very many.
        way.goes_on(&mut page, true)?;
        Ok(Some(page))
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use cosmark_adaptor_api::null::Null;
    use cosmark_adaptor_api::{
        BodySink, BodySource, ByteRange, OpFuture, PutOptions, PutOutcome, ReadOutcome, Session,
    };

    use super::*;
    use crate::readback::tests::Anybody;

    /// A store whose page behind `at` is the one behind `leads(at)`.
    struct Circle(Leads, u32);

    type Leads = fn(Option<&str>) -> Option<&'static str>;

    impl Client for Circle {
        fn set_session(&mut self, _: &Arc<Session>) {}

        fn probe<'a>(&'a mut self, _: &'a mut Marks) -> OpFuture<'a, ()> {
            Box::pin(ready(Ok(())))
        }

        fn get<'a>(
            &'a mut self,
            _: ObjectName<'a>,
            _: Option<ByteRange>,
            _: Option<&'a mut dyn BodySink>,
            _: &'a mut Marks,
        ) -> OpFuture<'a, ReadOutcome> {
            Box::pin(ready(Ok(ReadOutcome::default())))
        }

        fn put<'a>(
            &'a mut self,
            _: ObjectName<'a>,
            _: &'a dyn BodySource,
            _: PutOptions,
            _: &'a mut Marks,
        ) -> OpFuture<'a, PutOutcome> {
            Box::pin(ready(Ok(PutOutcome::default())))
        }

        fn delete<'a>(&'a mut self, _: ObjectName<'a>, _: &'a mut Marks) -> OpFuture<'a, ()> {
            Box::pin(ready(Ok(())))
        }

        fn list<'a>(&'a mut self, request: ListRequest<'a>, _: &'a mut Marks) -> OpFuture<'a, ListPage> {
            self.1 += 1;
            assert!(self.1 < 1000, "it is asked for ever");
            let next = (self.0)(request.after).map(str::to_owned);
            Box::pin(ready(Ok(ListPage { count: 1, names: vec!["other".to_owned()], next, bytes: 0 })))
        }
    }

    fn endpoint(leads: Leads) -> Endpoint {
        Endpoint {
            auth: Arc::new(Anybody),
            adaptor: Arc::new(Null),
            clients: vec![Box::new(Circle(leads, 0))],
            limit: PATIENCE,
        }
    }

    #[tokio::test]
    async fn a_listing_that_leads_back_is_left_with_a_word_and_one_that_ends_is_read_to_its_end() {
        let (leftovers, created, found) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
        let catalog = crate::catalog::tests::STORES;
        let (containers, dry_run, asked) = (false, false, AtomicU64::new(0));
        let cleaning = Cleaning {
            catalog,
            leftovers: &leftovers,
            written: None,
            created,
            found,
            containers,
            dry_run,
            asked,
            begins: &|| {},
        };
        let cases: [(Leads, Option<u64>); 4] = [
            (|_| Some("a"), None),
            (|at| if at == Some("a") { Some("b") } else { Some("a") }, None),
            (
                |at| match at {
                    None => Some("a"),
                    Some("a") => Some("b"),
                    Some("b") => Some("c"),
                    Some("c") => Some("d"),
                    _ => Some("b"),
                },
                None,
            ),
            (
                |at| match at {
                    None => Some("a"),
                    Some("a") => Some("b"),
                    _ => None,
                },
                Some(3),
            ),
        ];
        for (leads, pages) in cases {
            let mut cleaned = CleanedContainer::default();
            let done = cleaning.by_listing(&mut endpoint(leads), &[], &mut cleaned).await;
            assert_eq!(done.is_ok().then_some(cleaned.others), pages, "{done:?}");
            assert!(done.err().is_none_or(|error| error.kind() == ErrorKind::Protocol));
        }
    }
}
