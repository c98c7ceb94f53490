//! A link of the client that says no speed, as virtual ones: that it was full is never seen, and may be why throughput is level.

use cosmark_archive::{ClientRecord, StageRecord};
use cosmark_capacity::ladder::Ladder;
use cosmark_metrics::NicRecord;
use cosmark_workload::units::rounded_speed;

/// Slower links than this, bytes per second, are made by nobody but who knows of them.
const LEAST_BYTES_PER_S: f64 = 1e6;
const LOOPBACK: &str = "lo";

/// Of the clients at the highest load, those whose busiest link says no speed; `None` where it does, or where hardly anything went
/// over it.
pub(super) fn unknown(ladder: &Ladder, stages: &[&StageRecord]) -> Option<String> {
    let high = stages.get(*ladder.order().last()?)?;
    let links: Vec<String> = high.clients.iter().filter_map(busiest).collect();
    let first = links.first()?;
    let more = if links.len() > 1 { format!(" (and {} more)", links.len() - 1) } else { String::new() };
    Some(format!(
        "{first}{more} tells no speed: whether it was full, and not the store, is not known; compare that with what it should do, or \
         measure with a driver on another machine"
    ))
}

/// `the client's link eth0 (5.1 MB/s at most)`.
fn busiest(client: &ClientRecord) -> Option<String> {
    let moved = |one: &NicRecord| one.rx_bytes_per_s_max.max(one.tx_bytes_per_s_max);
    let busiest = client.nics.iter().max_by(|a, b| moved(a).total_cmp(&moved(b)))?;
    let is_unknown = busiest.speed_bits_per_s.is_none() && busiest.name != LOOPBACK;
    (is_unknown && moved(busiest) >= LEAST_BYTES_PER_S)
        .then(|| format!("the client's link {} ({} at most)", busiest.name, rounded_speed(moved(busiest))))
}
