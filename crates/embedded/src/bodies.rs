//! A body of a request that has begun has to go on. Where nothing more of it comes for two minutes, its client is gone
//! without a word, or means to hold a connection and a file for ever.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, SizeHint};
use s3s::StdError;
use tokio::time::{Sleep, sleep};

/// How long the next bytes may take.
pub(crate) const BODY_PATIENCE: Duration = Duration::from_secs(120);
/// What the error says, by which it is known again: it is handed on as text.
pub(crate) const STALLED: &str = "nothing more of the body came for two minutes";

/// A body that may be as slow as it likes, and may not stand still.
pub(crate) struct Flowing<B> {
    body: B,
    /// While it is waited for.
    alarm: Option<Pin<Box<Sleep>>>,
}

impl<B> Flowing<B> {
    pub(crate) fn new(body: B) -> Self {
        Self { body, alarm: None }
    }
}

impl<B> Body for Flowing<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<StdError>,
{
    type Data = Bytes;
    type Error = StdError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, StdError>>> {
        let this = &mut *self;
        if let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(cx) {
            this.alarm = None;
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let alarm = this.alarm.get_or_insert_with(|| Box::pin(sleep(BODY_PATIENCE)));
        ready!(alarm.as_mut().poll(cx));
        Poll::Ready(Some(Err(STALLED.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::convert::Infallible;
    use std::future::poll_fn;

    use tokio::sync::mpsc;

    use super::*;

    /// What is sent through a channel.
    struct Sent(mpsc::Receiver<Bytes>);

    impl Body for Sent {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            self.0.poll_recv(cx).map(|part| part.map(|part| Ok(Frame::data(part))))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_may_be_slow_and_may_not_stand_still() {
        let (client, sent) = mpsc::channel(1);
        let mut body = Flowing::new(Sent(sent));
        let slow = async move {
            for _ in 0..10 {
                sleep(BODY_PATIENCE - Duration::from_secs(1)).await;
                client.send(Bytes::from_static(b"x")).await.unwrap();
            }
            client
        };
        let slow = tokio::spawn(slow);
        for _ in 0..10 {
            let frame = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await;
            assert_eq!(frame.unwrap().unwrap().into_data().unwrap(), "x");
        }
        let client = slow.await.unwrap();
        // Time in which nobody waits for it is not the client's.
        sleep(10 * BODY_PATIENCE).await;
        client.send(Bytes::from_static(b"y")).await.unwrap();
        let frame = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await;
        assert_eq!(frame.unwrap().unwrap().into_data().unwrap(), "y");
        let error = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await.unwrap().unwrap_err();
        assert_eq!(error.to_string(), STALLED);
    }
}
