//! Which figures cells can have: those of a run, what its stages cost the store's machines, and those that a study alone makes.

use cosmark_metrics::nodes::costs::COSTS;
use cosmark_metrics::nodes::quantity::{CPU_BUSY, DISK_BUSY, Quantity};
use cosmark_metrics::results::METRICS;
use cosmark_metrics::{SLOT_FIGURES, SlotFigure};

/// Figures of how far apart successive requests of a disk lay, and the count that each is the share of; of a whole run,
/// since a disk does not know for which stage it works.
pub(crate) const DISTANCES: [(&str, &str); 2] =
    [("lbn_beyond_125000_share", "beyond_125000"), ("lbn_beyond_2500000_share", "far")];

/// Bins of the same distances, in blocks: the greatest power of two of each, and its name. 0 has requests that follow each other.
pub(crate) const BINS: [(u32, &str); 9] = [
    (0, "0"),
    (3, "below 8"),
    (6, "below 64"),
    (7, "below 128"),
    (8, "below 256"),
    (10, "below 1024"),
    (17, "below 131 072"),
    (21, "below 2 097 152"),
    (64, "more"),
];

/// The id of the share of a bin, which pictures of distances alone ask for.
pub(crate) fn bin_id(at: usize) -> String {
    format!("lbn_bin.{at}")
}

/// How unevenly a store serves, and its title: the 99 % over the median response time of the same operations.
pub(crate) const SPREAD: (&str, &str) = ("response_spread", "99 % over median response time");

/// Operations that were tried in a second, those that failed, too, and its title: what somebody counts who does not see failures.
pub(crate) const ATTEMPTS: (&str, &str) = ("attempts_per_s", "Operations tried (/s)");

/// How busy the store's machines were during a stage, 0 to 1: id, title and the quantity of a machine. Of processors those of
/// the busiest machine together, of disks the busiest one.
pub(crate) static BUSY: [(&str, &str, &Quantity); 2] = [
    ("server_cpu_share", "Busy share of processors, busiest machine", &CPU_BUSY),
    ("server_disk_share", "Share of time with requests, busiest disk", &DISK_BUSY),
];

/// What the store's machines can do without it, and the share of that which a cell got: known where `cosmark baseline` put an
/// entry for these machines into the study's archive. Id and title.
pub(crate) const RAW: [(&str, &str); 4] = [
    ("share_of_raw_disk", "Share of what the disks can do"),
    ("share_of_raw_network", "Share of what the network can do"),
    ("raw_disk_bytes_per_s", "What the disks can do (MB/s)"),
    ("raw_network_bytes_per_s", "What the network can do (MB/s)"),
];

/// Whether values are bytes per second, which people read as MB/s.
pub(crate) fn is_bandwidth(id: &str) -> bool {
    id.ends_with("bytes_per_s")
}

/// Figures of a search and their titles: the load that it found, the lowest one above that missed, the highest one that was
/// tried, how many trials it made.
pub(crate) const KNEE: [(&str, &str); 5] = [
    ("knee_per_s", "Rate at the knee (/s)"),
    ("knee_workers", "Workers at the knee"),
    ("knee_missed_at", "Load above the knee that missed"),
    ("knee_highest", "Highest load that was tried"),
    ("knee_trials", "Trials of the search"),
];

/// Figures of faults begin with this; the name of one in the slots of `run.json` follows, and ` of NAME` where a stage has
/// several faults.
const FAULT: &str = "fault.";

/// The figure of a slot that an id names, and the fault, where it names one.
pub(crate) fn fault_figure(id: &str) -> Option<(&'static SlotFigure, Option<&str>)> {
    let rest = id.strip_prefix(FAULT)?;
    let (figure, name) = rest.split_once(" of ").map_or((rest, None), |(figure, name)| (figure, Some(name)));
    let row = SLOT_FIGURES.iter().find(|row| row.figure == figure)?;
    (name != Some("")).then_some((row, name))
}

/// The id of a figure of a fault; without a name that of the only fault of a stage.
pub(crate) fn fault_id(figure: &str, fault: Option<&str>) -> String {
    fault.map_or_else(|| format!("{FAULT}{figure}"), |name| format!("{FAULT}{figure} of {name}"))
}

/// Title and unit of a figure that a study alone makes; `None` for others.
pub(crate) fn own_title(id: &str) -> Option<String> {
    let busy = BUSY.iter().map(|(name, title, _)| (*name, *title));
    let mut rows = [SPREAD, ATTEMPTS].into_iter().chain(RAW).chain(KNEE).chain(busy);
    if let Some((_, title)) = rows.find(|(name, _)| *name == id) {
        return Some(title.to_owned());
    }
    let (row, fault) = fault_figure(id)?;
    let of = fault.map(|name| format!(" of {name}")).unwrap_or_default();
    let unit =
        if ["share", "count"].contains(&row.unit) { String::new() } else { format!(" ({})", row.unit) };
    Some(format!("Fault{of}: {}{unit}", row.title))
}

/// Whether cells can have a figure of this id: one of a run's operations, of what its stages cost the store's machines, or
/// one that a study alone makes.
pub(crate) fn is_figure(id: &str) -> bool {
    METRICS.iter().chain(COSTS).any(|metric| metric.id == id)
        || DISTANCES.iter().any(|(name, _)| *name == id)
        || own_title(id).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_one_of_a_run_of_its_costs_or_of_a_study_alone() {
        for id in [
            "server_cpu_ms_per_op",
            SPREAD.0,
            ATTEMPTS.0,
            RAW[0].0,
            "throughput_per_s",
            "server_disk_share",
            "knee_per_s",
        ] {
            assert!(is_figure(id), "{id}");
        }
        for id in ["speed", "fault.", "fault.speed", "fault.depth of ", "depth", "knee"] {
            assert!(!is_figure(id), "{id}");
        }
        assert!(is_bandwidth("bandwidth_bytes_per_s") && is_bandwidth(RAW[2].0));
        assert!(!is_bandwidth("device_bytes_written_per_byte") && !is_bandwidth("throughput_per_s"));
    }

    #[test]
    fn a_figure_of_a_fault_says_of_which_one_it_is() {
        let named = fault_figure("fault.depth of node of rack 3").map(|(row, name)| (row.figure, name));
        assert_eq!(named, Some(("depth", Some("node of rack 3"))));
        for row in SLOT_FIGURES {
            for fault in [None, Some("node dies")] {
                let id = fault_id(row.figure, fault);
                assert!(is_figure(&id), "{id}");
                assert_eq!(
                    fault_figure(&id).map(|(row, name)| (row.figure, name)),
                    Some((row.figure, fault))
                );
            }
        }
        let title = own_title("fault.back_after_s of node dies");
        assert_eq!(title.as_deref(), Some("Fault of node dies: back after (s)"));
        assert_eq!(own_title("fault.depth").as_deref(), Some("Fault: depth"));
    }
}
