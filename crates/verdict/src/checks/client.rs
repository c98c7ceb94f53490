//! Checks on the client and its network: processor, pauses, links, clocks, drivers that differ, connections, TCP.

use cosmark_metrics::SATURATED_SHARE;

use crate::evidence::{ClientEvidence, Evidence};
use crate::finding::Finding;
use crate::numbers::{percent, plain};

const NOT_RECORDED: &str = "the client's machine was not watched during this run";

fn most(
    clients: &[ClientEvidence],
    value: impl Fn(&ClientEvidence) -> Option<f64>,
) -> Option<(f64, &ClientEvidence)> {
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
    let bound = "numbers are a lower bound of the store's speed; use more threads or drivers";
    if over.0 > 0.05 {
        let message = format!(
            "driver {} had a load thread over 85 % busy in {} of the seconds: {bound}",
            over.1.driver,
            percent(over.0)
        );
        return Finding::fail(over.0, 0.05, message);
    }
    let waits = most(clients, |c| c.run_queue_wait_share_max).filter(|(share, _)| *share > 0.05);
    // A thread that has to wait for a processor never shows as busy, however much it has to do.
    let wanted = most(clients, |c| Some(c.thread_busy_max? + c.run_queue_wait_share_max.unwrap_or(0.0)));
    let wanted =
        wanted.filter(|(share, _)| *share > SATURATED_SHARE && waits.is_none_or(|waits| waits.0 <= 0.25));
    if let Some((share, client)) = wanted {
        let message = format!(
            "a load thread of driver {} had work for {} of a processor, part of which it waited for: {bound}",
            client.driver,
            percent(share)
        );
        return Finding::fail(share, SATURATED_SHARE, message);
    }
    if let Some((share, client)) = waits {
        let message = format!(
            "load threads of driver {} were ready to run and had no processor for {} of the time: others use this \
             machine too, and latencies contain it",
            client.driver,
            percent(share)
        );
        return if share > 0.25 {
            Finding::fail(share, 0.25, message)
        } else {
            Finding::warn(share, 0.05, message)
        };
    }
    if mean.0 > 0.70 {
        let message = format!("driver {} had a load thread {} busy: {bound}", mean.1.driver, percent(mean.0));
        return Finding::warn(mean.0, 0.70, message);
    }
    if let Some((share, client)) = most(clients, |c| c.steal_share).filter(|(share, _)| *share > 0.01) {
        let message = format!(
            "the hypervisor took {} of the processor time of driver {}: latencies contain it",
            percent(share),
            client.driver
        );
        return Finding::warn(share, 0.01, message);
    }
    Finding::pass(mean.0, 0.70, format!("the busiest load thread was {} busy", percent(mean.0)))
}

/// V6.
pub(super) fn pauses(evidence: &Evidence) -> Finding {
    let suspended = most(&evidence.clients, |c| c.suspended_ms).filter(|(ms, _)| *ms > 0.0);
    if let Some((ms, client)) = suspended {
        let message = format!("the machine of driver {} was suspended for {} ms", client.driver, plain(ms));
        return Finding::fail(ms, 0.0, message);
    }
    let Some((pause, client)) = most(&evidence.clients, |c| c.pause_p99_9_ms) else {
        return Finding::unknown(format!("{NOT_RECORDED}: its own pauses are not known"));
    };
    let busiest = evidence.operations.iter().max_by_key(|op| op.ok);
    let Some(p99) = busiest.and_then(|op| op.service.p99.or(op.service.max)) else {
        return Finding::unknown("no operation succeeded, so there is no latency to compare pauses with");
    };
    let share = pause / p99.max(f64::MIN_POSITIVE);
    let longest = client.pause_max_ms.map(|ms| format!(" (longest {} ms)", plain(ms))).unwrap_or_default();
    let good = || {
        format!(
            "the client's own pauses stayed below {} ms in 99.9 % of the samples{longest}, p99 is {} ms",
            plain(pause),
            plain(p99)
        )
    };
    Finding::graded(share, 0.10, 0.50, good, || {
        format!(
            "the client's machine itself paused {} ms in 1 of 1000 samples{longest}: latencies below {} ms cannot be \
             trusted at p99 (reported {} ms); measure from a quieter machine",
            plain(pause),
            plain(10.0 * pause),
            plain(p99)
        )
    })
}

/// V7.
pub(super) fn network(evidence: &Evidence) -> Finding {
    let nics = evidence.clients.iter().flat_map(|client| client.nics.iter().map(move |nic| (client, nic)));
    let used = nics.filter_map(|(client, nic)| {
        let speed = nic.speed_bits_per_s.filter(|speed| *speed > 0.0)?;
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
    Finding::graded(share, 0.80, 0.92, good, || {
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

/// Drivers that were lost: the share of the window's load that is missing.
#[expect(clippy::cast_precision_loss, reason = "counts of workers fit 53 bits")]
fn gaps(evidence: &Evidence) -> Finding {
    let start_s = evidence.rampup_s.unwrap_or(0.0);
    let window_s = evidence.window_s.max(f64::MIN_POSITIVE);
    let all = (evidence.workers() as f64).max(1.0);
    let lost = |gap: &crate::evidence::GapEvidence| {
        let from_s = (gap.from_s - start_s).clamp(0.0, window_s);
        (window_s - from_s) / window_s * gap.workers as f64 / all
    };
    let share: f64 = evidence.missing.iter().map(lost).sum();
    let who: Vec<String> = evidence
        .missing
        .iter()
        .map(|gap| format!("driver {} from {} s on ({} workers)", gap.driver, plain(gap.from_s), gap.workers))
        .collect();
    let who = who.join(", ");
    let ended = || format!("{who} is missing, after the window");
    Finding::graded(share, 0.0, 0.05, ended, || {
        format!("{who} is missing: {} of the load of the window, and what it would have done", percent(share))
    })
}

/// One number of a driver.
type Figure = fn(&crate::evidence::DriverEvidence) -> Option<f64>;

/// V17. The worst factor between two drivers over all operations.
#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
pub(super) fn drivers_alike(evidence: &Evidence) -> Finding {
    if evidence.drivers < 2 {
        return Finding::does_not_apply(ONE_DRIVER);
    }
    let mut worst: Option<(f64, String)> = None;
    for op in evidence.operations.iter().filter(|op| op.drivers.len() > 1) {
        let figures: [(&str, Figure); 3] = [
            ("median", |driver| driver.response.p50),
            ("p99", |driver| driver.response.p99),
            ("rate per worker", |driver| {
                (driver.workers > 0).then(|| driver.rate_per_s / driver.workers as f64)
            }),
        ];
        for (what, figure) in figures {
            let all: Vec<_> = op
                .drivers
                .iter()
                .filter_map(|driver| figure(driver).map(|value| (value, &driver.driver)))
                .collect();
            let least = all.iter().min_by(|a, b| a.0.total_cmp(&b.0));
            let most = all.iter().max_by(|a, b| a.0.total_cmp(&b.0));
            let (Some(least), Some(most)) = (least, most) else { continue };
            let factor = if least.0 > 0.0 { most.0 / least.0 } else { f64::MAX };
            if worst.as_ref().is_none_or(|(most, _)| factor > *most) {
                let text = if least.0 > 0.0 {
                    let times = plain(factor);
                    format!(
                        "{what} of {} is {times} times as high on driver {} as on {}",
                        op.name, most.1, least.1
                    )
                } else {
                    format!("driver {} delivered nothing of {}, and driver {} did", least.1, op.name, most.1)
                };
                worst = Some((factor, text));
            }
        }
    }
    let Some((factor, what)) = worst else {
        return Finding::unknown("results by driver were not recorded");
    };
    Finding::graded(
        factor,
        1.25,
        2.0,
        || what.clone(),
        || format!("{what}: pooled percentiles mix two populations, read the drivers one by one"),
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
    if share > 0.01 {
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
    Finding::pass(
        share,
        0.01,
        format!("{opened} connections were opened for {requests} requests in the window"),
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
