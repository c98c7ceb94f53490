//! Bounds in time: a response ends with the login that it was given to, and the body of a request has to arrive.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::header;
use axum::response::Response;
use futures_util::stream::{self, StreamExt};
use tokio::time::{Instant, sleep, timeout_at};

use super::Shared;
use crate::auth::Login;

/// A login is looked at this often while something is told to it.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// A body has so long, and a second more for every [`BYTES_A_SECOND`] of it that came.
const BODY_PATIENCE: Duration = Duration::from_secs(20);
const BYTES_A_SECOND: u64 = 32 << 10;

type Waiting = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The answer as long as the login holds: events end then, and a download breaks off, so that nobody takes it for whole.
pub fn while_logged_in(app: &Shared, login: Login, response: Response) -> Response {
    // What is complete in itself is told at once.
    if response.body().size_hint().exact().is_some() {
        return response;
    }
    let (parts, body) = response.into_parts();
    let kind = parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let are_events = kind.is_some_and(|kind| kind.starts_with("text/event-stream"));
    let app = Shared::clone(app);
    let ended: Waiting = Box::pin(async move {
        while app.access.holds(&login) {
            sleep(LOOK_EVERY).await;
        }
    });
    let bounded = stream::unfold(Some((body.into_data_stream(), ended)), move |state| async move {
        let (mut data, mut ended) = state?;
        tokio::select! {
            () = &mut ended => {
                let broken: std::io::Error = std::io::ErrorKind::PermissionDenied.into();
                (!are_events).then_some((Err(broken), None))
            }
            part = data.next() => {
                let part: Result<Bytes, std::io::Error> = part?.map_err(std::io::Error::other);
                Some((part, Some((data, ended))))
            }
        }
    });
    Response::from_parts(parts, Body::from_stream(bounded.fuse()))
}

/// A body that is an error when it comes too slowly.
pub fn in_time(body: Body) -> Body {
    if body.is_end_stream() {
        return body;
    }
    let begun = Instant::now();
    let parts = stream::unfold(Some((body.into_data_stream(), 0_u64)), move |state| async move {
        let (mut data, came) = state?;
        let until = begun + BODY_PATIENCE + Duration::from_secs(came / BYTES_A_SECOND);
        match timeout_at(until, data.next()).await {
            Err(_) => Some((Err(std::io::ErrorKind::TimedOut.into()), None)),
            Ok(None) => None,
            Ok(Some(part)) => {
                let came = came + part.as_ref().map_or(0, |part: &Bytes| part.len() as u64);
                Some((part.map_err(std::io::Error::other), Some((data, came))))
            }
        }
    });
    Body::from_stream(parts.fuse())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_body_that_comes_slowly_is_an_error_and_a_large_one_that_comes_is_not() {
        let drop_by_drop = stream::unfold((), |()| async {
            sleep(Duration::from_secs(5)).await;
            Some((Ok::<_, std::io::Error>(Bytes::from_static(b"x")), ()))
        });
        let slow = axum::body::to_bytes(in_time(Body::from_stream(drop_by_drop)), 1 << 20).await;
        assert!(slow.is_err());
        let steady = stream::iter(0..120).then(|_| async {
            sleep(Duration::from_secs(1)).await;
            Ok::<_, std::io::Error>(Bytes::from(vec![0; 64 << 10]))
        });
        let whole = axum::body::to_bytes(in_time(Body::from_stream(steady)), 64 << 20).await.unwrap();
        assert_eq!(whole.len(), 120 * (64 << 10));
    }
}
