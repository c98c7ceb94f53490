//! All machines of a store together, while a run goes on.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cosmark_metrics::nodes::reading::{Found, NodeLook, NodeName, NodesSeen};
use cosmark_metrics::{NodeResult, QuantityResult};
use cosmark_workload::model::nodes::NodeSpec;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::collect::local::{self, LocalReader};
use crate::collect::{News, now_ns, set_by_ns};
use crate::quantity as q;
use crate::reading::Reading;
use crate::source::{Source, asked_of};
use crate::{figures, links};

/// Samples that are held of one machine, some hundred bytes each; beyond, every second reading goes, and of those to
/// come as many. At one reading a second, more than an hour of a machine with 200 figures.
const MOST_SAMPLES: usize = 1_000_000;

/// Looks, and their samples, that wait to be taken; beyond, the oldest go. Whoever keeps them comes about once a second.
const MOST_WAITING: usize = 4096;
const MOST_WAITING_SAMPLES: usize = 200_000;

/// Stretches of time without an answer that are held of one machine; beyond, the oldest go.
const MOST_GAPS: usize = 10_000;

/// Machines are read so often before the first stage, to know what they do without load.
const IDLE_READINGS: usize = 4;
/// A machine that was not read so often by then is gone on without.
const IDLE_PATIENCE: Duration = Duration::from_secs(20);

/// What brings readings of one machine, until nobody listens.
pub type Collect = Box<dyn FnOnce(mpsc::Sender<News>) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send>;

/// A machine that an agent of Cosmark reads, which no workload names.
pub struct Agent {
    /// Its name.
    pub name: String,
    /// What it does for the store.
    pub role: String,
    /// Brings what the agent reads.
    pub collect: Collect,
}

/// Looks at machines until it is dropped.
#[derive(Debug)]
pub struct NodeWatch {
    /// What is added to times of readings to have those of the run, which are the wall clock's as it was when it began.
    shift_ns: i64,
    nodes: Arc<Vec<Mutex<Watched>>>,
    tasks: JoinSet<()>,
}

#[derive(Debug)]
struct Watched {
    node: Arc<NodeName>,
    /// As of [`NodeWatch`].
    shift_ns: i64,
    /// Each `stride`-th, and the newest one.
    readings: Vec<Arc<Reading>>,
    stride: usize,
    /// So many readings ago came the last of those that stay.
    behind: usize,
    /// In all readings together.
    samples: usize,
    /// When its numbers became what they are.
    renewed_ns: u64,
    /// What nobody took yet.
    waiting: VecDeque<NodeLook>,
    ahead_ns: Option<i64>,
    /// When it did not answer, since the window before this one.
    gaps: Vec<Gap>,
    /// Who of it does not answer, while the rest does.
    missing: Option<String>,
    /// Interfaces whose speed the workload says, bytes per second.
    links: Vec<(String, f64)>,
    /// What the machine is called by whom its figures are asked of.
    asked_of: Option<String>,
}

/// A stretch of time in which nothing came of a machine, by the clock of the readings.
#[derive(Debug)]
struct Gap {
    /// Its last reading, or when it was asked if there was none.
    from_ns: u64,
    /// Its next reading; `None` while it does not answer.
    to_ns: Option<u64>,
    /// One sentence.
    why: String,
}

enum Way {
    Source(Source),
    Agent(Agent),
}

/// A handle that gives the figures of windows of time.
#[derive(Debug, Clone)]
pub struct NodeFiguresOf(Arc<Vec<Mutex<Watched>>>);

impl NodeWatch {
    /// Begins to look at these machines. Needs a runtime of tokio.
    ///
    /// # Errors
    /// For a node that cannot be read; nothing has begun then.
    pub fn start(nodes: &[NodeSpec]) -> Result<Self, String> {
        Self::start_with(nodes, Vec::new())
    }

    /// The same, and at those that agents read.
    ///
    /// # Errors
    /// For a node that cannot be read; nothing has begun then.
    pub fn start_with(nodes: &[NodeSpec], agents: Vec<Agent>) -> Result<Self, String> {
        let shift_ns = set_by_ns();
        let sources = nodes.iter().map(Source::of).collect::<Result<Vec<_>, _>>()?;
        let watched = nodes.iter().zip(asked_of(nodes)).map(|(node, asked_of)| {
            let (name, role) = (node.name.clone(), node.role.clone());
            let name = NodeName { name, role, source: node.source.kind.to_ascii_lowercase() };
            let links = node.links.clone();
            Watched { links, asked_of, ..Watched::new(name, shift_ns) }
        });
        let of_agents = agents.iter().map(|agent| {
            let (name, role) = (agent.name.clone(), agent.role.clone());
            Watched::new(NodeName { name, role, source: "agent".to_owned() }, shift_ns)
        });
        let watch_list: Arc<Vec<_>> = Arc::new(watched.chain(of_agents).map(Mutex::new).collect());
        let mut tasks = JoinSet::new();
        let ways = sources.into_iter().map(Way::Source).chain(agents.into_iter().map(Way::Agent));
        for (at, way) in ways.enumerate() {
            let (to, from) = mpsc::channel(16);
            let source = match way {
                Way::Source(source) => source,
                Way::Agent(agent) => {
                    tasks.spawn((agent.collect)(to));
                    Self::listen(&watch_list, at, from, &mut tasks);
                    continue;
                }
            };
            match source {
                Source::Local { interval, daemons, filesystems, requests } => {
                    let reader = LocalReader::new(daemons).with_filesystems(filesystems);
                    tasks.spawn(local::collect(interval, reader, requests, to))
                }
                Source::Ssh(session) => tasks.spawn(session.collect(to)),
                Source::Prometheus(exporter) => tasks.spawn(exporter.collect(to)),
                Source::PromQl(server) => tasks.spawn(server.collect(to)),
                Source::Recon(recon) => tasks.spawn(recon.collect(to)),
                Source::Ceph(sockets) => tasks.spawn(sockets.collect(to)),
                Source::Statsd(receiver) => tasks.spawn(receiver.collect(to)),
            };
            Self::listen(&watch_list, at, from, &mut tasks);
        }
        Ok(Self { shift_ns, nodes: watch_list, tasks })
    }

    /// Takes what comes of one machine.
    fn listen(
        nodes: &Arc<Vec<Mutex<Watched>>>,
        at: usize,
        mut from: mpsc::Receiver<News>,
        tasks: &mut JoinSet<()>,
    ) {
        let nodes = Arc::clone(nodes);
        tasks.spawn(async move {
            while let Some(news) = from.recv().await {
                if let Some(node) = nodes.get(at) {
                    hold(node).take(news);
                }
            }
        });
    }

    /// Looks at machines that have no load yet until it is known what they do without it, or `stopped`. Gives what that is.
    pub async fn rest(&self, stopped: impl Future) -> Vec<NodeResult> {
        let now_ns = || now_ns().saturating_add_signed(self.shift_ns);
        let began_ns = now_ns();
        tokio::select! {
            () = self.settle(IDLE_READINGS, IDLE_PATIENCE) => {}
            _ = stopped => {}
        }
        self.figures().between(began_ns, now_ns())
    }

    /// Waits until each machine was read `readings` times or is lost, but no longer than `patience`.
    pub async fn settle(&self, readings: usize, patience: Duration) {
        let settled = |node: &Mutex<Watched>| {
            let node = hold(node);
            node.lost().is_some() || node.readings.len() >= readings
        };
        let until = tokio::time::Instant::now() + patience;
        while !self.nodes.iter().all(settled) && tokio::time::Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// A sentence for each machine that does not answer.
    #[must_use]
    pub fn troubles(&self) -> Vec<String> {
        self.figures().troubles()
    }

    /// What gives the figures of windows of time.
    #[must_use]
    pub fn figures(&self) -> NodeFiguresOf {
        NodeFiguresOf(Arc::clone(&self.nodes))
    }

    /// How many tasks still look.
    #[must_use]
    pub fn open(&self) -> usize {
        self.tasks.len()
    }
}

impl NodesSeen for NodeFiguresOf {
    fn between(&self, from_ns: u64, to_ns: u64) -> Vec<NodeResult> {
        self.0.iter().map(|node| hold(node).over(from_ns, to_ns)).collect()
    }

    fn take(&self) -> Vec<NodeLook> {
        self.0.iter().flat_map(|node| std::mem::take(&mut hold(node).waiting)).collect()
    }

    fn troubles(&self) -> Vec<String> {
        let trouble = |node: &Mutex<Watched>| {
            let node = hold(node);
            let why = match node.trouble() {
                Some(why) => why.to_owned(),
                None if node.readings.is_empty() => "nothing came yet".to_owned(),
                None => return None,
            };
            Some(format!("node {}: {why}", node.node.name))
        };
        self.0.iter().filter_map(trouble).collect()
    }
}

fn hold(node: &Mutex<Watched>) -> MutexGuard<'_, Watched> {
    node.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watched {
    fn new(node: NodeName, shift_ns: i64) -> Self {
        Self {
            node: Arc::new(node),
            shift_ns,
            readings: Vec::new(),
            stride: 1,
            behind: 0,
            samples: 0,
            renewed_ns: 0,
            waiting: VecDeque::new(),
            ahead_ns: None,
            gaps: Vec::new(),
            missing: None,
            links: Vec::new(),
            asked_of: None,
        }
    }

    /// Why it does not answer now.
    fn lost(&self) -> Option<&str> {
        self.gaps.last().filter(|gap| gap.to_ns.is_none()).map(|gap| gap.why.as_str())
    }

    /// Why it, or a part of it, does not answer now.
    fn trouble(&self) -> Option<&str> {
        self.lost().or(self.missing.as_deref())
    }

    fn take(&mut self, news: News) {
        match news {
            News::Reading(mut reading) => {
                let times = reading.samples.iter_mut().filter_map(|sample| sample.at_ns.as_mut());
                for at_ns in times.chain([&mut reading.at_ns]) {
                    *at_ns = at_ns.saturating_add_signed(self.shift_ns);
                }
                if let Some(gap) = self.gaps.last_mut().filter(|gap| gap.to_ns.is_none()) {
                    gap.to_ns = Some(reading.at_ns);
                }
                links::declare(&mut reading, &self.links);
                if self.readings.last().is_none_or(|last| last.samples != reading.samples) {
                    self.renewed_ns = reading.at_ns;
                }
                self.make_room(reading.samples.len());
                let age_ns = reading.at_ns.saturating_sub(self.renewed_ns);
                let reading = Arc::new(reading);
                self.samples += reading.samples.len();
                self.readings.push(Arc::clone(&reading));
                self.wait(Found::Reading { reading, age_ns });
            }
            News::Ahead(ahead_ns) => self.ahead_ns = Some(ahead_ns.saturating_sub(self.shift_ns)),
            News::Lost(why) => {
                let at_ns = now_ns().saturating_add_signed(self.shift_ns);
                self.wait(Found::Lost { at_ns, why: why.clone() });
                self.lose(at_ns, why);
            }
            News::Missing(who) => self.missing = who,
        }
    }

    /// Makes room for one more reading. Those that stay are evenly far from each other over the whole window: what is a
    /// mean of them weighs no part of it more than another.
    fn make_room(&mut self, samples: usize) {
        if self.behind > 0
            && let Some(newest) = self.readings.pop()
        {
            self.samples -= newest.samples.len();
        }
        while self.samples + samples > MOST_SAMPLES && self.readings.len() > 1 {
            if self.readings.len().is_multiple_of(2) {
                self.behind += self.stride;
            }
            self.stride *= 2;
            let mut at = 0;
            self.readings.retain(|_| {
                at += 1;
                at % 2 == 1
            });
            self.count();
        }
        self.behind = (self.behind + 1) % self.stride;
    }

    fn lose(&mut self, at_ns: u64, why: String) {
        if let Some(gap) = self.gaps.last_mut().filter(|gap| gap.to_ns.is_none()) {
            gap.why = why;
            return;
        }
        if self.gaps.len() >= MOST_GAPS {
            self.gaps.remove(0);
        }
        let from_ns = self.readings.last().map_or(at_ns, |last| last.at_ns);
        self.gaps.push(Gap { from_ns, to_ns: None, why });
    }

    fn wait(&mut self, found: Found) {
        self.waiting.push_back(NodeLook { node: Arc::clone(&self.node), found });
        let samples = |look: &NodeLook| match &look.found {
            Found::Reading { reading, .. } => reading.samples.len(),
            Found::Lost { .. } => 0,
        };
        let mut all: usize = self.waiting.iter().map(samples).sum();
        while self.waiting.len() > MOST_WAITING || (all > MOST_WAITING_SAMPLES && self.waiting.len() > 1) {
            let gone = self.waiting.pop_front();
            all -= gone.as_ref().map_or(0, samples);
        }
    }

    fn count(&mut self) {
        self.samples = self.readings.iter().map(|reading| reading.samples.len()).sum();
    }

    #[expect(clippy::cast_precision_loss, reason = "milliseconds between two clocks")]
    fn over(&mut self, from_ns: u64, to_ns: u64) -> NodeResult {
        let mut figures = figures::over(&self.readings, from_ns, to_ns);
        if let Some(unit) = self.asked_of.clone().filter(|_| !figures.quantities.is_empty()) {
            let quantity = q::MACHINE.id.to_owned();
            figures.quantities.push(QuantityResult { quantity, unit, mean: 1.0, highest: 1.0 });
        }
        let usual_s = figures.seen.map_or(0.0, |seen| seen.2);
        let lost = self.lost().map(str::to_owned).or_else(|| self.silence(from_ns, to_ns, usual_s));
        let covered_share = figures.seen.map_or(0.0, |seen| self.covered_share(from_ns, to_ns, seen));
        self.readings.retain(|reading| reading.at_ns >= from_ns);
        if self.readings.len() < 2 {
            (self.stride, self.behind) = (1, 0);
        }
        self.gaps.retain(|gap| gap.to_ns.is_none_or(|to_ns| to_ns >= from_ns));
        self.count();
        NodeResult {
            name: self.node.name.clone(),
            role: self.node.role.clone(),
            source: self.node.source.clone(),
            readings: figures.readings as u64,
            renewed_every_s: figures.renewed_every_s,
            clock_ahead_ms: self.ahead_ns.map(|ahead| ahead as f64 / 1e6),
            resets: figures.resets as u64,
            lost: lost.or_else(|| self.missing.clone()).or(figures.doubt),
            covered_share: Some(covered_share),
            units: figures.units,
            quantities: figures.quantities,
        }
    }

    /// What of a stretch of time nothing came in, seconds and why. That an answer or two are missing among many is
    /// nothing: counters go on.
    fn gaps_in(&self, from_ns: u64, to_ns: u64, usual_s: f64) -> impl Iterator<Item = (f64, &str)> {
        let part = move |gap: &Gap| {
            let whole_s = gap.to_ns.map_or(f64::INFINITY, |end_ns| seconds(gap.from_ns, end_ns));
            let part_s = seconds(gap.from_ns.max(from_ns), gap.to_ns.unwrap_or(to_ns).min(to_ns));
            (whole_s > figures::RARE * usual_s && part_s > 0.0).then_some(part_s)
        };
        self.gaps.iter().filter_map(move |gap| Some((part(gap)?, gap.why.as_str())))
    }

    /// For how long a machine that answers again said nothing in the window, and why.
    fn silence(&self, from_ns: u64, to_ns: u64, usual_s: f64) -> Option<String> {
        let whole_s: f64 = self.gaps_in(from_ns, to_ns, usual_s).map(|gap| gap.0).sum();
        let longest = self.gaps_in(from_ns, to_ns, usual_s).max_by(|a, b| a.0.total_cmp(&b.0))?;
        Some(format!("nothing came for {whole_s:.0} s of the window: {}", longest.1))
    }

    /// A reading stands for half of the usual time between two on either side of it.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "nanoseconds between two readings"
    )]
    fn covered_share(&self, from_ns: u64, to_ns: u64, seen: (u64, u64, f64)) -> f64 {
        let (first_ns, last_ns, usual_s) = seen;
        let half_ns = (usual_s / 2.0 * 1e9) as u64;
        let first_ns = first_ns.saturating_sub(half_ns).max(from_ns);
        let last_ns = last_ns.saturating_add(half_ns).min(to_ns);
        let silent_s: f64 = self.gaps_in(first_ns, last_ns, usual_s).map(|gap| gap.0).sum();
        let window_s = seconds(from_ns, to_ns);
        if window_s > 0.0 {
            ((seconds(first_ns, last_ns) - silent_s) / window_s).clamp(0.0, 1.0)
        } else {
            0.0
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "seconds of a window")]
fn seconds(from_ns: u64, to_ns: u64) -> f64 {
    to_ns.saturating_sub(from_ns) as f64 / 1e9
}

#[cfg(test)]
mod tests;
