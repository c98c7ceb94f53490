//! Checks on the client and its network: processor, pauses, links, common window, connections, TCP.

use cosmark_metrics::results::Cause;
use cosmark_metrics::{ClientRecord, NicRecord, SATURATED_SHARE, STOPPED_SHARE};
use cosmark_stats::steady::mean;

use super::{MEDIAN, RATE, nodes};
use crate::bounds::{HOLDS_WITHIN, Widened, widened_by};
use crate::evidence::{Evidence, OperationEvidence};
use crate::finding::{Finding, rank};
use crate::numbers::{grouped, list, percent, plain};

const NOT_RECORDED: &str = "the client's machine was not watched during this run";

fn most(
    clients: &[ClientRecord],
    value: impl Fn(&ClientRecord) -> Option<f64>,
) -> Option<(f64, &ClientRecord)> {
    clients
        .iter()
        .filter_map(|client| value(client).map(|value| (value, client)))
        .max_by(|a, b| a.0.total_cmp(&b.0))
}

/// V5.
pub(super) fn cpu(evidence: &Evidence) -> Finding {
    let clients = &evidence.clients;
    let (Some(mean), Some(over)) =
        (most(clients, |c| c.thread_busy_max), most(clients, |c| c.thread_busy_over_85_share))
    else {
        return Finding::unknown(format!("{NOT_RECORDED}: whether it was the bottleneck is not known"));
    };
    let facts = busy(clients, mean, over);
    let wanted = most(clients, |c| Some(c.thread_busy_max? + c.run_queue_wait_share_max.unwrap_or(0.0)));
    let stopped = most(clients, |c| c.quota_stopped_share).map_or(0.0, |(share, _)| share);
    let is_full =
        over.0 > 0.05 || wanted.is_some_and(|(share, _)| share > SATURATED_SHARE) || stopped > STOPPED_SHARE;
    let is_stopped = stopped > SOMETIMES_STOPPED;
    if let Some(lack) = evidence.not_served().filter(|_| is_full) {
        let message = format!(
            "{facts}, and {} of what was due was not served: the client, not the store, could not keep up; {}, or a lower \
             rate",
            percent(lack),
            if is_stopped { MORE_QUOTA } else { "use more load threads or drivers" }
        );
        return Finding::fail(lack, 0.01, message).moving("response_ms.p50", 1.0);
    }
    if let Some((share, _)) = most(clients, |c| c.steal_share).filter(|(share, _)| *share > MOST_STOLEN) {
        return Finding::warn(share, MOST_STOLEN, format!("{facts}: latencies contain it"))
            .moving(MEDIAN, share);
    }
    // The processors of a driver that one cannot see may be taken from it, which its own measurements show as waiting.
    let mut causes = vec![Cause::RunQueue, Cause::BusyThreads];
    if is_stopped {
        // What is stopped sleeps: its pauses show it, and no queue.
        causes.push(Cause::Pauses);
    }
    let widened = widened_by(evidence, &causes);
    widening(facts, widened, |facts, moved| {
        let others = "use more load threads or drivers, or a machine that does nothing else";
        format!("{facts}: {moved}; {}", if is_stopped { MORE_QUOTA } else { others })
    })
}

const MORE_QUOTA: &str =
    "raise the quota (cpu.max, docker --cpus, limits.cpu of Kubernetes) or use more drivers";

/// A quota that is used up more rarely is not worth a word.
const SOMETIMES_STOPPED: f64 = 0.05;

/// A hypervisor that takes more than this may do so at any moment.
const MOST_STOLEN: f64 = 0.05;

/// A load thread that waited for a processor for a smaller share of the time has hardly waited.
const WAITED: f64 = 0.005;

/// What keeps the load threads from their work, the most of it.
fn busy(clients: &[ClientRecord], mean: (f64, &ClientRecord), over: (f64, &ClientRecord)) -> String {
    let waits = most(clients, |c| c.run_queue_wait_share_max).filter(|(share, _)| *share > 0.05);
    // A thread that has to wait for a processor never shows as busy, however much it has to do.
    let wanted = most(clients, |c| Some(c.thread_busy_max? + c.run_queue_wait_share_max.unwrap_or(0.0)));
    let wanted =
        wanted.filter(|(share, _)| *share > SATURATED_SHARE && waits.is_some_and(|waits| waits.0 <= 0.25));
    let stopped = most(clients, |c| c.quota_stopped_share).filter(|(share, _)| *share > SOMETIMES_STOPPED);
    if let Some((share, client)) = stopped {
        return format!(
            "the control group (container) of driver {} had used up its quota of processor time in {} of the periods, and \
             stood still for the rest of each",
            client.driver,
            percent(share)
        );
    }
    if let Some((share, client)) = most(clients, |c| c.steal_share).filter(|(share, _)| *share > 0.01) {
        let share = percent(share);
        return format!("the hypervisor took {share} of the processor time of driver {}", client.driver);
    }
    if let Some((share, client)) = Some(over).filter(|(share, _)| *share > 0.05) {
        let share = percent(share);
        return format!(
            "driver {} had a load thread over 85 % busy in {share} of the seconds",
            client.driver
        );
    }
    if let Some((share, client)) = wanted {
        let (driver, share) = (&client.driver, percent(share));
        return format!(
            "a load thread of driver {driver} had work for {share} of a processor, part of which it waited for"
        );
    }
    if let Some((share, client)) = waits {
        return format!(
            "load threads of driver {} were ready to run and had no processor for {} of the time",
            client.driver,
            percent(share)
        );
    }
    // A thread with little to do may have waited for a processor each time that there was something.
    let waited = most(clients, |c| c.run_queue_wait_share_max).filter(|(share, _)| *share > WAITED);
    let waited = waited
        .map(|(share, _)| format!(", and one waited for a processor for {} of the time", percent(share)));
    let waited = waited.unwrap_or_default();
    format!("the busiest load thread was {} busy{waited}", percent(mean.0))
}

/// Trouble of the client: fine as long as it moves no headline figure by more than it may, else a limit on those that it
/// moves. What it leaves of the verdict is said by the figures.
pub(super) fn widening(
    facts: String,
    widened: Option<Widened>,
    bad: impl FnOnce(String, String) -> String,
) -> Finding {
    let Some(widened) = widened else {
        return Finding::unknown(format!(
            "{facts}, and no operation succeeded whose figures that could move"
        ));
    };
    let (share, figure) = (widened.share, widened.metric.id);
    if share <= HOLDS_WITHIN {
        return Finding::pass(share, HOLDS_WITHIN, format!("{facts}: {}", widened.sentence()));
    }
    Finding::warn(share, HOLDS_WITHIN, bad(facts, widened.sentence())).moving(figure, share)
}

/// V6.
pub(super) fn pauses(evidence: &Evidence) -> Finding {
    let suspended = most(&evidence.clients, |c| c.suspended_ms).filter(|(ms, _)| *ms > 0.0);
    if let Some((ms, client)) = suspended {
        const MOST: f64 = 0.05;
        let message = format!("the machine of driver {} was suspended for {} ms", client.driver, plain(ms));
        let share = ms / (ms + 1000.0 * evidence.window_s).max(f64::MIN_POSITIVE);
        let found = if share > MOST {
            Finding::fail(share, MOST, message)
        } else {
            Finding::warn(share, 0.0, message)
        };
        return found.moving("throughput_per_s", share);
    }
    let Some((pause, client)) = most(&evidence.clients, |c| c.pause_p99_9_ms) else {
        return Finding::unknown(format!("{NOT_RECORDED}: its own pauses are not known"));
    };
    let longest = client.pause_max_ms.map(|ms| format!(" (longest {} ms)", plain(ms))).unwrap_or_default();
    let facts = format!("the client's machine paused {} ms in 1 of 1 000 samples{longest}", plain(pause));
    widening(facts, widened_by(evidence, &[Cause::Pauses]), |facts, moved| {
        format!("{facts}: {moved}; measure from a quieter machine")
    })
}

/// What carried so many times the speed that it tells has made that up, as tunnels and pairs of containers do. The most
/// of a second may be twice what passed in it: there are cards that write their counters down once a second (Linux
/// kernel, `bnxt_en`, `stats-block-usecs`), twice in some seconds of the clock.
const MADE_UP: f64 = 2.5;

/// Speed of a link, where the system tells one.
#[expect(clippy::cast_precision_loss, reason = "speeds of links fit 53 bits")]
pub(super) fn link_bits_per_s(nic: &NicRecord) -> Option<f64> {
    let carried = 8.0 * nic.rx_bytes_per_s_max.max(nic.tx_bytes_per_s_max);
    let speed = nic.speed_bits_per_s.filter(|speed| *speed > 0).map(|speed| speed as f64);
    speed.filter(|speed| carried <= MADE_UP * speed)
}

/// A link is nearly full, and full, in the busiest second of a direction.
const NEARLY_FULL: f64 = 0.80;
const FULL: f64 = 0.92;
/// A run that fills a link of its own moves more than this part of what it carries, in its own busiest step.
const OF_THE_RUN: f64 = 0.5;
/// Bytes of a request, and of an answer, besides their bodies: their heads, and those of their packets.
const BESIDE_BODIES: f64 = 1000.0;

/// How many times its mean the rate of a work came to in its busiest step.
fn burst(evidence: &Evidence, work: &str) -> f64 {
    let series = evidence.series.iter().find(|series| series.work == work);
    let rates = series.map(|series| series.rate_per_s.as_slice()).unwrap_or_default();
    let usual = mean(rates);
    let most = rates.iter().copied().fold(0.0, f64::max);
    if usual > 0.0 && most.is_finite() { (most / usual).max(1.0) } else { 1.0 }
}

/// Where nobody knows how long bodies were that may have been moved: more than any link carries.
const UNKNOWN_BYTES: f64 = 1e18;

/// Bytes of bodies that an operation moved, or may have: what failed, was asked for again or was still under way fills
/// a link, too, and counts as whole. What is refused, or never had a connection, moves no body; a write may be refused
/// behind its own.
#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
fn bodies(op: &OperationEvidence) -> f64 {
    let is_read = op.kind == "read";
    let has_none = |class: &str| class == "connect" || (is_read && class.starts_with("http_"));
    let without: u64 = op.errors.iter().filter(|(class, _)| has_none(class)).map(|(_, count)| *count).sum();
    let again = if is_read { 0 } else { op.retries };
    let others = op.failed.saturating_sub(without).saturating_add(op.unfinished).saturating_add(again);
    match (op.ok, others) {
        (0, 1..) if is_read || op.kind == "write" => UNKNOWN_BYTES,
        (0, _) => op.bytes as f64,
        (ok, others) => op.bytes as f64 * (1.0 + others as f64 / ok as f64),
    }
}

/// Bits per second that a driver moved in the busier direction, in the busiest steps of its works.
#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
fn bits_of_run(evidence: &Evidence, client: &ClientRecord) -> f64 {
    let part = |op: &OperationEvidence| {
        let all: f64 = op.drivers.iter().map(|driver| driver.rate_per_s).sum();
        let own = op.drivers.iter().find(|driver| driver.driver == client.driver);
        match own {
            Some(own) if all > 0.0 => own.rate_per_s / all,
            // Nothing succeeded anywhere: it may have been any of them.
            Some(_) => 1.0,
            None if op.drivers.is_empty() => 1.0,
            None => 0.0,
        }
    };
    let of = |reads: bool| {
        let moving = evidence.operations.iter().filter(|op| op.window_s > 0.0);
        let bytes = |op: &OperationEvidence| {
            let bodies = if (op.kind == "read") == reads { bodies(op) } else { 0.0 };
            bodies + op.requests as f64 * BESIDE_BODIES
        };
        moving.map(|op| 8.0 * bytes(op) / op.window_s * part(op) * burst(evidence, &op.work)).sum::<f64>()
    };
    of(true).max(of(false))
}

/// V7.
pub(super) fn network(evidence: &Evidence) -> Finding {
    let nics = evidence.clients.iter().flat_map(|client| client.nics.iter().map(move |nic| (client, nic)));
    let used = nics.filter_map(|(client, nic)| {
        let speed = link_bits_per_s(nic)?;
        Some((8.0 * nic.rx_bytes_per_s_max.max(nic.tx_bytes_per_s_max) / speed, client, nic))
    });
    let Some((share, client, nic)) = used.max_by(|a, b| a.0.total_cmp(&b.0)) else {
        return Finding::unknown(if evidence.clients.is_empty() {
            format!("{NOT_RECORDED}: how full its links were is not known")
        } else {
            "the system does not tell the speed of any link, so how full it was is not known".to_owned()
        });
    };
    let good = || format!("the busiest link ({} of {}) was {} full", nic.name, client.driver, percent(share));
    let own = bits_of_run(evidence, client) / link_bits_per_s(nic).unwrap_or(f64::INFINITY);
    if share > NEARLY_FULL && own < OF_THE_RUN {
        let message = format!(
            "{} of driver {} was {} full in its busiest second, and what this run moved makes {} of it at its own busiest: \
             other programs of that machine used it, too",
            nic.name,
            client.driver,
            percent(share),
            percent(own)
        );
        let second = 1.0 / evidence.window_s.max(1.0);
        return Finding::warn(share, NEARLY_FULL, message).moving(RATE, second);
    }
    Finding::graded(share, NEARLY_FULL, FULL, good, || {
        format!(
            "{} of driver {} was {} full: the client's link limited the run; add drivers",
            nic.name,
            client.driver,
            percent(share)
        )
    })
}

pub(super) const ONE_DRIVER: &str = "needs two drivers, there was one";

/// V16.
pub(super) fn common_window(evidence: &Evidence) -> Finding {
    if !evidence.missing.is_empty() {
        return gaps(evidence);
    }
    let begun = begun_together(evidence);
    if evidence.pauses.is_empty() {
        return begun;
    }
    // The graver of the two.
    let paused = gaps(evidence);
    let order = rank(&begun).cmp(&rank(&paused));
    if order.is_lt() || (order.is_eq() && begun.value > paused.value) { begun } else { paused }
}

/// Whether the workers of all drivers began at about one time.
fn begun_together(evidence: &Evidence) -> Finding {
    if evidence.drivers < 2 {
        return Finding::does_not_apply(ONE_DRIVER);
    }
    let Some(skew) = evidence.start_skew_s else {
        return Finding::unknown("when each driver began was not recorded");
    };
    let error = evidence.start_skew_error_s.unwrap_or(0.0);
    // At the worst.
    let share = (skew + error) / evidence.window_s.max(f64::MIN_POSITIVE);
    let known = format!("(known to {} ms)", plain(error * 1000.0));
    let drivers = evidence.drivers;
    let good =
        || format!("all workers of all {drivers} drivers began within {} ms {known}", plain(skew * 1000.0));
    Finding::graded(share, 0.01, 0.05, good, || {
        format!(
            "the last worker began {} s after the first {known}: for {} of the window the load was smaller",
            plain(skew),
            percent(share)
        )
    })
}

/// Drivers that were lost, or made no load for a while: the share of the window's load that is missing.
fn gaps(evidence: &Evidence) -> Finding {
    let gone: f64 = evidence
        .missing
        .iter()
        .map(|gap| evidence.part_of_load(gap.from_s, f64::INFINITY, gap.workers))
        .sum();
    let share = gone + evidence.paused_part();
    let count =
        |workers: u64| format!("{} {}", grouped(workers), if workers == 1 { "worker" } else { "workers" });
    let gone = evidence
        .missing
        .iter()
        .map(|gap| format!("driver {} from {} s on ({})", gap.driver, plain(gap.from_s), count(gap.workers)));
    let gone = gone.collect::<Vec<_>>().join(", ");
    let paused = evidence.pauses.iter().map(|pause| {
        format!(
            "driver {} made no load from {} s to {} s ({}, {})",
            pause.driver,
            plain(pause.from_s),
            plain(pause.to_s),
            count(pause.workers),
            pause.reason
        )
    });
    let paused = list(&paused.collect::<Vec<_>>());
    let who = match (gone.is_empty(), paused.is_empty()) {
        (false, true) => format!("{gone} is missing"),
        (true, _) => paused,
        (false, false) => format!("{gone} is missing, and {paused}"),
    };
    Finding::graded(
        share,
        0.0,
        0.05,
        || format!("{who}, outside the window"),
        || format!("{who}: {} of the load of the window, and what it would have done", percent(share)),
    )
}

/// V18. A worker's first connection is free.
#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
pub(super) fn connections(evidence: &Evidence) -> Finding {
    let requests: u64 = evidence.operations.iter().map(|op| op.requests).sum();
    let opened: u64 = evidence.operations.iter().map(|op| op.connections).sum();
    if is_all_local(evidence) {
        return Finding::does_not_apply("nothing went over a connection");
    }
    if requests == 0 {
        return Finding::unknown("requests and connections were not counted");
    }
    let again = opened.saturating_sub(evidence.workers());
    let share = again as f64 / requests as f64;
    let is_intended = evidence.store.new_connections_intended;
    if share > 0.01 && !is_intended {
        let handshake: f64 = evidence
            .operations
            .iter()
            .map(|op| op.connect.count as f64 * op.connect.mean.unwrap_or(0.0))
            .sum();
        let service: f64 = evidence.operations.iter().map(|op| 1000.0 * op.service_sum_s()).sum();
        let part = if service > 0.0 {
            format!("; {} of the time is handshake", percent((handshake / service).min(1.0)))
        } else {
            String::new()
        };
        let message = format!(
            "{} of the requests opened a new connection{part}: let the store keep connections",
            percent(share)
        );
        return if share > 0.20 {
            Finding::fail(share, 0.20, message)
        } else {
            Finding::warn(share, 0.01, message)
        };
    }
    let waiting = most(&evidence.clients, |client| {
        Some(client.time_wait_max? as f64 / client.ephemeral_ports.filter(|ports| *ports > 0)? as f64)
    });
    if let Some((full, client)) = waiting.filter(|(full, _)| *full > 0.5) {
        let message = format!(
            "closed connections hold {} of the ports of driver {}: new ones may fail",
            percent(full),
            client.driver
        );
        return Finding::warn(full, 0.5, message);
    }
    if is_intended {
        return Finding::does_not_apply(
            "the workload says that it measures new connections (sut_connections)",
        );
    }
    Finding::pass(
        share,
        0.01,
        format!(
            "{} connections were opened for {} requests in the window",
            grouped(opened),
            grouped(requests)
        ),
    )
}

fn is_all_local(evidence: &Evidence) -> bool {
    let is_local = |kind: &String| matches!(kind.as_str(), "mock" | "none" | "file" | "posix");
    let kinds = &evidence.store.kinds;
    !kinds.is_empty() && kinds.iter().all(is_local)
}

/// V19.
#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
pub(super) fn network_health(evidence: &Evidence) -> Finding {
    if is_all_local(evidence) {
        return Finding::does_not_apply("nothing went over a connection");
    }
    let shares = most(&evidence.clients, |client| {
        Some(client.tcp_retransmitted? as f64 / client.tcp_segments_out.filter(|sent| *sent > 0)? as f64)
    });
    if let Some(dropped) = nodes::dropped_connections(evidence) {
        return Finding::warn(1.0, 0.0, format!("{dropped}: clients wait seconds before they try again"));
    }
    let own = shares.as_ref().map_or(0.0, |own| own.0);
    // A machine counts all of its traffic: reason enough to look, and none to call a run false.
    let theirs = nodes::resent(evidence);
    if let Some((share, node)) = theirs.filter(|(share, _)| *share > own.max(0.001)) {
        let message = format!(
            "{} of the TCP segments that {node} sent were sent again: the network, not the store, may shape the tail",
            percent(share)
        );
        return Finding::warn(share, 0.001, message);
    }
    let dropped = nodes::dropped_packets(evidence).filter(|(share, _)| *share > 0.001 && own <= 0.001);
    if let Some((share, link)) = dropped {
        let lost = percent(share);
        let message = format!(
            "{lost} of the packets at {link} were dropped or damaged: the network, not the store, may shape the tail"
        );
        return Finding::warn(share, 0.001, message);
    }
    let Some((share, _)) = shares else {
        return Finding::unknown(if evidence.clients.is_empty() {
            format!("{NOT_RECORDED}: lost segments are not known")
        } else {
            "no TCP counters of the connections to the store: other traffic of the machine is not judged"
                .to_owned()
        });
    };
    let good = || format!("{} of the TCP segments to the store were sent again", percent(share));
    Finding::graded(share, 0.001, 0.01, good, || {
        format!(
            "{} of the TCP segments to the store were sent again: the network, not the store, shapes the tail",
            percent(share)
        )
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_had_little_to_do_and_waited_for_it_is_not_only_called_idle() {
        let facts = |busy, waited| {
            let one = ClientRecord {
                thread_busy_max: Some(busy),
                thread_busy_over_85_share: Some(0.0),
                run_queue_wait_share_max: waited,
                ..ClientRecord::default()
            };
            let clients = [one];
            let mean = most(&clients, |c| c.thread_busy_max).unwrap();
            let over = most(&clients, |c| c.thread_busy_over_85_share).unwrap();
            super::busy(&clients, mean, over)
        };
        let waited =
            "the busiest load thread was 2.4 % busy, and one waited for a processor for 0.87 % of the time";
        assert_eq!(facts(0.024, Some(0.0087)), waited);
        assert_eq!(facts(0.024, Some(0.0001)), "the busiest load thread was 2.4 % busy");
        assert_eq!(facts(0.024, None), "the busiest load thread was 2.4 % busy");
    }
}
