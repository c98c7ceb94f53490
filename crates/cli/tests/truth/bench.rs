//! How a case is run and judged: the real binary against a simulated store, its books audited against each other and
//! against the server's, and a canary that says what this machine itself adds to every time.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cosmark_archive::{OpRow, OperationResult, RunRecord, open_run};
use cosmark_metrics::Latencies;
use cosmark_metrics::results::{TIME_PARTS, TimeResult};
use cosmark_metrics::{Phase, Sample, SizeClass};
use cosmark_simstore::{Behaviour, Counters, Handle, LogRecord, Op, SimStore};
use cosmark_workload::leftovers::PROBE;

use crate::support::{cosmark, stderr};

/// Cases that measure must not run beside each other.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
/// How often a case with times is tried on a machine that disturbs it.
const TRIES: usize = 3;

pub fn alone() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says something even when the test passes: the harness would swallow `eprintln`.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// What one run left behind.
pub struct Ran {
    pub record: RunRecord,
    pub rows: Vec<OpRow>,
    /// The server's log; empty without a server.
    pub log: Vec<LogRecord>,
    pub counters: Counters,
    pub directory: tempfile::TempDir,
    /// What sleeping one millisecond took beyond that on this machine during the run, its 99.9th percentile.
    canary_ms: f64,
    /// The same, all of it.
    late_ns: Vec<u64>,
}

/// A workload of one stage `main` with one work `main`; `fields` are those of the work.
pub fn one_work(fields: &str) -> String {
    format!(
        "name: truth\nseed: 7\nstorage: ${{STORE}}\nstages:\n  - name: main\n    works:\n      - {{name: main, \
         acceptable_failure_ratio: 1, interval: 1s, {fields}}}\n"
    )
}

/// Reads of objects 1 to 100 of one container.
pub const READS: &str = "operations: [{type: read, containers: c(1), objects: 'u(1,100)'}]";

pub fn start(behaviour: &str) -> Handle {
    SimStore::start(Behaviour::from_yaml(behaviour).unwrap(), "127.0.0.1:0").unwrap()
}

/// Runs `workload` against a store of this behaviour. `${STORE}` in the workload stands for the store; `timeout` is that of
/// its operations.
pub fn against(behaviour: &str, timeout: &str, workload: &str) -> Ran {
    against_store(start(behaviour), timeout, workload)
}

/// The same against a store that was started elsewhere, which it stops.
pub fn against_store(store: Handle, timeout: &str, workload: &str) -> Ran {
    let target = format!(
        "{{type: s3, endpoint: '{}', accesskey: a, secretkey: b, path_style_access: true, insecure: true, timeout: {timeout}}}",
        store.url()
    );
    let mut ran = alone_with(&workload.replace("${STORE}", &target));
    // The server counts a request after its last byte, so the client may be done a moment earlier.
    let operations: u64 = ran.rows.iter().map(|row| u64::from(row.sample.requests)).sum();
    // Before an init it asks for each of its containers whether it is there.
    let containers = ran.record.stages.iter().map(|stage| &stage.containers);
    let names = containers.flat_map(|containers| containers.created.iter().chain(&containers.found));
    // A prober asks for none: it makes a container and takes it away.
    let asked = names.filter(|name| !name.starts_with(PROBE)).count();
    let probed = ran.record.stages.iter().filter_map(|stage| stage.consistency.as_ref());
    let expected = operations + asked as u64 + probed.map(|probed| probed.requests + 2).sum::<u64>();
    let patience = Instant::now();
    // Before each stage Cosmark asks one cheap question, which is no part of any operation.
    let counted = |counters: &Counters| counters.total() - counters.of_op(Op::ListContainers);
    while counted(&store.counters().unwrap()) < expected && patience.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(5));
    }
    ran.counters = store.counters().unwrap();
    ran.log = store.log().unwrap();
    store.stop();
    assert_eq!(counted(&ran.counters), expected, "requests on the wire: the server's count, then Cosmark's");
    assert_eq!(ran.counters.of_op(Op::ListContainers), ran.record.stages.len() as u64);
    ran
}

/// Runs `workload` as it is.
pub fn alone_with(workload: &str) -> Ran {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("truth.yaml"), workload).unwrap();
    let canary = Canary::start();
    let output = cosmark(directory.path())
        .args(["run", "truth.yaml", "--oplog", "--json", "--quiet", "--no-report", "--archive", "archive"])
        .output()
        .unwrap();
    let late_ns = canary.stop();
    let canary_ms = quantile_ms(late_ns.clone(), 0.999).unwrap_or(f64::INFINITY);
    let record: RunRecord =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}\n{}", stderr(&output)));
    let run = open_run(&directory.path().join("archive/w1-truth")).unwrap();
    let rows: Vec<OpRow> =
        run.operations().unwrap().map_or_else(Vec::new, |rows| rows.map(Result::unwrap).collect());
    let (log, counters) = (Vec::new(), Counters::default());
    let ran = Ran { record, rows, log, counters, directory, canary_ms, late_ns };
    ran.audit();
    ran
}

impl Ran {
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The first operation of the stage `main`.
    pub fn main(&self) -> &OperationResult {
        self.operation("main", 0)
    }

    pub fn operation(&self, stage: &str, at: usize) -> &OperationResult {
        let stage = self.record.stages.iter().find(|one| one.name == stage).unwrap();
        stage.operations.get(at).unwrap_or_else(|| panic!("{:?}", stage.reason))
    }

    /// The server's records of one kind of request.
    pub fn served(&self, op: Op) -> impl Iterator<Item = &LogRecord> {
        self.log.iter().filter(move |record| record.op == op)
    }

    /// How far times can be off for reasons that are not Cosmark's: the canary, and how late the server was.
    pub fn noise_ms(&self) -> f64 {
        // The run has a canary of its own, which hears what its own process hears.
        let clients = self.record.stages.iter().flat_map(|stage| &stage.clients);
        let own_ms = clients.filter_map(|client| client.pause_p99_9_ms).fold(0.0, f64::max);
        let late = self.served_late_ns().collect();
        self.canary_ms.max(own_ms) + quantile_ms(late, 0.999).unwrap_or(0.0)
    }

    /// How late the server was with each answer, ns.
    fn served_late_ns(&self) -> impl Iterator<Item = u64> {
        let answered = self.log.iter().filter(|record| record.status != 0);
        answered.map(|record| record.headers_ns.saturating_sub(record.due_ns))
    }

    /// The longest time for which anybody was kept from a processor. One such moment is in no percentile, and takes the
    /// whole of a second.
    pub fn longest_ms(&self) -> f64 {
        let clients = self.record.stages.iter().flat_map(|stage| &stage.clients);
        let own_ms = clients.filter_map(|client| client.pause_max_ms).fold(0.0, f64::max);
        let most_ns = self.late_ns.iter().copied().chain(self.served_late_ns()).max().unwrap_or(0);
        own_ms.max(most_ns as f64 / 1e6)
    }

    /// How far a mean of the main operation's times can be off for such reasons: a pause of 10 ms or more holds up all
    /// that is under way, be it the only one.
    fn noise_of_means_ms(&self) -> f64 {
        let op = self.main();
        let clients = self.record.stages.iter().flat_map(|stage| &stage.clients);
        let own = clients.filter_map(|client| Some(client.paused_share? * client.seconds * 1e3));
        let paused_ns: u64 = self.late_ns.iter().filter(|ns| **ns >= 10_000_000).sum();
        let paused_ms = own.fold(paused_ns as f64 / 1e6, f64::max);
        let (served, late_ns) = self.served_late_ns().fold((0_u64, 0_u64), |(n, sum), ns| (n + 1, sum + ns));
        let late_ms = late_ns as f64 / served.max(1) as f64 / 1e6;
        self.noise_ms().max(paused_ms * f64::from(op.workers) / op.ok.max(1) as f64 + late_ms)
    }

    /// Everything that has to agree on any machine: run.json with the operation log, and the parts of run.json with
    /// each other.
    fn audit(&self) {
        for stage in &self.record.stages {
            for op in &stage.operations {
                // Names of rows follow COSBench's Op-Name.
                let label =
                    if op.name == op.sample { op.name.clone() } else { format!("{}-{}", op.name, op.sample) };
                let rows = |phase: Option<Phase>| {
                    let label = label.as_str();
                    self.rows.iter().filter(move |row| {
                        *row.stage == *stage.id
                            && *row.work == *op.work
                            && *row.operation == *label
                            && phase.is_none_or(|phase| row.phase == phase)
                    })
                };
                let window: Vec<&OpRow> = rows(Some(Phase::Window)).collect();
                audit_operation(op, &window, rows(None).map(|row| row.sample.service_ns()).sum());
                audit_sizes(op, &window);
            }
        }
        self.audit_intervals();
        self.audit_clients();
    }

    /// What the intervals say, added up, is what the results say.
    fn audit_intervals(&self) {
        let run = open_run(&self.path("archive/w1-truth")).unwrap();
        let mut sums: BTreeMap<(String, String), (u64, u64, u64, f64)> = BTreeMap::new();
        let found = run.intervals(|line| {
            if line.phase == "window" {
                let (count, failures, bytes, in_flight_s) = sums.entry((line.stage, line.tag)).or_default();
                *count += line.ok;
                *failures += line.failed;
                *bytes += line.bytes;
                *in_flight_s += line.in_flight_mean.unwrap_or(0.0) * (line.end_s - line.start_s);
            }
        });
        assert!(found.unwrap(), "no intervals.csv");
        for stage in &self.record.stages {
            for op in &stage.operations {
                let key = (stage.id.clone(), op.tag.clone());
                let (count, failures, bytes, in_flight_s) = sums.get(&key).copied().unwrap_or_default();
                assert_eq!((count, failures, bytes), (op.ok, op.failed, op.bytes), "{key:?}: intervals");
                let all_s = op.in_flight_mean.unwrap_or(0.0) * op.window_s;
                assert!(
                    (in_flight_s - all_s).abs() <= 0.002 * all_s + 0.01,
                    "{key:?}: {in_flight_s} {all_s}"
                );
            }
        }
    }

    /// Each stage that ran says how its driver was doing.
    fn audit_clients(&self) {
        for stage in self.record.stages.iter().filter(|stage| !stage.operations.is_empty()) {
            let [client] = stage.clients.as_slice() else { panic!("{}: {:?}", stage.id, stage.clients) };
            assert!(client.load_threads >= 1 && client.clock_resolution_ns.is_some(), "{client:?}");
            assert!(client.seconds > 0.0 && client.pause_p99_9_ms.is_some(), "{client:?}");
        }
    }
}

fn audit_operation(op: &OperationResult, window: &[&OpRow], all_service_ns: u64) {
    let what = &op.name;
    let (good, bad): (Vec<&OpRow>, Vec<&OpRow>) = window.iter().partition(|row| row.sample.outcome.is_ok());
    let bytes = |rows: &[&OpRow]| rows.iter().map(|row| row.sample.bytes).sum::<u64>();
    assert_eq!((op.ok, op.failed), (good.len() as u64, bad.len() as u64), "{what}: counts");
    assert_eq!((op.bytes, op.partial_bytes), (bytes(&good), bytes(&bad)), "{what}: bytes");
    let mut errors: BTreeMap<String, u64> = BTreeMap::new();
    bad.iter().for_each(|row| *errors.entry(row.sample.outcome.label()).or_default() += 1);
    assert_eq!(op.errors, errors, "{what}: errors by class");
    let times = |rows: &[&OpRow], time: fn(&OpRow) -> u64| rows.iter().map(|row| time(row)).collect();
    audit_times(&format!("{what} response"), &op.response_ms, times(&good, |row| row.sample.response_ns()));
    audit_times(&format!("{what} service"), &op.service_ms, times(&good, |row| row.sample.service_ns()));
    audit_times(&format!("{what} failed"), &op.failed_service_ms, times(&bad, |row| row.sample.service_ns()));
    audit_wire(op, &good);
    audit_spent(what, op.time.as_ref(), &good);
    if let Some(rate) = op.throughput_per_s {
        assert!((rate * op.window_s - op.ok as f64).abs() < 1e-6 * (op.ok as f64 + 1.0), "{what}: rate");
    }
    if let Some(in_flight) = op.in_flight_mean {
        let all = all_service_ns as f64 / 1e9 / op.window_s;
        assert!(in_flight <= all * 1.001 + 1e-6, "{what}: {in_flight} in flight, the log has {all} at most");
    }
}

/// Times on the wire lie within those that the client saw, and their quantiles are those of the log, in which an operation
/// may stand for several.
fn audit_wire(op: &OperationResult, good: &[&OpRow]) {
    let stamped: Vec<_> =
        good.iter().map(|row| &row.sample).filter(|sample| sample.wire.weight > 0).collect();
    assert_eq!(op.wire_ms.count, stamped.len() as u64, "{}: operations that were stamped", op.name);
    for sample in &stamped {
        let wire = sample.wire;
        let order = [sample.sent_ns, wire.sent_ns, wire.first_byte_ns, wire.end_ns, sample.end_ns];
        assert!(order.is_sorted() && wire.spent_ns <= sample.service_ns(), "{}: {sample:?}", op.name);
    }
    let weighted = |time: fn(&Sample) -> u64| -> Vec<u64> {
        let many =
            stamped.iter().flat_map(|sample| std::iter::repeat_n(time(sample), sample.wire.weight as usize));
        many.collect()
    };
    let times = weighted(|sample| sample.wire.spent_ns);
    let reported = Latencies { count: times.len() as u64, ..op.wire_ms.clone() };
    audit_times(&format!("{} on the wire", op.name), &reported, times);
}

/// What the response times went into, recomputed row by row as far as the log tells, and adding up to their mean.
fn audit_spent(what: &str, time: Option<&TimeResult>, good: &[&OpRow]) {
    let Some(time) = time else {
        return assert!(good.is_empty(), "{what}: nothing says where the time went");
    };
    let mean = |of: &dyn Fn(&Sample) -> u64| {
        good.iter().map(|row| of(&row.sample) as f64).sum::<f64>() / good.len() as f64 / 1e6
    };
    let is_one = |sample: &Sample| sample.requests <= 1;
    let connect = |sample: &Sample| sample.connect_ns.min(sample.service_ns());
    let first = |sample: &Sample| sample.time_to_first_byte_ns().filter(|_| is_one(sample));
    let wanted = [
        ("mean", time.mean_ms, mean(&Sample::response_ns)),
        ("wait", time.wait_ms, mean(&|sample| sample.sent_ns - sample.due_ns)),
        ("connect and TLS", time.connect_ms + time.tls_ms, mean(&connect)),
        (
            "send and first byte",
            time.send_ms.unwrap_or(0.0) + time.first_byte_ms,
            mean(&|sample| first(sample).map_or(0, |ns| ns - connect(sample))),
        ),
        ("body", time.body_ms, mean(&|sample| first(sample).map_or(0, |ns| sample.service_ns() - ns))),
        (
            "several",
            time.several_ms,
            mean(&|sample| if is_one(sample) { 0 } else { sample.service_ns() - connect(sample) }),
        ),
    ];
    for (part, reported, logged) in wanted {
        // The log keeps whole microseconds or nanoseconds; nothing of a part may be missing.
        assert!(
            (reported - logged).abs() <= 1e-6 * time.mean_ms + 1e-6,
            "{what}, {part}: {reported} ms, its log says {logged} ms"
        );
    }
    let sum: f64 = TIME_PARTS.iter().filter_map(|part| (part.of)(time)).sum();
    assert!((sum - time.mean_ms).abs() < 1e-9 * time.mean_ms + 1e-9, "{what}: {time:?}");
}

/// Classes of sizes, recomputed; there are none only if there is no second one.
fn audit_sizes(op: &OperationResult, window: &[&OpRow]) {
    let good: Vec<&&OpRow> = window.iter().filter(|row| row.sample.outcome.is_ok()).collect();
    let classes: std::collections::BTreeSet<SizeClass> =
        good.iter().map(|row| SizeClass::of(row.sample.bytes)).collect();
    let with_successes: Vec<_> = op.size_classes.iter().filter(|class| class.sums.ok > 0).collect();
    assert_eq!(with_successes.len(), if classes.len() > 1 { classes.len() } else { 0 }, "{}: sizes", op.name);
    for class in with_successes {
        let own = |row: &&&&OpRow| (class.least_bytes..=class.most_bytes).contains(&row.sample.bytes);
        let rows: Vec<_> = good.iter().filter(own).collect();
        let bytes: u64 = rows.iter().map(|row| row.sample.bytes).sum();
        assert_eq!((class.sums.ok, class.sums.bytes), (rows.len() as u64, bytes), "{}", class.label);
        let times = rows.iter().map(|row| row.sample.response_ns()).collect();
        audit_times(&class.label, &class.sums.response_ms, times);
        let rows: Vec<&OpRow> = rows.into_iter().map(|row| **row).collect();
        audit_spent(&class.label, class.sums.time.as_ref(), &rows);
    }
}

fn audit_times(what: &str, reported: &Latencies, mut times_ns: Vec<u64>) {
    assert_eq!(reported.count, times_ns.len() as u64, "{what}: count");
    // Once for all of them: some cases have hundreds of thousands.
    times_ns.sort_unstable();
    let shares = [(reported.p50, 0.5), (reported.p95, 0.95), (reported.p99, 0.99), (reported.p99_9, 0.999)];
    for (reported, share) in shares.into_iter().chain([(reported.max, 1.0)]) {
        let Some(reported) = reported else { continue };
        let exact = quantile_of_sorted_ms(&times_ns, share).unwrap();
        // The histogram keeps three digits.
        let fits = (reported - exact).abs() <= 0.002 * exact + 1e-5;
        assert!(fits, "{what}: the quantile {share} is reported as {reported} ms, its log says {exact} ms");
    }
}

/// The least value that at least this share of all values does not exceed, in ms.
pub fn quantile_ms(mut times_ns: Vec<u64>, share: f64) -> Option<f64> {
    times_ns.sort_unstable();
    quantile_of_sorted_ms(&times_ns, share)
}

fn quantile_of_sorted_ms(times_ns: &[u64], share: f64) -> Option<f64> {
    let rank = ((share * times_ns.len() as f64 - 1e-9).ceil() as usize).max(1);
    times_ns.get(rank - 1).map(|ns| *ns as f64 / 1e6)
}

/// The k-th shortest time that Cosmark measured is never below the k-th shortest that the server took: each operation
/// contains the server's part of it.
pub fn assert_never_below(mut measured_ns: Vec<u64>, mut served_ns: Vec<u64>) {
    measured_ns.sort_unstable();
    served_ns.sort_unstable();
    assert_eq!(measured_ns.len(), served_ns.len());
    for (at, (measured, served)) in measured_ns.iter().zip(&served_ns).enumerate() {
        assert!(measured >= served, "number {at}: {measured} ns were measured, the server took {served} ns");
    }
}

/// A reported number beside its truth.
pub struct Figure {
    name: String,
    truth: f64,
    reported: Option<f64>,
    /// Share of the truth that it may be off, before noise.
    share: f64,
    /// How much one millisecond of noise may move it.
    per_ms: f64,
    /// The effect that it shows, ms: noise above a tenth of that proves nothing.
    effect_ms: f64,
}

/// A time in ms that shows an effect of its own size.
pub fn time(name: &str, truth_ms: f64, reported_ms: Option<f64>) -> Figure {
    Figure {
        name: name.into(),
        truth: truth_ms,
        reported: reported_ms,
        share: 0.01,
        per_ms: 1.0,
        effect_ms: truth_ms,
    }
}

/// A rate; `effect_ms` is the time that sets it, and `slows` says that noise adds to that time (a closed loop).
pub fn rate(
    name: &str,
    truth_per_s: f64,
    reported_per_s: Option<f64>,
    effect_ms: f64,
    slows: bool,
) -> Figure {
    let per_ms = if slows { truth_per_s / effect_ms } else { 0.0 };
    Figure { name: name.into(), truth: truth_per_s, reported: reported_per_s, share: 0.01, per_ms, effect_ms }
}

impl Figure {
    /// How far it may be off.
    fn room(&self, noise_ms: f64) -> f64 {
        self.share * self.truth + self.per_ms * noise_ms
    }

    fn is_right(&self, noise_ms: f64) -> bool {
        self.reported.is_some_and(|reported| (reported - self.truth).abs() <= self.room(noise_ms))
    }

    /// Of another effect than its own size.
    pub fn showing(mut self, effect_ms: f64) -> Self {
        self.effect_ms = effect_ms;
        self
    }

    /// Off by this share of the truth at most.
    pub fn within(mut self, share: f64) -> Self {
        self.share = share;
        self
    }

    /// That one millisecond of noise may move by so much.
    pub fn moved_by(mut self, per_ms: f64) -> Self {
        self.per_ms = per_ms;
        self
    }
}

/// A row of the table of cases: case, figure, truth, tolerance, reported, what became of it, noise. With
/// `COSMARK_TRUTH_TABLE` it is also added to that file, fields apart by tabs, for `make truth`.
fn tell(case: &str, figure: &Figure, said: &str, noise_ms: f64) {
    let Figure { name, truth, reported, share, per_ms, .. } = figure;
    let reported = reported.map_or_else(|| "withheld".to_owned(), |value| format!("{value:.3}"));
    let for_noise = per_ms * noise_ms;
    let (truth, tolerance) = (format!("{truth:.3}"), format!("{} % + {for_noise:.2}", share * 100.0));
    let fields = [case, name, &truth, &tolerance, &reported, said, &format!("{noise_ms:.2} ms")];
    say(&format!("{}, noise {noise_ms:.2} ms", fields[..6].join(" | ")));
    if let Some(path) = std::env::var_os("COSMARK_TRUTH_TABLE") {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
        writeln!(file.unwrap(), "{}", fields.join("\t")).unwrap();
    }
}

/// Looks at the machine for a moment: trying again is of no use while it is as busy as before.
fn is_quieter_than(limit_ms: f64) -> bool {
    let canary = Canary::start();
    std::thread::sleep(Duration::from_millis(700));
    quantile_ms(canary.stop(), 0.999).unwrap_or(f64::INFINITY) <= limit_ms
}

/// Runs a case with times until the machine is quiet enough to judge every figure, at most three times. `attempt` asserts
/// what holds on any machine; figures that the noise covers are printed as inconclusive and prove nothing.
pub fn timed(case: &str, attempt: impl Fn() -> Ran, figures: impl Fn(&Ran) -> Vec<Figure>) {
    let _alone = alone();
    for tried in 1..=TRIES {
        let ran = attempt();
        let noise_ms = ran.noise_ms();
        let (sure, unsure): (Vec<_>, Vec<_>) =
            figures(&ran).into_iter().partition(|figure| noise_ms <= figure.effect_ms / 10.0);
        let limit_ms = unsure.iter().map(|figure| figure.effect_ms / 10.0).fold(f64::INFINITY, f64::min);
        if !unsure.is_empty() && tried < TRIES && is_quieter_than(limit_ms) {
            continue;
        }
        for figure in &sure {
            let said = if figure.is_right(noise_ms) { "ok" } else { "WRONG" };
            tell(case, figure, said, noise_ms);
        }
        unsure.iter().for_each(|figure| tell(case, figure, "inconclusive", noise_ms));
        for figure in sure {
            let reported = figure.reported.unwrap_or_else(|| panic!("{case}: {} is withheld", figure.name));
            let room = figure.room(noise_ms);
            assert!(
                figure.is_right(noise_ms),
                "{case}: {} is {}, reported as {reported}, which is off by more than {room}",
                figure.name,
                figure.truth
            );
        }
        return;
    }
}

/// Runs a case until it is so, and again only where the machine made more noise than so many milliseconds, at most
/// three times. Then it has to be so but for the noise: `is_so` gets what the machine may have added to a mean time.
pub fn compared(
    case: &str,
    limit_ms: f64,
    attempt: impl Fn() -> Ran,
    is_so: impl Fn(&Ran, f64) -> bool,
) -> Ran {
    let mut tried = 0;
    loop {
        tried += 1;
        let ran = attempt();
        if is_so(&ran, 0.0) {
            return ran;
        }
        let (noise_ms, time) = (ran.noise_of_means_ms(), &ran.main().time);
        assert!(noise_ms > limit_ms, "{case}: not so, with {noise_ms:.2} ms of noise: {time:?}");
        if tried == TRIES {
            assert!(is_so(&ran, noise_ms), "{case}: not by {noise_ms:.2} ms of noise: {time:?}");
            say(&format!("{case}: inconclusive, noise {noise_ms:.2} ms"));
            return ran;
        }
    }
}

/// A thread that sleeps a millisecond again and again and notes how much longer it took.
struct Canary {
    over: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<Vec<u64>>,
}

impl Canary {
    fn start() -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&over);
        let thread = std::thread::spawn(move || {
            let mut late = Vec::new();
            let nap = Duration::from_millis(1);
            // Ten minutes at most.
            while !stop.load(Ordering::Relaxed) && late.len() < 600_000 {
                let begun = Instant::now();
                std::thread::sleep(nap);
                late.push(u64::try_from((begun.elapsed().saturating_sub(nap)).as_nanos()).unwrap());
            }
            late
        });
        Self { over, thread }
    }

    /// How much longer each nap took, ns.
    fn stop(self) -> Vec<u64> {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}
