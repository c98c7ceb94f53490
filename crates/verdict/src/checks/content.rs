//! Checks on what was asked of the store and what came back: missing objects, working set, wrong bytes, retries.

use super::nodes;
use crate::evidence::{ALL_WORKS, Evidence, Miss, OperationEvidence, WRONG_LISTING};
use crate::finding::{Finding, rank};
use crate::numbers::{bytes, grouped, percent, plain};

/// The class of answers that there is no such object or container.
const NOT_FOUND: &str = "http_404";

/// More finds nothing than this, and it is told; more than that, and the figures are no longer those of the store.
const MISSING_WARNS: f64 = 0.001;
const MISSING_FAILS: f64 = 0.01;
/// So many operations that were to find nothing and found their object are no chance.
const LEAST_EXPECTED: f64 = 10.0;

/// V13. What the store answered decides; what the workload alone tells is used where nothing was sent yet, and names causes.
pub(super) fn objects_exist(evidence: &Evidence) -> Finding {
    let kinds = &evidence.store.kinds;
    if !kinds.is_empty() && kinds.iter().all(|kind| matches!(kind.as_str(), "mock" | "none")) {
        return Finding::does_not_apply("the storage holds no objects and finds every one");
    }
    if evidence.operations.is_empty() {
        return match &evidence.misses {
            Some(misses) => misses_of(misses),
            None => Finding::unknown("the workload is not at hand, so what exists is not known"),
        };
    }
    if evidence.ended() == 0 {
        return Finding::unknown("nothing ended in the window, so whether objects were found is not known");
    }
    let asked: Vec<Asked<'_>> = evidence
        .operations
        .iter()
        .filter(|op| op.ended() > 0)
        .filter_map(|op| Asked::of(op, evidence.misses.as_deref().unwrap_or_default()))
        .collect();
    let found = asked.iter().map(Asked::finding);
    // What says most; among equals that of the greatest share.
    let is_worse = |next: &Finding, worst: &Finding| (rank(next), worst.value) < (rank(worst), next.value);
    let worst = found.reduce(|worst, next| if is_worse(&next, &worst) { next } else { worst });
    worst.unwrap_or_else(|| Finding::does_not_apply("nothing was asked for that had to be there"))
}

/// One operation that was made and needs what is there.
struct Asked<'a> {
    op: &'a OperationEvidence,
    /// Operations that were answered that there is no such thing; `None` where the classes of failures are not known.
    missing: Option<u64>,
    /// What the workload alone tells of it.
    expected: Option<&'a Miss>,
}

impl<'a> Asked<'a> {
    fn of(op: &'a OperationEvidence, misses: &'a [Miss]) -> Option<Self> {
        let classes_known = op.failed == 0 || !op.errors.is_empty();
        let missing = classes_known.then(|| op.errors.get(NOT_FOUND).copied().unwrap_or(0));
        let own = |miss: &&Miss| miss.operation == op.name && (miss.work == op.work || op.work == ALL_WORKS);
        let expected = misses.iter().find(own).filter(|miss| miss.share > MISSING_WARNS);
        // A write needs no object, but it needs its container.
        let needs = !op.kind.contains("write") && !op.kind.contains("delete");
        (needs || expected.is_some() || missing > Some(0)).then_some(Self { op, missing, expected })
    }

    #[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
    fn finding(&self) -> Finding {
        let Self { op, missing, expected } = self;
        let ended = op.ended() as f64;
        let failed = op.failed as f64 / ended;
        let why = expected.map_or_else(
            || "what is read was never written, or something took it away".to_owned(),
            |miss| miss.cause.clone(),
        );
        let share = match (missing, expected) {
            (Some(missing), _) => *missing as f64 / ended,
            // So many failed, and so many were to: what both say.
            (None, Some(miss)) => failed.min(miss.share),
            (None, None) => {
                return Finding::unknown(format!(
                    "{} of {} failed, and with what is not recorded",
                    percent(failed),
                    op.name
                ));
            }
        };
        if share > MISSING_WARNS {
            let answered = if missing.is_some() { " (http_404)" } else { "" };
            let message = format!("{} of {} find nothing{answered}: {why}", percent(share), op.name);
            return if share > MISSING_FAILS {
                Finding::fail(share, MISSING_FAILS, message)
            } else {
                Finding::warn(share, MISSING_WARNS, message)
            };
        }
        let Some(miss) = expected else {
            return Finding::pass(
                share,
                MISSING_WARNS,
                format!("all {} of {} found their object", grouped(op.ok), op.name),
            );
        };
        let says = format!("{} of {} were to find nothing: {why}", percent(miss.share), op.name);
        if miss.may_succeed {
            let message =
                format!("{says}; S3 calls that a success, Swift a 404, and neither deletes anything");
            return Finding::warn(miss.share, MISSING_WARNS, message);
        }
        if miss.is_unwritten || miss.share * ended < LEAST_EXPECTED {
            let message = format!(
                "all {} of {} found their object; by this workload alone {says}, so a run before it wrote them",
                grouped(op.ok),
                op.name
            );
            return Finding::pass(share, MISSING_WARNS, message);
        }
        let message =
            format!("{says}; all {} succeeded, so look whether the deletes deleted anything", grouped(op.ok));
        Finding::warn(miss.share, MISSING_WARNS, message)
    }
}

/// The same before a run.
#[must_use]
pub fn misses_of(misses: &[Miss]) -> Finding {
    const LIMIT: f64 = MISSING_WARNS;
    let worst = |wanted: fn(&Miss) -> bool| {
        let own = misses.iter().filter(|miss| wanted(miss) && miss.share > LIMIT);
        own.max_by(|a, b| a.share.total_cmp(&b.share))
    };
    let others = |first: &Miss| {
        let mut rest: Vec<&Miss> =
            misses.iter().filter(|miss| miss.share > LIMIT && *miss != first).collect();
        rest.sort_by(|a, b| b.share.total_cmp(&a.share));
        match rest.as_slice() {
            [] => String::new(),
            [miss] => format!("; likewise {} of {} ({})", percent(miss.share), miss.operation, miss.cause),
            [miss, more @ ..] => {
                format!(
                    "; likewise {} of {} and {} more operations",
                    percent(miss.share),
                    miss.operation,
                    more.len()
                )
            }
        }
    };
    let sentence =
        |miss: &Miss| format!("{} of {} find nothing: {}", percent(miss.share), miss.operation, miss.cause);
    if let Some(miss) = worst(|miss| !miss.may_succeed && !miss.is_unwritten) {
        let message =
            format!("{}; they fail with 404, or count as fast successes{}", sentence(miss), others(miss));
        return Finding::fail(miss.share, LIMIT, message);
    }
    if let Some(miss) = worst(|miss| !miss.may_succeed) {
        let message = format!(
            "{}; unless a run before this one wrote them, they fail with 404{}",
            sentence(miss),
            others(miss)
        );
        return Finding::warn(miss.share, LIMIT, message);
    }
    if let Some(miss) = worst(|miss| miss.may_succeed) {
        let message =
            format!("{}; S3 calls that a success, Swift a 404, and neither deletes anything", sentence(miss));
        return Finding::warn(miss.share, LIMIT, message);
    }
    Finding::pass(0.0, LIMIT, "every object that is read is written before")
}

/// Data that any machine keeps in memory.
const TINY_BYTES: f64 = 256e6;

/// V14.
pub(super) fn working_set(evidence: &Evidence) -> Finding {
    let store = &evidence.store;
    if store.cache_intended {
        return Finding::does_not_apply("the workload says that it measures a cache (sut_cache)");
    }
    let Some(read) = store.read_bytes else {
        return Finding::unknown("how much data the reads touch cannot be told from the workload");
    };
    if read <= 0.0 {
        return Finding::does_not_apply("no reads: nothing can come from a cache");
    }
    let copies = store.replicas.unwrap_or(1.0).max(1.0);
    let stated = store.ram_bytes.filter(|ram| *ram > 0.0);
    let Some(ram) = stated.or_else(|| nodes::memory_bytes(evidence)) else {
        if read < TINY_BYTES {
            let message = format!(
                "the {} that are read fit into the memory of any machine: this measures memory, not disks; use more data, or \
                 say sut_cache: intended",
                bytes(read)
            );
            return Finding::warn(read, TINY_BYTES, message);
        }
        return Finding::unknown(format!(
            "the store's memory is not known, so whether the {} that are read come from disks is not either: give sut_ram \
             in the storage or target",
            bytes(read)
        ));
    };
    // All copies may be read, each from its own server's memory.
    let ratio = read * copies / ram;
    let numbers = format!("{} are read, the store has {} of memory", bytes(read * copies), bytes(ram));
    // Whoever states the memory means to measure beyond it. To name the machines is no such statement: what comes from their
    // memory is then a limit of the result, and the result is still what it says.
    let below: fn(f64, f64, String) -> Finding = if stated.is_some() { Finding::fail } else { Finding::warn };
    if let Some(from_disks) = nodes::share_from_disks(evidence) {
        return reads_seen(&numbers, ratio, from_disks, below);
    }
    if ratio < 1.0 {
        let more = plain((5.0 / ratio).ceil());
        let message = format!("{numbers}: this measures memory, not disks; use {more} times the data");
        return below(ratio, 1.0, message);
    }
    if ratio < 5.0 {
        return Finding::warn(
            ratio,
            5.0,
            format!("{numbers}: about {} of the reads can come from it", percent((1.0 / ratio).min(1.0))),
        );
    }
    Finding::pass(ratio, 5.0, numbers)
}

/// V14 where the machines of the store were looked at: what came from disks is known.
fn reads_seen(numbers: &str, ratio: f64, from_disks: f64, below: fn(f64, f64, String) -> Finding) -> Finding {
    const MOSTLY: f64 = 0.5;
    let seen = format!("{numbers}; its disks delivered {} of the bytes that were read", percent(from_disks));
    if from_disks >= MOSTLY {
        return Finding::pass(from_disks, MOSTLY, seen);
    }
    if ratio < 1.0 {
        let more = plain((5.0 / ratio).ceil());
        return below(
            ratio,
            1.0,
            format!("{seen}: this measures memory, not disks; use {more} times the data"),
        );
    }
    Finding::warn(from_disks, MOSTLY, format!("{seen}: the rest came from a cache"))
}

/// The class of bodies that ended before their announced end.
const BROKEN_OFF: &str = "short_body";

/// V20.
#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
pub(super) fn integrity(evidence: &Evidence) -> Finding {
    let reads = || evidence.operations.iter().filter(|op| op.kind == "read");
    let wrong: u64 = evidence
        .operations
        .iter()
        .flat_map(|op| &op.errors)
        .filter(|(class, _)| is_wrong(class))
        .map(|(_, count)| count)
        .sum();
    // A store that is killed while it answers breaks off what it sends.
    let in_faults = evidence.in_faults.as_ref().and_then(|faults| faults.errors.get(BROKEN_OFF));
    let all_short: u64 = evidence.operations.iter().filter_map(|op| op.errors.get(BROKEN_OFF)).sum();
    let broken_off = in_faults.copied().unwrap_or(0).min(all_short);
    let wrong = wrong - broken_off;
    let all: u64 = reads().map(OperationEvidence::ended).sum();
    let listings = wrong_listings(evidence);
    if wrong > 0 {
        // Heads tell lengths, too.
        let others = evidence.operations.iter().filter(|op| op.kind != "read");
        let others = others.filter(|op| op.errors.keys().any(|class| is_wrong(class)));
        let beside: u64 = others.map(OperationEvidence::ended).sum();
        let (what, of) = if beside > 0 { ("answers", "operations") } else { ("bodies", "reads") };
        let asked = all.saturating_add(beside);
        let also = listings.map_or_else(String::new, |(_, also)| format!("; {also}"));
        let message = format!(
            "{} {what} were wrong or short, of {} {of}: speed does not matter until this is explained{also}",
            grouped(wrong),
            grouped(asked)
        );
        return Finding::fail(wrong as f64, 0.0, message);
    }
    if let Some((count, what)) = listings {
        let message = format!(
            "{what}: speed does not matter until this is explained; set settle where the store lists late by its promise, and look \
             who else deletes there"
        );
        return Finding::fail(count as f64, 0.0, message);
    }
    if let Some(finding) = of_another_length(evidence) {
        return finding;
    }
    let made_of = match evidence.store.writes_zeros {
        Some(true) => {
            let message = "zeros were written (content: zero): a store that compresses or deduplicates stores hardly any of \
                           it, so these rates hold for zeros only; use content: random";
            return Finding::warn(1.0, 0.0, message);
        }
        Some(false) => "; what was written cannot be compressed, and no 4 KiB block of it occurs twice",
        None => "",
    };
    what_was_right(evidence, made_of, broken_off)
}

/// V20 where nothing was wrong: what of it was looked at.
fn what_was_right(evidence: &Evidence, made_of: &str, broken_off: u64) -> Finding {
    let reads = || evidence.operations.iter().filter(|op| op.kind == "read");
    let all: u64 = reads().map(OperationEvidence::ended).sum();
    let held = listings_held(evidence);
    if all == 0 {
        return match held {
            Some(held) => Finding::pass(0.0, 0.0, format!("{held}{made_of}")),
            None if evidence.operations.iter().any(|op| op.kind == "list" && op.ok > 0) => {
                Finding::does_not_apply(format!(
                    "nothing was read, and no listing was held against what must be in it: that takes a prepare stage of this \
                     workload for all containers that are listed, and with Swift a settle{made_of}"
                ))
            }
            None => Finding::does_not_apply(format!("nothing was read{made_of}")),
        };
    }
    let held = held.map_or_else(String::new, |held| format!("; {held}"));
    let beside = match broken_off {
        0 => String::new(),
        some => format!("; {} bodies broke off in the slots of faults that were made", grouped(some)),
    };
    let checked: u64 = reads().filter_map(|op| op.checked).sum();
    if checked == 0 {
        let lengths = if reads().all(|op| op.ok == 0 || op.sizes.is_some()) {
            "reads are as long as what was written"
        } else {
            "bodies were as long as announced"
        };
        return Finding::unknown(format!(
            "{lengths}, but no byte was compared: set verify: true on reads of what Cosmark wrote{made_of}{beside}{held}"
        ));
    }
    // Bytes of an older write are right, too; a store that keeps its word is another check's affair.
    let whichever = if evidence.durability.iter().any(|one| one.read > 0) {
        ""
    } else {
        "; whether of the last write of their object is not known (check: durability)"
    };
    Finding::pass(
        0.0,
        0.0,
        format!(
            "{} of {} reads were compared byte by byte, all right{whichever}{made_of}{beside}{held}",
            grouped(checked),
            grouped(all)
        ),
    )
}

/// How many listings were held against what must be in them, and had all of it.
fn listings_held(evidence: &Evidence) -> Option<String> {
    let lists = || evidence.operations.iter().filter(|op| op.kind == "list");
    let held: u64 = lists().filter_map(|op| op.checked).sum();
    let all: u64 = lists().map(OperationEvidence::ended).sum();
    let words =
        || format!("{} of {} listings had every name that must be in them", grouped(held), grouped(all));
    (held > 0).then(words)
}

/// How many listings lacked names or repeated them, and what that was, with one of them.
fn wrong_listings(evidence: &Evidence) -> Option<(u64, String)> {
    let of = |op: &OperationEvidence| op.errors.get(WRONG_LISTING).copied().unwrap_or(0);
    let count: u64 = evidence.operations.iter().map(of).sum();
    let listing = || evidence.operations.iter().filter(|op| of(op) > 0);
    let all: u64 = listing().map(OperationEvidence::ended).sum();
    let example = listing().find_map(|op| op.wrong_listing.as_ref());
    let example = example.map_or_else(String::new, |what| format!(" ({what})"));
    (count > 0).then(|| {
        let what = "lacked names that must be in them or had some twice";
        (count, format!("{} of {} listings {what}{example}", grouped(count), grouped(all)))
    })
}

/// Reads that bring objects of a size that nobody wrote: an error page or a proxy answers in the place of the store.
#[expect(clippy::cast_precision_loss, reason = "sizes and counts fit 53 bits")]
fn of_another_length(evidence: &Evidence) -> Option<Finding> {
    const TOLERANCE: f64 = 0.01;
    evidence.operations.iter().find_map(|op| {
        let (least, most) = op.sizes.filter(|_| op.kind == "read" && op.ok > 0)?;
        let mean = op.bytes as f64 / op.ok as f64;
        let (least, most) = (least as f64, most as f64);
        let off = (least - mean).max(mean - most) / most.max(1.0);
        let written = if least < most {
            format!("{} to {}", bytes(least), bytes(most))
        } else {
            bytes(most)
        };
        (off > TOLERANCE).then(|| {
            let message = format!(
                "{} brought {} per object, but what was written there has {written}: these are not its objects; something \
                 else answers (a web server, a proxy, an error page with status 200): check the endpoint",
                op.name,
                bytes(mean)
            );
            Finding::fail(off, TOLERANCE, message)
        })
    })
}

fn is_wrong(class: &str) -> bool {
    matches!(class, "corrupt_body" | "short_body" | "wrong_range" | "wrong_length")
}

/// V26.
#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
pub(super) fn durability(evidence: &Evidence) -> Finding {
    let all = &evidence.durability;
    if let Some(broken) = all.iter().find(|one| one.broken > 0) {
        let message = format!(
            "of {} objects that were read back {}: what this store acknowledges cannot be relied on",
            grouped(broken.read),
            broken.words
        );
        return Finding::fail(broken.broken as f64, 0.0, message);
    }
    let Some(last) = all.iter().rfind(|one| one.read > 0) else {
        return match all.last() {
            Some(_) => Finding::unknown("what was acknowledged was to be read back and was not"),
            None if written(evidence).next().is_none() => Finding::does_not_apply(
                "what was acknowledged was not read back (check: durability, verify-data)",
            ),
            None if evidence.reads_back => Finding::unknown(
                "what was acknowledged is read back when the load is over and has not been so far: if the run has ended, use \
                 verify-data",
            ),
            None if written(evidence).all(|op| op.is_compared) => Finding::does_not_apply(
                "what was written was read and compared, and not read back as a whole (check: durability, verify-data)",
            ),
            None => Finding::unknown(
                "writes were acknowledged and not read back, so whether the store has what it was given is not known: set check: \
                 durability, or use verify-data",
            ),
        };
    };
    let (read, of) = (last.read, last.objects);
    if last.open > 0 {
        let message = format!(
            "of {} objects that were read back {} were late, undecided or could not be read",
            grouped(read),
            grouped(last.open)
        );
        return Finding::warn(last.open as f64, 0.0, message);
    }
    if read < of {
        let message = format!(
            "{} of {} objects were read back, all as acknowledged; the others were not read",
            grouped(read),
            grouped(of)
        );
        return Finding::warn(0.0, 0.0, message);
    }
    Finding::pass(0.0, 0.0, format!("all {} objects were read back as acknowledged", grouped(read)))
}

/// What gave a store objects in the window that it acknowledged.
fn written(evidence: &Evidence) -> impl Iterator<Item = &OperationEvidence> {
    let kinds = &evidence.store.kinds;
    let pretends = !kinds.is_empty() && kinds.iter().all(|kind| matches!(kind.as_str(), "mock" | "none"));
    let all = evidence.operations.iter().filter(move |op| !pretends && op.ok > 0);
    all.filter(|op| op.kind == "copy" || (op.kind.contains("write") && op.kind != "localwrite"))
}

/// V21.
#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
pub(super) fn hidden_retries(evidence: &Evidence) -> Finding {
    let sum = |field: fn(&crate::evidence::OperationEvidence) -> u64| {
        evidence.operations.iter().map(field).sum::<u64>()
    };
    let (requests, retries) = (sum(|op| op.requests), sum(|op| op.retries));
    if requests == 0 {
        return Finding::unknown("requests on the wire were not counted");
    }
    let share = retries as f64 / requests as f64;
    Finding::graded(
        share,
        0.0,
        0.01,
        || format!("no retry among {} requests", grouped(requests)),
        || {
            format!(
                "{} of {} requests were retries inside operations: an error is hidden in each of these times",
                grouped(retries),
                grouped(requests)
            )
        },
    )
}
