//! How requests are read and refusals written: every refusal is a [`Refusal`] in JSON.

use std::io::ErrorKind;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use cosmark_archive::ArchiveError;
use cosmark_report::ReportError;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Shared;
use crate::ServiceError;
use crate::api::types::{Mistake, Refusal};
use crate::auth::Closed;
use crate::auth::tokens::Identity;
use crate::queue::Refused;

/// Said of a run of which something is missing.
const GONE: &str = "this run, or a file of it that is needed here, is not there any more; GET /api/v1/runs lists what there is";

/// A refusal.
#[derive(Debug)]
pub struct No {
    status: StatusCode,
    refusal: Box<Refusal>,
}

impl No {
    /// With one sentence.
    pub fn new(status: StatusCode, error: impl Into<String>) -> Self {
        Self { status, refusal: Box::new(Refusal { error: error.into(), mistakes: Vec::new() }) }
    }

    /// A workload with mistakes.
    #[must_use]
    pub fn mistakes(mistakes: Vec<Mistake>) -> Self {
        let errors = mistakes.iter().filter(|one| one.severity == "error").count();
        let first = mistakes.iter().find(|one| one.severity == "error");
        let error = match (first, errors) {
            (Some(first), 1) if first.line > 0 => format!("line {}: {}", first.line, first.message),
            (Some(first), 1) => first.message.clone(),
            (Some(first), more) => {
                format!("{more} mistakes, the first in line {}: {}", first.line, first.message)
            }
            (None, _) => "the workload cannot be read".to_owned(),
        };
        Self { status: StatusCode::UNPROCESSABLE_ENTITY, refusal: Box::new(Refusal { error, mistakes }) }
    }

    /// The role does not suffice.
    #[must_use]
    pub fn may_only_look(who: &Identity) -> Self {
        let text = format!("the token `{}` may only look; log in with one whose role is operate", who.name);
        Self::new(StatusCode::FORBIDDEN, text)
    }

    /// There is no such thing.
    pub fn unknown(text: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, text)
    }

    /// Something that was asked for wrongly.
    pub fn bad(text: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, text)
    }

    /// Our fault, or this machine's.
    pub fn internal(text: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, text)
    }

    /// Its sentence.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.refusal.error
    }

    /// Its status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.status
    }
}

impl From<Closed> for No {
    fn from(closed: Closed) -> Self {
        match closed {
            Closed::Unknown => Self::new(
                StatusCode::UNAUTHORIZED,
                "log in with a token: `Authorization: Bearer TOKEN`; the controller showed one at its first start",
            ),
            Closed::Wrong => Self::new(
                StatusCode::UNAUTHORIZED,
                "this token is not known here: look whether all of it was copied and whether it was removed; \
                 `cosmark controller --tokens` lists names, `--add-token NAME` makes another",
            ),
            Closed::TooMany => Self::new(
                StatusCode::TOO_MANY_REQUESTS,
                "too many wrong tokens came from this address; wait half a minute",
            ),
            Closed::Foreign => Self::new(
                StatusCode::FORBIDDEN,
                "a change by session cookie needs the header `X-Cosmark: 1` and comes from the console's own pages; scripts \
                 use `Authorization: Bearer TOKEN`",
            ),
        }
    }
}

impl From<Refused> for No {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Unknown(text) => Self::unknown(text),
            Refused::Wrong(text) => Self::bad(text),
            Refused::Conflict(text) => Self::new(StatusCode::CONFLICT, text),
            Refused::Mistakes(mistakes) => Self::mistakes(mistakes),
            Refused::TooMany(text) => Self::new(StatusCode::TOO_MANY_REQUESTS, text),
            Refused::Internal(error) => error.into(),
        }
    }
}

impl From<ServiceError> for No {
    fn from(error: ServiceError) -> Self {
        let status = match error {
            ServiceError::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            _ => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self::new(status, error.to_string())
    }
}

impl From<ArchiveError> for No {
    fn from(error: ArchiveError) -> Self {
        match &error {
            // The place on this machine is nobody's business, and most likely the run was deleted just now.
            ArchiveError::NotARun { .. } => Self::unknown(GONE),
            ArchiveError::Io { source, .. } if source.kind() == ErrorKind::NotFound => Self::unknown(GONE),
            _ => Self::internal(error.to_string()),
        }
    }
}

impl From<ReportError> for No {
    fn from(error: ReportError) -> Self {
        match error {
            ReportError::Archive(error) => error.into(),
            error => Self::internal(error.to_string()),
        }
    }
}

impl IntoResponse for No {
    fn into_response(self) -> Response {
        let mut response = (self.status, axum::Json(&*self.refusal)).into_response();
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        let wait = match self.status {
            StatusCode::TOO_MANY_REQUESTS => Some("30"),
            StatusCode::SERVICE_UNAVAILABLE => Some("3"),
            _ => None,
        };
        if let Some(seconds) = wait {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static(seconds));
        }
        response
    }
}

/// What handlers give.
pub type Given<T> = Result<axum::Json<T>, No>;

/// JSON of a value.
pub fn json<T: Serialize>(value: T) -> Given<T> {
    Ok(axum::Json(value))
}

/// The body of a request, JSON.
pub struct Body<T>(pub T);

impl<T: DeserializeOwned> FromRequest<Shared> for Body<T> {
    type Rejection = No;

    async fn from_request(request: Request, state: &Shared) -> Result<Self, No> {
        let bytes = Bytes::from_request(request, state).await.map_err(|rejection| {
            let status = rejection.status();
            match status {
                StatusCode::PAYLOAD_TOO_LARGE => {
                    No::new(status, "the request is larger than 64 MiB, or than 64 KiB for a login")
                }
                _ => No::bad("the request broke off"),
            }
        })?;
        // A request without a body asks for nothing special.
        let text: &[u8] = if bytes.is_empty() { b"{}" } else { &bytes };
        serde_json::from_slice(text).map(Self).map_err(|cause| {
            No::bad(format!("the body is not what is expected here: {cause}; /api/openapi.json describes it"))
        })
    }
}

/// The query of a request.
pub struct Params<T>(pub T);

impl<T: DeserializeOwned> FromRequestParts<Shared> for Params<T> {
    type Rejection = No;

    async fn from_request_parts(parts: &mut Parts, _state: &Shared) -> Result<Self, No> {
        let query = Query::<T>::try_from_uri(&parts.uri);
        query.map(|Query(value)| Self(value)).map_err(|rejection| No::bad(rejection.body_text()))
    }
}

/// What the path of a request names.
pub struct Path<T>(pub T);

impl<T: DeserializeOwned + Send> FromRequestParts<Shared> for Path<T> {
    type Rejection = No;

    async fn from_request_parts(parts: &mut Parts, state: &Shared) -> Result<Self, No> {
        let named = axum::extract::Path::<T>::from_request_parts(parts, state).await;
        named
            .map(|axum::extract::Path(value)| Self(value))
            .map_err(|rejection| No::new(rejection.status(), rejection.body_text()))
    }
}

/// Runs something that reads files on a thread where that harms nobody.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, No> + Send + 'static,
) -> Result<T, No> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|_| Err(No::internal("this request failed by a bug; please report it")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_is_deleted_while_it_is_read_is_none_and_its_place_is_not_told() {
        let of = |kind: ErrorKind| ArchiveError::Io {
            action: "read",
            path: "/srv/archive/w1-x/run.json".into(),
            source: kind.into(),
        };
        let not_a_run = || ArchiveError::NotARun { path: "/srv/archive/w1-x".into() };
        let gone: [No; 4] = [
            of(ErrorKind::NotFound).into(),
            not_a_run().into(),
            ReportError::from(of(ErrorKind::NotFound)).into(),
            ReportError::from(not_a_run()).into(),
        ];
        for no in gone {
            assert!(no.status() == StatusCode::NOT_FOUND && !no.text().contains("/srv"), "{no:?}");
        }
        assert_eq!(No::from(of(ErrorKind::PermissionDenied)).status(), StatusCode::INTERNAL_SERVER_ERROR);
    }
}
