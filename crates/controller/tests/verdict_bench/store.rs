//! A store on simulated time. It reads `cosmark-simstore`'s behaviour files and does what they say to the requests that it
//! is given in their order; what is not simulated is refused by [`Store::new`], never left out in silence.

use std::collections::HashMap;
use std::sync::Arc;

use cosmark_metrics::Outcome;
use cosmark_simstore::behaviour::{Behaviour, ResetAt, Rule, Select, StallKind, StoreMode};
use cosmark_simstore::{Law, Op};
use cosmark_workload::choose::{below, unit};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

/// From the client to the store and back.
const ROUND_TRIP_S: f64 = 0.000_2;

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub struct Request {
    pub op: Op,
    pub container: u64,
    pub object: u64,
    /// Bytes that are written.
    pub bytes: u64,
    /// The client compares what it reads.
    pub verify: bool,
    /// What the client knows of the length of what it reads.
    pub length: Option<u64>,
}

/// What became of it.
#[derive(Debug, Clone, Copy)]
pub struct Answer {
    pub first_byte_s: f64,
    pub end_s: f64,
    pub outcome: Outcome,
    /// Body bytes; of a failure, those that had come.
    pub bytes: u64,
    /// The connection is gone.
    pub closes: bool,
}

/// The store.
pub struct Store {
    behaviour: Arc<Behaviour>,
    objects: HashMap<(u64, u64), u64>,
    rng: Xoshiro256PlusPlus,
    /// Requests that each rule has counted, by the address of its kind and its place.
    counted: HashMap<(&'static str, usize), u64>,
    /// When each server of the queue is free.
    servers: Vec<f64>,
    /// Tokens and when they were counted.
    buckets: Vec<(f64, f64)>,
    link_free_s: f64,
    zero_s: f64,
}

impl Store {
    pub fn new(behaviour: Behaviour, seed: u64) -> Self {
        let simulated = Behaviour {
            seed: behaviour.seed,
            time_zero: behaviour.time_zero,
            store: behaviour.store.clone(),
            log: behaviour.log.clone(),
            tls: behaviour.tls.clone(),
            delay: behaviour.delay.clone(),
            stalls: behaviour.stalls.clone(),
            capacity: behaviour.capacity.clone(),
            rate_cap: behaviour.rate_cap.clone(),
            bandwidth: behaviour.bandwidth.clone(),
            link: behaviour.link.clone(),
            errors: behaviour.errors.clone(),
            redirect_loop: behaviour.redirect_loop.clone(),
            error_body_with_200: behaviour.error_body_with_200.clone(),
            reset: behaviour.reset.clone(),
            truncate: behaviour.truncate.clone(),
            flip_byte: behaviour.flip_byte.clone(),
            close_after: behaviour.close_after,
            ..Behaviour::default()
        };
        assert_eq!(simulated, behaviour, "a behaviour that is not simulated");
        assert!(
            behaviour.stalls.iter().all(|stall| stall.kind == StallKind::Freeze),
            "only stalls that freeze are simulated"
        );
        let servers = behaviour.capacity.as_ref().map_or(0, |capacity| capacity.servers as usize);
        let buckets = behaviour.rate_cap.iter().map(|cap| (cap.burst, 0.0)).collect();
        Self {
            objects: HashMap::new(),
            rng: Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x5709_5e11),
            counted: HashMap::new(),
            servers: vec![0.0; servers],
            buckets,
            link_free_s: 0.0,
            zero_s: 0.0,
            behaviour: Arc::new(behaviour),
        }
    }

    /// A stage begins; the script's time zero was, or will be, then. Nothing waits.
    pub fn begin(&mut self, zero_s: f64) {
        self.zero_s = zero_s;
        self.link_free_s = 0.0;
        self.servers.fill(0.0);
        self.buckets
            .iter_mut()
            .zip(&self.behaviour.rate_cap)
            .for_each(|(bucket, cap)| *bucket = (cap.burst, 0.0));
    }

    /// Somebody wrote this long ago.
    pub fn put(&mut self, container: u64, object: u64, bytes: u64) {
        self.objects.insert((container, object), bytes);
    }

    /// Serves a request that leaves the client at `at_s`; requests come in their order.
    pub fn serve(&mut self, at_s: f64, request: &Request) -> Answer {
        let came_s = self.thawed(at_s + ROUND_TRIP_S / 2.0, request.op);
        if let Some(refused) = self.refused(came_s, request) {
            return refused;
        }
        let begins_s = self.queued(came_s, request);
        let delay_s = self.delays(begins_s, request);
        let jitter_s = ROUND_TRIP_S * 0.2 * unit(&mut self.rng);
        let done_s = self.frozen_meanwhile(begins_s, begins_s + delay_s + jitter_s, request.op);
        let first_byte_s = done_s + ROUND_TRIP_S / 2.0;
        let Some(bytes) = self.effect(request) else {
            return failed(first_byte_s, "http_404", 0);
        };
        let end_s = first_byte_s + self.body_s(first_byte_s, request, bytes);
        self.body(Answer { first_byte_s, end_s, outcome: Outcome::OK, bytes, closes: false }, request)
    }

    /// A connection's number of answers beyond which it is closed.
    pub fn close_after(&self) -> Option<u32> {
        self.behaviour.close_after
    }

    /// True when requests have to open their connections with TLS.
    pub fn has_tls(&self) -> bool {
        self.behaviour.tls.is_some()
    }

    /// Errors and refusals, which cost the store nothing.
    fn refused(&mut self, came_s: f64, request: &Request) -> Option<Answer> {
        let back_s = came_s + ROUND_TRIP_S / 2.0;
        let since_s = came_s - self.zero_s;
        for (at, cap) in Arc::clone(&self.behaviour).rate_cap.iter().enumerate() {
            if !self.selects("rate_cap", at, &cap.select(), request.op, since_s) {
                continue;
            }
            let bucket = &mut self.buckets[at];
            *bucket = ((bucket.0 + (came_s - bucket.1) * cap.per_s).min(cap.burst), came_s);
            if bucket.0 < 1.0 {
                return Some(failed(back_s + cap.delay_ms / 1000.0, &format!("http_{}", cap.status), 0));
            }
            bucket.0 -= 1.0;
        }
        for (at, error) in Arc::clone(&self.behaviour).errors.iter().enumerate() {
            if self.selects("errors", at, &error.select(), request.op, since_s) {
                let delay_s = match error.delay_ms {
                    Some(ms) => ms / 1000.0,
                    None => self.delays(came_s, request),
                };
                return Some(failed(back_s + delay_s, &format!("http_{}", error.status), 0));
            }
        }
        for (at, redirect) in Arc::clone(&self.behaviour).redirect_loop.iter().enumerate() {
            if self.selects("redirect", at, &redirect.select(), request.op, since_s) {
                return Some(failed(back_s, &format!("http_{}", redirect.status), 0));
            }
        }
        for (at, reset) in Arc::clone(&self.behaviour).reset.iter().enumerate() {
            assert!(
                matches!(reset.at, ResetAt::Request | ResetAt::Reply),
                "only resets of requests are simulated"
            );
            if self.selects("reset", at, &reset.select(), request.op, since_s) {
                return Some(Answer { closes: true, ..failed(back_s, "reset", 0) });
            }
        }
        for (at, hidden) in Arc::clone(&self.behaviour).error_body_with_200.iter().enumerate() {
            if self.selects("hidden", at, &hidden.select(), request.op, since_s) {
                const DOCUMENT_BYTES: u64 = 231;
                let delay_s = self.delays(came_s, request);
                let (first_byte_s, end_s) = (back_s + delay_s, back_s + delay_s);
                let answer = Answer {
                    first_byte_s,
                    end_s,
                    outcome: Outcome::OK,
                    bytes: DOCUMENT_BYTES,
                    closes: false,
                };
                return Some(self.body(answer, request));
            }
        }
        None
    }

    /// When a server takes it up.
    fn queued(&mut self, came_s: f64, request: &Request) -> f64 {
        let behaviour = Arc::clone(&self.behaviour);
        let Some(capacity) = behaviour.capacity.as_ref().filter(|capacity| capacity.op.contains(request.op))
        else {
            return came_s;
        };
        let law = capacity.law().unwrap_or(Law::ConstantMs(0.0));
        let service_s = self.draw("capacity", 0, &law, came_s - self.zero_s, request);
        let server = self.servers.iter_mut().min_by(|a, b| a.total_cmp(b)).unwrap();
        *server = server.max(came_s) + service_s;
        *server
    }

    fn delays(&mut self, at_s: f64, request: &Request) -> f64 {
        let since_s = at_s - self.zero_s;
        let mut sum_s = 0.0;
        for (at, rule) in Arc::clone(&self.behaviour).delay.iter().enumerate() {
            if self.selects("delay", at, &rule.select(), request.op, since_s) {
                sum_s += self.draw("delay law", at, rule.law.as_ref().unwrap(), since_s, request);
            }
        }
        sum_s
    }

    /// What it does to the objects; the bytes of the answer to a read, `None` where there is nothing.
    fn effect(&mut self, request: &Request) -> Option<u64> {
        let key = (request.container, request.object);
        let null = self.behaviour.store.mode == StoreMode::Null;
        match request.op {
            Op::Get | Op::Head if null => Some(self.behaviour.store.null_bytes),
            Op::Get | Op::Head => self.objects.get(&key).copied(),
            Op::Put => {
                self.objects.insert(key, request.bytes);
                Some(request.bytes)
            }
            // S3 calls it a success whether or not there was anything.
            Op::Delete => {
                self.objects.remove(&key);
                Some(0)
            }
            _ => Some(0),
        }
    }

    fn body_s(&mut self, first_byte_s: f64, request: &Request, bytes: u64) -> f64 {
        if !matches!(request.op, Op::Get | Op::Put) {
            return 0.0;
        }
        let since_s = first_byte_s - self.zero_s;
        let mut body_s = 0.0;
        for (at, rule) in Arc::clone(&self.behaviour).bandwidth.iter().enumerate() {
            if body_s == 0.0 && self.selects("bandwidth", at, &rule.select(), request.op, since_s) {
                body_s =
                    rule.first_byte_ms / 1000.0 + rule.bytes_per_s.map_or(0.0, |rate| bytes as f64 / rate);
            }
        }
        if let Some(rate) = self.behaviour.link.as_ref().and_then(|link| link.download_bytes_per_s) {
            self.link_free_s = self.link_free_s.max(first_byte_s) + bytes as f64 / rate;
            body_s = body_s.max(self.link_free_s - first_byte_s);
        }
        body_s
    }

    /// What the client makes of the body of a read.
    fn body(&mut self, answer: Answer, request: &Request) -> Answer {
        if request.op != Op::Get {
            return answer;
        }
        let since_s = answer.end_s - self.zero_s;
        for (at, rule) in Arc::clone(&self.behaviour).truncate.iter().enumerate() {
            if self.selects("truncate", at, &rule.select(), request.op, since_s) {
                let bytes = (answer.bytes as f64 * rule.keep) as u64;
                return Answer { outcome: Outcome::failed("short_body"), bytes, closes: true, ..answer };
            }
        }
        for (at, rule) in Arc::clone(&self.behaviour).flip_byte.iter().enumerate() {
            if self.selects("flip", at, &rule.select(), request.op, since_s) && request.verify {
                return Answer { outcome: Outcome::failed("corrupt_body"), ..answer };
            }
        }
        if request.length.is_some_and(|length| length != answer.bytes) {
            return Answer { outcome: Outcome::failed("wrong_length"), ..answer };
        }
        answer
    }

    fn selects(&mut self, kind: &'static str, at: usize, select: &Select, op: Op, since_s: f64) -> bool {
        let in_time = since_s >= select.from_s && select.until_s.is_none_or(|until_s| since_s < until_s);
        if !select.op.contains(op) || !in_time {
            return false;
        }
        let count = self.counted.entry((kind, at)).or_default();
        *count += 1;
        let nth = select.every_nth.is_none_or(|every| count.is_multiple_of(every));
        let share = select.exact.map(|exact| f64::from(exact.count) / f64::from(exact.of)).or(select.share);
        nth && share.is_none_or(|share| unit(&mut self.rng) < share)
    }

    fn draw(&mut self, kind: &'static str, at: usize, law: &Law, since_s: f64, request: &Request) -> f64 {
        let rng = &mut self.rng;
        let ms = match law {
            Law::ConstantMs(ms) => *ms,
            Law::Uniform { min_ms, max_ms } => min_ms + (max_ms - min_ms) * unit(rng),
            Law::ExponentialMs(mean_ms) => mean_ms * exponential(rng),
            Law::Lognormal { median_ms, sigma } => median_ms * (sigma * normal(rng)).exp(),
            Law::Mixture(parts) => {
                let all = parts.iter().map(|part| u64::from(part.count)).sum();
                let mut drawn = below(rng, all);
                let part = parts.iter().find(|part| {
                    let own = u64::from(part.count);
                    let hit = drawn < own;
                    drawn = drawn.saturating_sub(own);
                    hit
                });
                part.unwrap().ms
            }
            Law::ListMs(list) => {
                let place = self.counted.entry((kind, at)).or_default();
                *place += 1;
                list[(*place as usize - 1) % list.len()]
            }
            Law::Decay { from_ms, to_ms, tau_s } => to_ms + (from_ms - to_ms) * (-since_s / tau_s).exp(),
            Law::Linear { from_ms, to_ms, over_s } => {
                from_ms + (to_ms - from_ms) * (since_s / over_s).clamp(0.0, 1.0)
            }
            Law::ByBytes { base_ms, per_mib_ms } => {
                base_ms + per_mib_ms * request.bytes as f64 / f64::from(1 << 20)
            }
            Law::ByObjects { base_ms, per_million_ms } => {
                base_ms + per_million_ms * self.objects.len() as f64 / 1e6
            }
            Law::File(_) => panic!("laws from files are not simulated"),
        };
        ms / 1000.0
    }

    fn stalls(&self, op: Op) -> impl Iterator<Item = (f64, f64)> {
        let touched = self.behaviour.stalls.iter().filter(move |stall| stall.op.contains(op));
        touched.map(|stall| (self.zero_s + stall.at_s, self.zero_s + stall.at_s + stall.for_s))
    }

    fn thawed(&self, at_s: f64, op: Op) -> f64 {
        self.stalls(op).find(|(from_s, to_s)| (*from_s..*to_s).contains(&at_s)).map_or(at_s, |(_, to_s)| to_s)
    }

    /// What is under way when a stall begins keeps what is left of its wait.
    fn frozen_meanwhile(&self, from_s: f64, to_s: f64, op: Op) -> f64 {
        self.stalls(op).fold(to_s, |to_s, (begins_s, ends_s)| {
            if begins_s >= from_s && begins_s < to_s { to_s + (ends_s - begins_s) } else { to_s }
        })
    }
}

fn failed(at_s: f64, label: &str, bytes: u64) -> Answer {
    Answer { first_byte_s: at_s, end_s: at_s, outcome: Outcome::failed(label), bytes, closes: false }
}

/// Of mean 1.
pub fn exponential(rng: &mut Xoshiro256PlusPlus) -> f64 {
    -(1.0 - unit(rng)).ln()
}

/// Of mean 0 and deviation 1 (Box and Muller, 1958).
pub fn normal(rng: &mut Xoshiro256PlusPlus) -> f64 {
    (-2.0 * (1.0 - unit(rng)).ln()).sqrt() * (std::f64::consts::TAU * unit(rng)).cos()
}
