//! One request and its answer: through the script, its protocol, and out again.

use std::sync::Arc;

use tokio::io::AsyncWriteExt as _;

use crate::admin;
use crate::behaviour::{BrokenPromise, Op, ResetAt, StoreMode};
use crate::http::answer::{Answer, Framed, Outcome, Sender, Sent, render};
use crate::http::body::{Body, BodyError, Plan, Receiver};
use crate::http::head::{Head, Method};
use crate::http::input::Input;
use crate::http::sock::{Sock, arm_reset};
use crate::log::LogRecord;
use crate::peer::{After, Peer};
use crate::read::Call;
use crate::route::{Protocol, Route};
use crate::rules::{Decision, Due, Faults, Instead, InsteadKind, Moment, Script};
use crate::state::Shared;
use crate::store::Store;
use crate::{s3, swift};

/// Largest body of requests whose body is a document.
const MAX_DOCUMENT: u64 = 8 << 20;

/// A request on its way.
pub(crate) struct Exchange<'a> {
    shared: &'a Shared,
    peer: &'a Peer,
    head: &'a Head,
    route: Route<'a>,
    /// Number of the request on its connection.
    request: u32,
    /// Number of the request in this server.
    id: u64,
    arrival_ns: u64,
    complete_ns: u64,
    due: Due,
    /// Bytes received.
    bytes: u64,
    /// Bytes of the body's content.
    content_bytes: u64,
    decision: Decision,
    after: After,
    /// What is wrong with the body.
    complaint: Option<&'static str>,
}

impl<'a> Exchange<'a> {
    /// A head was read.
    pub(crate) fn begin(shared: &'a Shared, peer: &'a Peer, head: &'a Head, request: u32) -> Exchange<'a> {
        let route = Route::of(head);
        let arrival_ns = shared.clock.now_ns();
        peer.alive.set(arrival_ns);
        let id = shared.requests.get() + 1;
        shared.requests.set(id);
        let decision = if route.protocol == Protocol::Admin {
            Decision::default()
        } else {
            shared.script.borrow_mut().on_head(route.op, &route.object, arrival_ns)
        };
        Exchange {
            shared,
            peer,
            head,
            route,
            request,
            id,
            arrival_ns,
            complete_ns: arrival_ns,
            due: Due { at_ns: arrival_ns, delay_ns: 0 },
            bytes: head.len(),
            content_bytes: 0,
            decision,
            after: if head.keep_alive { After::Keep } else { After::Close },
            complaint: None,
        }
    }

    /// Receives the body. An error ends the connection: the client left, or the script resets it.
    pub(crate) async fn receive<S: Sock>(
        &mut self,
        sock: &mut S,
        input: &mut Input,
    ) -> Result<Body, Outcome> {
        let early = self.decision.instead.as_ref().is_some_and(|instead| instead.before_body);
        let mut body = Body::empty();
        if early && self.head.has_body() {
            self.after = After::Linger;
        } else if self.head.has_body() {
            match self.read_body(sock, input).await {
                Ok(received) => body = received,
                Err(BodyError::Gone) => return Err(Outcome::Gone),
                Err(BodyError::Malformed(complaint)) => {
                    self.after = After::Linger;
                    self.complaint = Some(complaint);
                    self.decision.instead = Some(malformed());
                }
            }
            self.complete_ns = self.shared.clock.now_ns();
        }
        self.bytes += body.wire;
        self.content_bytes = body.length;
        if self.decision.reset == Some(ResetAt::Request) {
            arm_reset(sock.tcp());
            return Err(Outcome::Reset);
        }
        Ok(body)
    }

    /// Reads the body, after `100 Continue` if the client waits for it.
    async fn read_body<S: Sock>(&self, sock: &mut S, input: &mut Input) -> Result<Body, BodyError> {
        let Exchange { shared, head, route, .. } = self;
        if head.expects_continue {
            sock.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
            sock.flush().await?;
        }
        let (budget, max_object, mode) = {
            let store = shared.store.borrow();
            (store.budget.clone(), store.options.max_object_bytes, store.options.mode)
        };
        let is_object =
            matches!(route.op, Op::Put | Op::MultipartPart) && !swift::is_manifest(route.op, route.query);
        let plan = Plan {
            keep: !is_object || (mode == StoreMode::Full && self.decision.instead.is_none()),
            max_bytes: if is_object { max_object } else { MAX_DOCUMENT },
            budget,
            aws_chunked: route.protocol == Protocol::S3 && s3::is_aws_chunked(head),
            pace: self.decision.pace.clone(),
        };
        let (timer, clock, alive) = (&shared.timer, shared.clock, &*self.peer.alive);
        Receiver { sock, input, timer, clock, alive }.receive(head.framing, plan).await
    }

    /// Waits until the answer is due; returns the time of the execution.
    pub(crate) async fn wait(&mut self) -> u64 {
        let (shared, route) = (self.shared, &self.route);
        self.due = Due { at_ns: self.complete_ns, delay_ns: 0 };
        if route.protocol != Protocol::Admin {
            let mut script = shared.script.borrow_mut();
            let store = shared.store.borrow();
            let bytes = if script.wants_bytes() { self.object_bytes(&store) } else { 0 };
            let now = Moment { at_ns: self.complete_ns, objects: store.objects(), bytes };
            self.due = script.on_request(route.op, &route.object, now, &mut self.decision);
        }
        if self.due.at_ns <= self.complete_ns {
            return self.complete_ns;
        }
        self.peer.alive.set(u64::MAX);
        shared.timer.until(self.due.at_ns).await;
        let now_ns = shared.clock.now_ns();
        self.peer.alive.set(now_ns);
        now_ns
    }

    /// Size of the object that the request writes or reads.
    fn object_bytes(&self, store: &Store) -> u64 {
        if self.head.has_body() {
            return self.content_bytes;
        }
        if store.is_null() {
            return store.options.null_bytes;
        }
        let container = store.container(&self.route.account, &self.route.container);
        container.and_then(|container| container.get(&self.route.object).1).map_or(0, |object| object.len())
    }

    /// Executes the request and sends its answer.
    pub(crate) async fn answer<S: Sock>(
        &mut self,
        sock: &mut S,
        body: Body,
        now_ns: u64,
        answer: &mut Answer,
        out: &mut Vec<u8>,
    ) -> After {
        let (shared, unix) = (self.shared, self.shared.clock.unix(now_ns));
        let call = Call {
            head: self.head,
            route: &self.route,
            now_ns,
            now_ms: unix.as_millis() as u64,
            id: self.id,
            secure: self.peer.secure,
        };
        execute(shared, &call, &self.decision, body, answer);
        if let Some(complaint) = self.complaint {
            answer.header("X-Reason", complaint);
        }
        if answer.rule.is_some() {
            self.decision.rule = answer.rule.take();
        }
        let sending = Sending::plan(shared, &call, answer, &mut self.decision, self.request, self.after);
        out.clear();
        render(out, answer, unix.as_secs(), sending.framed, sending.announce_close);
        let sender = sender(sock, shared, self.peer, out, answer, sending.length);
        let sent = if sending.plain {
            sender.send().await
        } else {
            sender.send_scripted(&sending.faults, self.decision.pace.take(), self.decision.reset).await
        };
        self.record(answer, sent, answer.status);
        match sent.outcome {
            Outcome::Done => sending.after,
            Outcome::Cut => After::Close,
            Outcome::Reset | Outcome::Gone => After::Drop,
        }
    }

    /// There will be no answer.
    pub(crate) fn give_up(&self, outcome: Outcome, answer: &Answer) {
        let now_ns = self.shared.clock.now_ns();
        self.record(answer, Sent { headers_ns: now_ns, end_ns: now_ns, body: 0, outcome }, 0);
    }

    fn record(&self, answer: &Answer, sent: Sent, status: u16) {
        let route = &self.route;
        if route.protocol == Protocol::Admin {
            return;
        }
        let mut log = self.shared.log.borrow_mut();
        log.count(route.op, status, sent.outcome, self.bytes, sent.body);
        log.name(&route.container, &route.object);
        if !log.keeps_records() {
            return;
        }
        let shared_name = |known: &Option<Arc<str>>, text: &str| known.clone().unwrap_or_else(|| text.into());
        log.record(LogRecord {
            connection: self.peer.number,
            peer_port: self.peer.peer_port,
            request: self.request,
            protocol: route.protocol,
            op: route.op,
            container: shared_name(&answer.container, &route.container),
            object: shared_name(&answer.object, &route.object),
            arrival_ns: self.arrival_ns,
            complete_ns: self.complete_ns,
            due_ns: self.due.at_ns,
            delay_ns: self.due.delay_ns,
            headers_ns: sent.headers_ns,
            end_ns: sent.end_ns,
            request_bytes: self.bytes,
            body_bytes: sent.body,
            status,
            version: answer.version,
            rule: self.decision.rule.clone(),
            outcome: sent.outcome,
        });
    }
}

/// A sender for the answer on this connection.
pub(crate) fn sender<'a, S>(
    sock: &'a mut S,
    shared: &'a Shared,
    peer: &'a Peer,
    head: &'a [u8],
    answer: &'a Answer,
    length: u64,
) -> Sender<'a, S> {
    Sender {
        sock,
        timer: &shared.timer,
        clock: shared.clock,
        alive: &peer.alive,
        head,
        payload: &answer.payload,
        length,
    }
}

fn malformed() -> Instead {
    Instead {
        status: 400,
        kind: InsteadKind::Error(Some("IncompleteBody".to_owned())),
        delay_ns: Some(0),
        retry_after_s: None,
        before_body: true,
    }
}

/// Does what was asked, or what the script wants instead.
fn execute(shared: &Shared, call: &Call<'_>, decision: &Decision, body: Body, answer: &mut Answer) {
    let behaviour = shared.behaviour.borrow().clone();
    if let Some(instead) = &decision.instead {
        script_answer(call, instead, behaviour.retry_after_s, answer);
        return;
    }
    let mut store = shared.store.borrow_mut();
    let mut script = shared.script.borrow_mut();
    store.broken = None;
    if let Some((broken, rule)) = breaks_promise(&store, &mut script, call) {
        store.broken = Some(broken);
        answer.rule = Some(rule);
    }
    match call.route.protocol {
        Protocol::Admin => {
            drop((store, script));
            admin::handle(shared, call, answer);
            return;
        }
        Protocol::S3 => match s3::check_key(call.head, call.route.query, &behaviour.keys) {
            Ok(()) => s3::handle(&mut store, &mut script, call, body, answer),
            Err(error) => s3::refuse(call, &error, answer),
        },
        Protocol::Swift => {
            let mut tokens = shared.tokens.borrow_mut();
            swift::handle(&mut store, &mut script, &mut tokens, &behaviour.swift, call, body, answer);
        }
    }
    if behaviour.version_header && answer.version > 0 {
        answer.number("x-simstore-version", answer.version);
    }
}

/// Only changes that will be done are asked about: of what is there, or into a container that is there.
fn breaks_promise(store: &Store, script: &mut Script, call: &Call<'_>) -> Option<(BrokenPromise, Arc<str>)> {
    let route = &call.route;
    let container = store.container(&route.account, &route.container)?;
    let is_done = match route.op {
        Op::Put => true,
        Op::Delete => container.get(&route.object).1.is_some(),
        _ => false,
    };
    if is_done { script.breaks_promise(route.op, &route.object, call.now_ns) } else { None }
}

fn script_answer(call: &Call<'_>, instead: &Instead, retry_after_s: Option<u32>, answer: &mut Answer) {
    let path = call.route.path;
    match &instead.kind {
        InsteadKind::Error(_) if call.route.protocol == Protocol::Swift => {
            swift::scripted_error(call.id, instead.status, answer);
        }
        InsteadKind::Error(code) => {
            s3::scripted_error(call.id, path, instead.status, code.as_deref(), answer)
        }
        InsteadKind::Hidden(code) => {
            s3::scripted_error(call.id, path, 200, Some(code), answer);
        }
        InsteadKind::Redirect => {
            answer.status = instead.status;
            let scheme = if call.secure { "https" } else { "http" };
            let host = call.head.get("host").unwrap_or("127.0.0.1");
            let query = if call.route.query.0.is_empty() {
                String::new()
            } else {
                format!("?{}", call.route.query.0)
            };
            answer.header("Location", &format!("{scheme}://{host}{path}{query}"));
        }
    }
    let usual = retry_after_s.filter(|_| matches!(instead.status, 429 | 503));
    if let Some(seconds) = instead.retry_after_s.or(usual) {
        answer.number("Retry-After", u64::from(seconds));
    }
}

/// How an answer is sent.
struct Sending {
    framed: Framed,
    /// Bytes of body to send.
    length: u64,
    faults: Faults,
    /// Neither paced nor harmed.
    plain: bool,
    announce_close: bool,
    after: After,
}

impl Sending {
    fn plan(
        shared: &Shared,
        call: &Call<'_>,
        answer: &Answer,
        decision: &mut Decision,
        requests: u32,
        mut after: After,
    ) -> Sending {
        let is_head = call.head.method == Method::Head;
        let bodiless = matches!(answer.status, 204 | 304);
        let length = if is_head || bodiless { 0 } else { answer.payload.len() };
        let faults = if call.route.protocol == Protocol::Admin {
            Faults::default()
        } else {
            let sound = decision.instead.is_none() && answer.status < 300;
            let body = if sound { length } else { 0 };
            let mut script = shared.script.borrow_mut();
            script.on_answer(call.route.op, &call.route.object, call.now_ns, body, &mut decision.rule)
        };
        let stated = if is_head { answer.head_length.unwrap_or(answer.payload.len()) } else { length };
        let framed = match faults.length_by {
            _ if bodiless => Framed::Nothing,
            _ if faults.chunked => Framed::Chunked,
            Some(by) => Framed::Length(stated.saturating_add_signed(by)),
            None => Framed::Length(stated),
        };
        let behaviour = shared.behaviour.borrow();
        if after == After::Keep && behaviour.close_after.is_some_and(|most| requests >= most) {
            after = After::Close;
        }
        let announce_close = after != After::Keep;
        if after == After::Keep && behaviour.close_silently_after.is_some_and(|most| requests >= most) {
            after = After::Close;
        }
        let plain = faults.is_none() && decision.pace.is_none() && decision.reset.is_none();
        Sending { framed, length, faults, plain, announce_close, after }
    }
}
