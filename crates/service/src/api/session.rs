//! Logging in and out.

use std::net::SocketAddr;

use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::answer::{Body, Given, blocking, json};
use super::{No, Shared, Who};
use crate::api::types::{Login, SessionInfo};
use crate::auth::is_same_origin;

/// Who is logged in.
pub async fn show(who: Who) -> Given<SessionInfo> {
    json(SessionInfo { role: who.role, token_name: who.name.clone() })
}

/// Begins a session. A page of somebody else's must not log a user in as whom it likes: the header is needed here, too,
/// when a browser says where the request comes from.
pub async fn begin(
    State(app): State<Shared>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    Body(login): Body<Login>,
) -> Result<Response, No> {
    if headers.contains_key(header::ORIGIN) && !is_same_origin(&headers) {
        return Err(crate::auth::Closed::Foreign.into());
    }
    let who = app.access.by_token(&login.token, from.ip())?;
    let cookie = app.access.new_session(&who)?;
    let info = SessionInfo { role: who.role, token_name: who.name };
    Ok(([(header::SET_COOKIE, cookie)], axum::Json(info)).into_response())
}

/// Ends a session.
pub async fn end(State(app): State<Shared>, headers: HeaderMap) -> Result<Response, No> {
    if headers.contains_key(header::ORIGIN) && !is_same_origin(&headers) {
        return Err(crate::auth::Closed::Foreign.into());
    }
    let cookie = blocking(move || Ok(app.access.end_session(&headers)?)).await?;
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response())
}
