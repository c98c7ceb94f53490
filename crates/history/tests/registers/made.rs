//! Histories that are made: operations of a real register with drawn times, and the same with something changed.

use cosmark_history::{ABSENT, Kind, Operation, Outcome};

/// A stream of numbers: Sebastiano Vigna's splitmix64.
pub struct Draw(pub u64);

impl Draw {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub fn is(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// What is made.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub operations: usize,
    pub processes: u64,
    /// Only process 0 writes.
    pub one_writer: bool,
    pub deletes: bool,
    /// Writes without an answer and refused ones, %.
    pub unknown: u64,
}

/// A history of one key that a register did.
pub fn valid(draw: &mut Draw, shape: Shape) -> Vec<Operation> {
    let mut free_at = vec![0_u64; shape.processes as usize];
    let mut planned: Vec<(u64, Operation)> = Vec::new();
    for number in 0..shape.operations as u64 {
        let process = draw.below(shape.processes);
        let is_write = if shape.one_writer { process == 0 } else { draw.is(40) };
        let call_ns = free_at[process as usize] + draw.below(20);
        let effect = call_ns + draw.below(30);
        let return_ns = effect + draw.below(30);
        free_at[process as usize] = return_ns + 1 + draw.below(3);
        let kind = match is_write {
            true if shape.deletes && draw.is(40) => Kind::Delete,
            true => Kind::Write,
            false => Kind::Read,
        };
        let outcome = match draw.below(100) {
            lot if !is_write || lot >= shape.unknown => Outcome::Done,
            lot if lot % 4 == 0 => Outcome::Failed,
            _ => Outcome::Unknown,
        };
        let value = if kind == Kind::Write { number + 1 } else { ABSENT };
        let one = Operation { call_ns, return_ns, value, key: 0, process: process as u32, kind, outcome };
        // What has no answer may take effect much later, or never.
        let effect = match outcome {
            Outcome::Done => Some(effect),
            Outcome::Unknown => draw.is(60).then(|| effect + draw.below(200)),
            Outcome::Failed => None,
        };
        planned.push((effect.unwrap_or(u64::MAX), one));
    }
    planned.sort_by_key(|(effect, one)| (*effect, one.call_ns, one.process));
    let mut holds = ABSENT;
    let mut history: Vec<Operation> = Vec::new();
    for (effect, mut one) in planned {
        match one.kind {
            _ if effect == u64::MAX => {}
            Kind::Read => one.value = holds,
            Kind::Write | Kind::Delete => holds = one.value,
        }
        history.push(one);
    }
    history.sort_by_key(|one| (one.call_ns, one.process));
    history
}

/// The same with one thing changed, which may or may not make it wrong.
pub fn changed(draw: &mut Draw, mut history: Vec<Operation>) -> Vec<Operation> {
    let reads: Vec<usize> = (0..history.len()).filter(|at| history[*at].kind == Kind::Read).collect();
    let mut values: Vec<u64> =
        history.iter().filter(|one| one.kind == Kind::Write).map(|one| one.value).collect();
    values.push(ABSENT);
    if !reads.is_empty() {
        let at = reads[draw.below(reads.len() as u64) as usize];
        match draw.below(5) {
            0 => {
                let other = reads[draw.below(reads.len() as u64) as usize];
                let value = history[other].value;
                history[other].value = history[at].value;
                history[at].value = value;
            }
            1 => {
                let by = draw.below(80);
                history[at].call_ns += by;
                history[at].return_ns += by;
            }
            2 if draw.is(10) => history[at].value = 999_999,
            _ => history[at].value = values[draw.below(values.len() as u64) as usize],
        }
    }
    history
}
