//! One connection: request after request, until one side has enough.

use std::rc::Rc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::exchange::{Exchange, sender};
use crate::http::answer::{Answer, Framed, render};
use crate::http::head::{BadHead, Head};
use crate::http::input::Input;
use crate::http::sock::Sock;
use crate::peer::{After, Peer};
use crate::s3;
use crate::state::Shared;

/// The state of a connection; its buffers are reused.
pub(crate) struct Connection<S> {
    sock: S,
    shared: Rc<Shared>,
    peer: Peer,
    input: Input,
    head: Head,
    answer: Answer,
    out: Vec<u8>,
    requests: u32,
}

impl<S: Sock> Connection<S> {
    pub(crate) fn new(sock: S, shared: Rc<Shared>, peer: Peer) -> Connection<S> {
        let (input, head, answer) = (Input::new(), Head::new(), Answer::default());
        Connection { sock, shared, peer, input, head, answer, out: Vec::new(), requests: 0 }
    }

    /// Serves the connection to its end.
    pub(crate) async fn run(mut self) {
        let after = loop {
            match self.next_head().await {
                Ok(true) => {}
                Ok(false) => return,
                Err(bad) => {
                    self.refuse(&bad).await;
                    break After::Linger;
                }
            }
            self.requests = self.requests.saturating_add(1);
            match self.exchange().await {
                After::Keep => {}
                after => break after,
            }
        };
        if after == After::Drop {
            return;
        }
        // Errors from here on mean that the peer is gone, which is what is wanted.
        let _gone = self.sock.shutdown().await;
        if after == After::Linger {
            let _time_is_up = tokio::time::timeout(Duration::from_secs(1), self.discard()).await;
        }
    }

    /// Reads and forgets up to 4 MiB.
    async fn discard(&mut self) {
        let mut scratch = vec![0; 16 * 1024];
        for _ in 0..256 {
            if !matches!(self.sock.read(&mut scratch).await, Ok(1..)) {
                return;
            }
        }
    }

    /// Waits for the next complete head; `false` when the client ended the connection.
    async fn next_head(&mut self) -> Result<bool, BadHead> {
        loop {
            if !self.input.bytes().is_empty()
                && let Some(length) = self.head.parse(self.input.bytes())?
            {
                self.input.consume(length);
                return Ok(true);
            }
            match self.input.fill(&mut self.sock).await {
                Ok(1..) => self.peer.alive.set(self.shared.clock.now_ns()),
                _ => return Ok(false),
            }
        }
    }

    /// Answers what is no HTTP request.
    async fn refuse(&mut self, bad: &BadHead) {
        self.shared.log.borrow_mut().sums.bad_requests += 1;
        self.answer.clear();
        let id = self.shared.requests.get();
        s3::scripted_error(id, "", bad.status, Some("BadRequest"), &mut self.answer);
        self.answer.header("X-Reason", bad.message);
        self.out.clear();
        let unix_s = self.shared.clock.unix(self.shared.clock.now_ns()).as_secs();
        render(&mut self.out, &self.answer, unix_s, Framed::Length(self.answer.payload.len()), true);
        let length = self.answer.payload.len();
        sender(&mut self.sock, &self.shared, &self.peer, &self.out, &self.answer, length).send().await;
    }

    /// One request and its answer.
    async fn exchange(&mut self) -> After {
        let Connection { sock, shared, peer, input, head, answer, out, requests } = self;
        answer.clear();
        let mut exchange = Exchange::begin(shared, peer, head, *requests);
        match exchange.receive(sock, input).await {
            Ok(body) => {
                let now_ns = exchange.wait().await;
                exchange.answer(sock, body, now_ns, answer, out).await
            }
            Err(outcome) => {
                exchange.give_up(outcome, answer);
                After::Drop
            }
        }
    }
}
