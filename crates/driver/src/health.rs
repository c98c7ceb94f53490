//! Watches the driver itself while a stage runs: every second the use of its threads, its machine and its network, and
//! the delays of the canary (`canary.rs`).

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use cosmark_adaptor_api::{clock, sockets};
use cosmark_engine::LoadThread;
use cosmark_metrics::{
    ClientFacts, HealthSample, Latency, MachineHealth, NicHealth, QuotaHealth, ThreadHealth,
};

use crate::canary::Ear;
use crate::proc::{self, Processors, Sockets, ThreadTimes};

/// Between two looks.
const TICK: Duration = Duration::from_secs(1);
/// The rest after the last tick is a sample of its own if it is at least as long as this.
const SHORTEST_NS: u64 = 1_000_000;
/// Counters of processor time that took longer to be read are read again, so often at most: a span reaches from before its
/// first counter to behind its last, and a pause in between would make everybody look less busy.
const LONGEST_READING_NS: u64 = 10_000_000;
const MOST_READINGS: u32 = 3;
/// Less is the time between reading two clocks.
const SHORTEST_SUSPENSION_NS: u64 = 100_000_000;

/// What does not change while the stage runs. Takes about a tenth of a millisecond.
pub fn facts(load_threads: usize) -> ClientFacts {
    let (clock_resolution_ns, clock_cost_ns) = clock_quality();
    ClientFacts {
        load_threads: u32::try_from(load_threads).unwrap_or(u32::MAX),
        clock_resolution_ns,
        clock_cost_ns,
        ephemeral_ports: proc::ephemeral_ports(),
        nofile_limit: proc::nofile_limit(),
        bound_to: proc::bound_to(),
        boot_time_s: proc::boot_time_s(),
        memory_bytes: proc::memory_bytes(),
    }
}

/// The smallest step between two readings of the clock, and what a reading costs: the best of some rounds, because an
/// interruption only ever adds.
fn clock_quality() -> (Option<u64>, Option<f64>) {
    const READINGS: u32 = 200;
    let mut least_step_ns = None;
    let mut least_cost_ns = f64::MAX;
    for _ in 0..10 {
        let first_ns = clock::now_ns();
        let mut last_ns = first_ns;
        for _ in 0..READINGS {
            let now_ns = clock::now_ns();
            let step_ns = now_ns - last_ns;
            if step_ns > 0 && least_step_ns.is_none_or(|least| step_ns < least) {
                least_step_ns = Some(step_ns);
            }
            last_ns = now_ns;
        }
        #[expect(clippy::cast_precision_loss, reason = "some microseconds")]
        let cost_ns = (last_ns - first_ns) as f64 / f64::from(READINGS);
        least_cost_ns = least_cost_ns.min(cost_ns);
    }
    (least_step_ns, (least_cost_ns < f64::MAX).then_some(least_cost_ns))
}

/// A sampler at work.
pub struct Sampler {
    stop: SyncSender<()>,
    thread: JoinHandle<()>,
}

impl Sampler {
    /// Starts it. `threads` gives name and number of each load thread; `each` gets the samples. `None` when the system
    /// has no more threads: then nothing is known about the client, and the record says so.
    pub fn start(
        threads: impl Fn() -> Vec<LoadThread> + Send + 'static,
        each: impl Fn(HealthSample) + Send + 'static,
    ) -> Option<Self> {
        let ear = Ear::listen()?;
        let (stop, stopped) = sync_channel(1);
        let first = Reading::take(&threads(), 0);
        let spawned = std::thread::Builder::new()
            .name("health".into())
            .spawn(move || watch(&stopped, &ear, first, threads, each));
        Some(Self { stop, thread: spawned.ok()? })
    }

    /// Takes the last sample and ends.
    pub fn stop(self) {
        let Self { stop, thread } = self;
        // Dropping the sender is what the thread waits for. It holds nothing that a failure could break.
        drop(stop);
        drop(thread.join());
    }
}

fn watch(
    stopped: &Receiver<()>,
    ear: &Ear,
    first: Reading,
    threads: impl Fn() -> Vec<LoadThread>,
    each: impl Fn(HealthSample),
) {
    let mut last = first;
    loop {
        let is_over = !matches!(stopped.recv_timeout(TICK), Err(RecvTimeoutError::Timeout));
        let now = Reading::take(&threads(), last.took_ns());
        if now.at_ns.saturating_sub(last.at_ns) >= SHORTEST_NS {
            each(now.since(&last, ear.take()));
            last = now;
        }
        if is_over {
            return;
        }
    }
}

/// All counters at one moment.
#[derive(Debug, Default)]
struct Reading {
    /// Before the first counter of processor time was read, and behind the last.
    began_ns: u64,
    at_ns: u64,
    threads: Vec<(String, i32, Option<ThreadTimes>)>,
    process_cpu_ns: Option<u64>,
    processors: Option<Processors>,
    quotas: Vec<proc::Quota>,
    tcp_segments: Option<(u64, u64)>,
    nics: Vec<NicHealth>,
    sockets: Sockets,
    suspended_ns: Option<u64>,
}

impl Reading {
    /// `usual_ns` is how long it took last.
    fn take(threads: &[LoadThread], usual_ns: u64) -> Self {
        let times = |thread: &LoadThread| {
            // What a thread waits awake it could work.
            let working = |times: ThreadTimes| ThreadTimes {
                cpu_ns: times.cpu_ns.saturating_sub(thread.idle_ns),
                ..times
            };
            (thread.name.clone(), thread.id, proc::thread_times(thread.id).map(working))
        };
        let (began_ns, (threads, process_cpu_ns, processors), at_ns) = timed(usual_ns, || {
            (threads.iter().map(times).collect(), proc::process_cpu_ns(), proc::processors())
        });
        Self {
            began_ns,
            at_ns,
            threads,
            process_cpu_ns,
            processors,
            quotas: proc::quotas(),
            tcp_segments: sockets::segments().map(|all| (all.out, all.again)),
            nics: proc::interfaces(),
            sockets: proc::sockets(),
            suspended_ns: proc::suspended_ns(),
        }
    }

    /// How long the counters of processor time took to be read.
    fn took_ns(&self) -> u64 {
        self.at_ns.saturating_sub(self.began_ns)
    }

    /// What happened between `earlier` and now. What the counters of processor time have grown by lies within the span,
    /// however long their reading took at either end.
    fn since(&self, earlier: &Self, pause: Latency) -> HealthSample {
        let grown = |now: Option<u64>, before: Option<u64>| Some(now?.saturating_sub(before?));
        let times_before = |id: i32| {
            // A thread that was not there yet had used nothing.
            earlier
                .threads
                .iter()
                .find(|(_, other, _)| *other == id)
                .map_or(Some(ThreadTimes::default()), |one| one.2)
        };
        let thread = |(name, id, now): &(String, i32, Option<ThreadTimes>)| {
            let (now, before) = ((*now)?, times_before(*id)?);
            let waited_before_ns = before.run_queue_wait_ns.unwrap_or(0);
            Some(ThreadHealth {
                name: name.clone(),
                cpu_ns: now.cpu_ns.saturating_sub(before.cpu_ns),
                run_queue_wait_ns: now.run_queue_wait_ns.map(|ns| ns.saturating_sub(waited_before_ns)),
            })
        };
        let machine = |now: Processors, before: Processors| MachineHealth {
            cpus: now.cpus,
            busy_ns: now.busy_ns.saturating_sub(before.busy_ns),
            steal_ns: grown(now.steal_ns, before.steal_ns),
        };
        let segments = self.tcp_segments.zip(earlier.tcp_segments);
        HealthSample {
            at_ns: self.at_ns,
            span_ns: self.at_ns.saturating_sub(earlier.began_ns),
            threads: self.threads.iter().filter_map(thread).collect(),
            process_cpu_ns: grown(self.process_cpu_ns, earlier.process_cpu_ns),
            machine: self.processors.zip(earlier.processors).map(|(now, before)| machine(now, before)),
            quota: used_up(&self.quotas, &earlier.quotas),
            pause,
            tcp_segments_out: segments.map(|(now, before)| now.0.saturating_sub(before.0)),
            tcp_segments_retransmitted: segments.map(|(now, before)| now.1.saturating_sub(before.1)),
            nics: self.nics.iter().filter_map(|nic| moved(nic, &earlier.nics)).collect(),
            sockets_in_use: self.sockets.in_use,
            sockets_time_wait: self.sockets.time_wait,
            // The two clocks are not read at the same moment.
            suspended_ns: grown(self.suspended_ns, earlier.suspended_ns)
                .map(|ns| if ns < SHORTEST_SUSPENSION_NS { 0 } else { ns }),
        }
    }
}

/// What `read` gives, between the clock before it and behind it: of some readings the first that is short enough, or else
/// the shortest. Where all of them take long, as with very many threads, one is enough.
fn timed<T>(usual_ns: u64, read: impl Fn() -> T) -> (u64, T, u64) {
    let enough_ns = LONGEST_READING_NS.max(usual_ns.saturating_mul(2));
    let once = || {
        let began_ns = clock::now_ns();
        let what = read();
        (began_ns, what, clock::now_ns())
    };
    let took_ns = |(began_ns, _, at_ns): &(u64, T, u64)| at_ns.saturating_sub(*began_ns);
    let mut best = once();
    for _ in 1..MOST_READINGS {
        if took_ns(&best) <= enough_ns {
            break;
        }
        let other = once();
        if took_ns(&other) < took_ns(&best) {
            best = other;
        }
    }
    best
}

/// The quota that was used up in the greatest share of its periods; `None` where no group has one.
fn used_up(now: &[proc::Quota], earlier: &[proc::Quota]) -> Option<QuotaHealth> {
    let grown = now.iter().filter_map(|quota| {
        let before = earlier.iter().find(|one| one.group == quota.group)?;
        let periods = quota.periods.saturating_sub(before.periods);
        Some(QuotaHealth { periods, stopped: quota.stopped.saturating_sub(before.stopped) })
    });
    let share = |quota: &QuotaHealth| (u128::from(quota.stopped) << 64) / u128::from(quota.periods);
    grown.filter(|quota| quota.periods > 0).max_by_key(|quota| (share(quota), quota.periods))
}

/// What an interface has moved since then; `None` when nothing, or when it was not there.
fn moved(now: &NicHealth, earlier: &[NicHealth]) -> Option<NicHealth> {
    let before = earlier.iter().find(|nic| nic.name == now.name)?;
    let (rx_bytes, tx_bytes) =
        (now.rx_bytes.saturating_sub(before.rx_bytes), now.tx_bytes.saturating_sub(before.tx_bytes));
    (rx_bytes + tx_bytes > 0).then(|| NicHealth { rx_bytes, tx_bytes, ..now.clone() })
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn own_id() -> i32 {
        // SAFETY: takes nothing and cannot fail (gettid(2)).
        unsafe { libc::gettid() }
    }

    fn spin(time: Duration) {
        let began = Instant::now();
        while began.elapsed() < time {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn a_busy_thread_is_told_from_an_idle_one_and_the_rest_of_a_second_is_a_sample() {
        let (sender, samples) = sync_channel(16);
        let busy = own_id();
        let (go, idle) = sync_channel::<()>(0);
        let (said, heard) = sync_channel(1);
        let sleeper = std::thread::spawn(move || {
            said.send(own_id()).unwrap();
            let _ = idle.recv();
        });
        let sleeping = heard.recv().unwrap();
        let threads = move || {
            let thread = |name: &str, id| LoadThread { name: name.to_owned(), id, idle_ns: 0 };
            vec![thread("load-0", busy), thread("load-1", sleeping)]
        };
        let began = Instant::now();
        let sampler = Sampler::start(threads, move |sample| sender.send(sample).unwrap()).unwrap();
        let spun = Duration::from_millis(1300);
        spin(spun);
        sampler.stop();
        let took = began.elapsed();
        drop(go);
        sleeper.join().unwrap();
        let samples: Vec<_> = samples.iter().collect();
        let (_, seconds) = samples.split_last().unwrap();
        assert!(seconds.iter().all(|sample| sample.span_ns >= 1_000_000_000), "{seconds:?}");
        // A span begins before the counters of its start were read, which is before the one before it ends.
        let (first, last) = (samples.first().unwrap(), samples.last().unwrap());
        let span = Duration::from_nanos(last.at_ns + first.span_ns - first.at_ns);
        assert!(span <= took && span + Duration::from_nanos(SHORTEST_NS) >= spun, "{span:?} of {took:?}");
        // On a machine that is busy or stands still the busy thread may have had nothing of one sample.
        let mut of = [ThreadHealth::default(), ThreadHealth::default()];
        let (mut stolen_ns, mut machine_ns, mut process_ns, mut pauses) = (0, 0, 0, 0);
        for sample in &samples {
            assert_eq!(sample.threads.len(), 2, "{:?}", sample.threads);
            for (sum, thread) in of.iter_mut().zip(&sample.threads) {
                sum.cpu_ns += thread.cpu_ns;
                *sum.run_queue_wait_ns.get_or_insert(0) += thread.run_queue_wait_ns.unwrap_or(0);
            }
            let machine = sample.machine.unwrap();
            assert!(machine.cpus > 0);
            stolen_ns += machine.steal_ns.unwrap_or(0);
            machine_ns += machine.busy_ns;
            process_ns += sample.process_cpu_ns.unwrap();
            pauses += sample.pause.count();
            assert_eq!(sample.suspended_ns.map(|ns| ns / 1_000_000), Some(0));
        }
        let [busy, idle] = of;
        assert!(busy.cpu_ns > 10 * idle.cpu_ns, "{busy:?} {idle:?}");
        // What it did not run it waited, or a hypervisor had the processor: a busy machine changes the shares alone.
        let accounted_ns = busy.cpu_ns + busy.run_queue_wait_ns.unwrap_or(0) + stolen_ns;
        assert!(u128::from(accounted_ns) > span.as_nanos() / 2, "{accounted_ns} ns of {span:?}");
        assert!(machine_ns > 0 && process_ns >= busy.cpu_ns / 2, "{machine_ns} {process_ns} {busy:?}");
        assert!(pauses > 10, "{pauses}");
    }

    #[test]
    fn the_clock_has_a_resolution_and_a_price() {
        let facts = facts(3);
        assert_eq!(facts.load_threads, 3);
        assert!(facts.clock_resolution_ns.is_some_and(|ns| (1..1_000_000).contains(&ns)), "{facts:?}");
        assert!(facts.clock_cost_ns.is_some_and(|ns| (0.5..100_000.0).contains(&ns)), "{facts:?}");
        assert!(facts.ephemeral_ports.is_some_and(|ports| ports > 1) && facts.nofile_limit.is_some());
    }

    #[test]
    fn a_thread_is_never_busier_than_its_span_however_long_the_counters_took_to_be_read() {
        // It ran all the time, and each reading took 140 ms before it came to the thread's counter, or behind it.
        let reading = |began_ms: u64, counted_ms: u64, at_ms: u64| Reading {
            began_ns: began_ms * 1_000_000,
            at_ns: at_ms * 1_000_000,
            threads: vec![(
                "load-0".to_owned(),
                7,
                Some(ThreadTimes { cpu_ns: counted_ms * 1_000_000, ..ThreadTimes::default() }),
            )],
            ..Reading::default()
        };
        for (earlier, now) in [
            (reading(5000, 5000, 5140), reading(6000, 6140, 6140)),
            (reading(5000, 5140, 5140), reading(6000, 6000, 6140)),
            (reading(5000, 5000, 5000), reading(6000, 6140, 6140)),
        ] {
            let sample = now.since(&earlier, Latency::default());
            assert!(sample.threads[0].cpu_ns <= sample.span_ns, "{sample:?}");
            assert_eq!(sample.at_ns, now.at_ns);
        }
        let (before_ns, inside_ns, behind_ns) = timed(0, clock::now_ns);
        assert!(before_ns <= inside_ns && inside_ns <= behind_ns, "{before_ns} {inside_ns} {behind_ns}");
    }

    #[test]
    fn a_reading_that_was_interrupted_is_made_again_and_the_shortest_counts() {
        let noted = std::cell::RefCell::new(Vec::new());
        let took = &noted;
        let long = Duration::from_nanos(2 * LONGEST_READING_NS);
        let reading = |first: Duration, others: Duration| {
            took.borrow_mut().clear();
            move || {
                let began_ns = clock::now_ns();
                spin(if took.borrow().is_empty() { first } else { others });
                took.borrow_mut().push(clock::now_ns() - began_ns);
                took.borrow().len()
            }
        };
        let (_, number, _) = timed(0, reading(10 * long, Duration::ZERO));
        let counted = took.borrow().clone();
        assert!(counted.len() > 1 && counted.len() <= MOST_READINGS as usize, "{counted:?}");
        // On a busy machine a later one may have been interrupted for longer; between its clocks stands little else.
        let least_ns = counted.iter().min().unwrap();
        let chosen_ns = counted[number - 1];
        assert!(chosen_ns <= least_ns + LONGEST_READING_NS, "{number} of {counted:?}");
        // Not without end, and once where it takes long each time.
        timed(0, reading(long, long));
        assert_eq!(took.borrow().len(), MOST_READINGS as usize);
        timed(u64::MAX, reading(long, long));
        assert_eq!(took.borrow().len(), 1);
    }

    #[test]
    fn of_several_quotas_the_one_that_stops_most_counts_and_one_that_was_not_there_before_does_not() {
        let quota = |group: &str, periods, stopped| proc::Quota { group: group.to_owned(), periods, stopped };
        let before = [quota("/a/b", 100, 50), quota("/a", 10, 0), quota("/", 7, 7)];
        let now = [quota("/a/b", 110, 53), quota("/a", 20, 9), quota("/", 7, 7), quota("/new", 900, 900)];
        assert_eq!(used_up(&now, &before), Some(QuotaHealth { periods: 10, stopped: 9 }));
        assert_eq!(used_up(&before, &before), None, "nothing ran, or there is no quota");
        assert_eq!(used_up(&[], &before), None);
    }

    #[test]
    fn a_counter_that_cannot_be_read_is_none() {
        let nothing = Reading { at_ns: 2_000_000_000, ..Reading::default() };
        let sample = nothing.since(&Reading::default(), Latency::default());
        assert_eq!(
            sample,
            HealthSample { at_ns: 2_000_000_000, span_ns: 2_000_000_000, ..HealthSample::default() }
        );
    }
}
