//! Reading back, as `cosmark run` and `cosmark verify-data` do it: from the ledger of a run to its record, its table, and a
//! progress with which one that was killed goes on.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::time::{Duration, Instant};

use cosmark_archive::{DurabilityFinding, DurabilityRecord, Ledger, LedgerEntries, ReadBackFiles, Timestamp};
use cosmark_controller::{Observer, ReadsBack, StopLevel};
use cosmark_driver::readback::{Finding, Manner, Numbered, ReadBack, ReadBackListener, Standing};
use cosmark_ledger::{Class, Site, Space};
use cosmark_stats::bootstrap::Random;
use cosmark_workload::Workload;
use cosmark_workload::model::TargetSpec;

use serde_json::{Value, json};
use tokio::sync::watch;

use crate::exit::Problem;
use crate::registry::CATALOG;
use crate::units::grouped;

/// Findings that stand in the record itself.
const MOST_EXAMPLES: usize = 20;
/// How often it is kept how far it has come.
const KEEP_EVERY: Duration = Duration::from_secs(1);
/// How often a line says so.
const TELL_EVERY: Duration = Duration::from_secs(5);
/// How often is looked whether it is to end.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Of the bound of the share that is broken.
const CONFIDENCE: f64 = 0.95;

/// What is read back, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct Wish {
    /// How.
    pub manner: Manner,
    /// So many objects, drawn at random; `None` = all.
    pub sample: Option<u64>,
    /// Which are drawn.
    pub seed: u64,
    /// Go on with the newest one that was not ended.
    pub resume: bool,
}

impl Wish {
    /// As a run does it.
    #[must_use]
    pub fn of_a_run(workload: &Workload) -> Self {
        let manner = Manner {
            workers: 16,
            rate_per_s: None,
            settle: workload.settle.unwrap_or(Duration::from_secs(10)),
            listings: true,
            in_doubt: false,
            removed: false,
        };
        Self { manner, sample: None, seed: workload.seed.unwrap_or(0), resume: false }
    }

    /// What has to be the same where a reading goes on; `through`: types of the storages.
    fn settings(&self, through: &[String]) -> Value {
        json!({
            "sample": self.sample,
            "seed": self.seed,
            "listings": self.manner.listings,
            "through": through,
        })
    }
}

/// Objects of a ledger with their numbers in it, all or some of them, the same ones every time.
struct Drawn {
    entries: LedgerEntries,
    next: u64,
    left: u64,
    /// Still to be drawn, and by which numbers.
    wanted: Option<(u64, Random)>,
    from: u64,
    /// The ledger could not be read on.
    is_unreadable: bool,
}

impl Iterator for Drawn {
    type Item = Result<Numbered, String>;

    /// Selection sampling: Knuth, The Art of Computer Programming, volume 2, 3.4.2, algorithm S.
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (key, entry) = match self.entries.next()? {
                Ok(next) => next,
                Err(error) => {
                    self.is_unreadable = true;
                    return Some(Err(error.to_string()));
                }
            };
            let number = self.next;
            self.next += 1;
            let left = self.left;
            self.left = self.left.saturating_sub(1);
            if let Some((wanted, random)) = &mut self.wanted {
                // The remainder of 128 bits is even to one part in 2^64.
                let drawn = (u128::from(random.next_u64()) * u128::from(left.max(1))) >> 64;
                if drawn >= u128::from(*wanted) {
                    continue;
                }
                *wanted -= 1;
            }
            if number >= self.from {
                return Some(Ok((number, key, entry)));
            }
        }
    }
}

/// Tells and keeps.
struct Files<'a> {
    files: ReadBackFiles,
    record: DurabilityRecord,
    settings: Value,
    tell: &'a mut dyn FnMut(&str),
    is_over: &'a dyn Fn() -> bool,
    began: Instant,
    at_begin: u64,
    stored: Option<Instant>,
    last_line: Instant,
    to_read: u64,
    /// What was found could not be written down.
    is_unwritten: bool,
}

impl Files<'_> {
    fn keep(&mut self, standing: &Standing) -> Result<(), String> {
        fill(&mut self.record, standing);
        let value = serde_json::to_value(standing).map_err(|error| error.to_string())?;
        let done = self.files.keep(&self.settings, &value, &self.record);
        self.written(done)?;
        self.stored = Some(Instant::now());
        Ok(())
    }

    fn written(&mut self, done: Result<(), cosmark_archive::ArchiveError>) -> Result<(), String> {
        self.is_unwritten |= done.is_err();
        done.map_err(|error| error.to_string())
    }

    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "for people"
    )]
    fn line(&self, standing: &Standing) -> String {
        let read = standing.decided();
        let rate = read.saturating_sub(self.at_begin) as f64 / self.began.elapsed().as_secs_f64().max(0.001);
        let left = self.to_read.saturating_sub(read) as f64 / rate.max(0.001);
        let broken = match standing.broken() {
            0 => String::new(),
            broken => format!(", {} broken", grouped(broken)),
        };
        format!(
            "reading back: {} of {} objects{broken}, {} objects/s, about {} s left",
            grouped(read),
            grouped(self.to_read),
            grouped(rate as u64),
            grouped(left as u64)
        )
    }
}

impl ReadBackListener for Files<'_> {
    fn found(&mut self, finding: &Finding) -> Result<(), String> {
        let Finding { container, object, class, detail } = finding.clone();
        let finding = DurabilityFinding { class: class.word().to_owned(), container, object, detail };
        if class.is_broken() && self.record.examples.len() < MOST_EXAMPLES {
            self.record.examples.push(finding.clone());
        }
        let done = self.files.add(&finding);
        self.written(done)
    }

    fn reached(&mut self, standing: &Standing) -> Result<bool, String> {
        let over = (self.is_over)();
        if over || self.stored.is_none_or(|at| at.elapsed() >= KEEP_EVERY) {
            self.keep(standing)?;
        }
        if self.last_line.elapsed() >= TELL_EVERY {
            self.last_line = Instant::now();
            let line = self.line(standing);
            (self.tell)(&line);
        }
        Ok(!over)
    }
}

/// The counts of a reading in its record.
pub fn fill(record: &mut DurabilityRecord, standing: &Standing) {
    let count = |class| standing.count(class);
    record.bytes = standing.bytes;
    record.right = count(Class::Right);
    record.lost = count(Class::Lost);
    record.corrupt = count(Class::Corrupt);
    record.stale = count(Class::Stale);
    record.resurrected = count(Class::Resurrected);
    record.listed_not_there = count(Class::ListedNotThere);
    record.there_not_listed = count(Class::ThereNotListed);
    record.late = count(Class::Late);
    record.unanswered_done = count(Class::UnansweredDone);
    record.unanswered_not_done = count(Class::UnansweredNotDone);
    record.undecided = count(Class::Undecided);
    record.unreadable = count(Class::Unreadable);
    record.listed_containers = standing.listed_containers;
    record.unlisted_containers = standing.unlisted_containers;
    record.unlisted_why.clone_from(&standing.unlisted_why);
    record.listed_twice = standing.listed_twice;
    record.others = standing.others;
}

/// What a reading that is over proves of all objects. The first ones of a sample, or of all, are not drawn from all of
/// them: only a whole sample says something. What could not be decided or read may be broken.
pub fn bound(record: &mut DurabilityRecord) {
    let read = record.read();
    let broken = (record.broken() + record.undecided + record.unreadable).min(read);
    let is_drawn = record.complete && record.sample.is_some() && read > 0 && read < record.objects;
    record.broken_share_below =
        is_drawn.then(|| cosmark_stats::proportions::clopper_pearson(broken, read, 2.0 * CONFIDENCE - 1.0).1);
}

/// Stores and logins that a ledger is about.
fn targets(
    workload: &Workload,
    spaces: &[Space],
) -> Result<BTreeMap<Site, (TargetSpec, TargetSpec)>, Problem> {
    let of = |site: Site| {
        let work = workload.stages.get(site.stage).and_then(|stage| stage.works.get(site.work));
        let work = work.ok_or_else(|| {
            Problem::usage(
                "the workload of the run is not the one that its ledger is about: restore both from one copy",
            )
        })?;
        Ok((site, (work.auth.clone(), work.storage.clone())))
    };
    spaces.iter().map(|space| of(space.site)).collect()
}

/// The ledger of the run in `run`, and how many objects it has. `in_doubt`: changes are missing in it.
fn ledger_of(run: &Path, in_doubt: bool) -> Result<(Ledger, u64), Problem> {
    let ledger = Ledger::open(run)?.ok_or_else(|| {
        Problem::usage(
            "the run kept no ledger, so nobody knows what was acknowledged: run it with --ledger or `check: durability`",
        )
    })?;
    match ledger.count()? {
        0 => Err(Problem::usage(why_empty(in_doubt))),
        objects => Ok((ledger, objects)),
    }
}

/// A run that was killed early may have written much, of which nothing has reached its ledger.
fn why_empty(in_doubt: bool) -> &'static str {
    if in_doubt {
        "the ledger is empty: the run ended before any change reached it, so nobody knows what was acknowledged"
    } else {
        "the ledger is empty: nothing was written or deleted"
    }
}

/// Reads back what stands in the ledger of the run in `run`. `workload` has its secrets.
///
/// # Errors
/// One sentence, with whose trouble it is: no ledger, a store that cannot be reached, files that cannot be read or written.
pub async fn read_back(
    run: &Path,
    workload: &Workload,
    wish: &Wish,
    tell: &mut dyn FnMut(&str),
    is_over: &dyn Fn() -> bool,
) -> Result<DurabilityRecord, Problem> {
    let (ledger, objects) = ledger_of(run, wish.manner.in_doubt)?;
    let targets = targets(workload, &ledger.head.spaces)?;
    let sample = wish.sample.filter(|sample| *sample < objects);
    let mut through: Vec<String> = targets.values().map(|(_, storage)| storage.kind.clone()).collect();
    through.sort();
    through.dedup();
    let settings = wish.settings(&through);
    let (files, mut standing, earlier) = open_files(run, wish.resume, &settings)?;
    let record = DurabilityRecord {
        started: earlier.as_ref().and_then(|record| record.started).or(Some(Timestamp::now())),
        through,
        ledger_complete: !wish.manner.in_doubt && !wish.manner.removed,
        objects,
        sample,
        findings: Some(files.table_name()),
        examples: earlier.map(|record| record.examples).unwrap_or_default(),
        ..DurabilityRecord::default()
    };
    let mut drawn = Drawn {
        entries: ledger.entries()?,
        next: 0,
        left: objects,
        wanted: sample.map(|sample| (sample, Random::new(wish.seed))),
        from: standing.container_from,
        is_unreadable: false,
    };
    let mut listener = Files {
        files,
        record,
        settings,
        tell,
        is_over,
        began: Instant::now(),
        at_begin: standing.decided(),
        stored: None,
        last_line: Instant::now(),
        to_read: sample.unwrap_or(objects),
        is_unwritten: false,
    };
    let manner = Manner { listings: wish.manner.listings && sample.is_none(), ..wish.manner.clone() };
    let what = ReadBack { catalog: CATALOG, targets, spaces: &ledger.head.spaces, manner };
    let read = what.run_until(&mut drawn, &mut standing, &mut listener, until(is_over)).await;
    let is_internal = drawn.is_unreadable || listener.is_unwritten;
    let came_to_the_end =
        read.map_err(|why| if is_internal { Problem::ours(why) } else { Problem::target(why) })?;
    listener.keep(&standing).map_err(Problem::ours)?;
    let Files { files, mut record, .. } = listener;
    record.ended = Some(Timestamp::now());
    record.complete = came_to_the_end;
    bound(&mut record);
    if files.is_full() {
        record.note = Some("the table has no room for all that was found; all of it is counted".to_owned());
    }
    if came_to_the_end {
        files.end()?;
    } else {
        record.note = Some("ended before all was read; --resume goes on".to_owned());
    }
    Ok(record)
}

/// Ends when this is so.
pub async fn until(is_over: &dyn Fn() -> bool) {
    while !is_over() {
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

fn open_files(
    run: &Path,
    resume: bool,
    settings: &Value,
) -> Result<(ReadBackFiles, Standing, Option<DurabilityRecord>), Problem> {
    if !resume {
        return Ok((ReadBackFiles::begin(run)?, Standing::default(), None));
    }
    let Some((files, progress)) = ReadBackFiles::go_on(run)? else {
        return Err(Problem::usage("there is no interrupted reading to continue: begin without --resume"));
    };
    if progress.settings != *settings {
        return Err(Problem::usage(format!(
            "the interrupted reading had other settings: give the same --sample, --seed and --no-listings, and \
             a --target of the same type ({}), or begin anew without --resume",
            progress.settings
        )));
    }
    let standing = serde_json::from_value(progress.standing).map_err(|error| {
        Problem::usage(format!(
            "the state of the interrupted reading cannot be read: {error}; begin anew without --resume"
        ))
    })?;
    Ok((files, standing, Some(progress.record)))
}

/// How it came out, line by line.
#[must_use]
pub fn text(record: &DurabilityRecord) -> Vec<String> {
    let what = match record.broken() {
        0 if record.read() == 0 => "nothing was read back".to_owned(),
        0 if record.late + record.undecided + record.unreadable == 0 && record.read() < record.objects => {
            "of what was read back everything that was acknowledged is there".to_owned()
        }
        // All were deleted, as after a `cleanup`, or were empty: no word of data that are there.
        0 if record.late + record.undecided + record.unreadable == 0 && record.bytes == 0 => {
            "everything is as acknowledged: deleted or empty, not one byte had to be there".to_owned()
        }
        0 if record.late + record.undecided + record.unreadable == 0 => {
            "everything that was acknowledged is there".to_owned()
        }
        0 => "nothing that was acknowledged is known to be lost".to_owned(),
        _ => format!("BROKEN: {}", record.broken_words()),
    };
    let read = if record.read() == record.objects {
        format!("all {} objects", grouped(record.objects))
    } else {
        format!("{} of {} objects", grouped(record.read()), grouped(record.objects))
    };
    let by = format!(" ({read} read back through {})", record.through.join(", "));
    let mut lines = vec![format!("durability: {what}{}", if record.read() == 0 { "" } else { by.as_str() })];
    lines.extend(counted(record));
    if record.stale > 0 {
        lines.push(
            "  stale: an older copy answered. Where a node was away the others may hold the newer one and still bring it \
             over: `cosmark verify-data` reads back again, once the store calls itself whole"
                .to_owned(),
        );
    }
    lines.extend(doubts(record).into_iter().map(str::to_owned));
    if let Some(share) = record.broken_share_below {
        lines.push(format!(
            "  by these, with 95 % confidence less than {} of all {} objects are broken",
            share_text(share),
            grouped(record.objects)
        ));
    }
    let examples = record.examples.iter().take(5);
    lines.extend(
        examples.map(|one| format!("  {}: {}/{}: {}", one.class, one.container, one.object, one.detail)),
    );
    if record.broken() > 5
        && let Some(findings) = &record.findings
    {
        lines.push(format!("  all of them: {findings} in the archive"));
    }
    lines.extend(record.note.iter().map(|note| format!("  {note}")));
    lines
}

/// What is neither right nor broken, a line for each that there is.
fn counted(record: &DurabilityRecord) -> Vec<String> {
    let why = record.unlisted_why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    let unlisted = ["container", "containers"].map(|word| format!("{word} could not be listed{why}"));
    let [unlisted_one, unlisted_many] = unlisted.each_ref().map(String::as_str);
    // Of one, and of several.
    let others = [
        (
            record.late,
            "was late: something else at first, right at a second look",
            "were late: something else at first, right at a second look",
        ),
        (
            record.unanswered_done,
            "change without an answer had taken effect",
            "changes without an answer had taken effect",
        ),
        (
            record.unanswered_not_done,
            "change without an answer had not taken effect",
            "changes without an answer had not taken effect",
        ),
        (
            record.undecided,
            "is undecided: changes are missing in the ledger",
            "are undecided: changes are missing in the ledger",
        ),
        (record.unreadable, "could not be read", "could not be read"),
        (record.listed_twice, "name was listed more than once", "names were listed more than once"),
        (record.unlisted_containers, unlisted_one, unlisted_many),
    ];
    let there = others.iter().filter(|(count, ..)| *count > 0);
    let line = |(count, one, many): &(u64, &str, &str)| {
        format!("  {} {}", grouped(*count), if *count == 1 { one } else { many })
    };
    there.map(line).collect()
}

/// What else than a broken promise a picture of findings may come from.
fn doubts(record: &DurabilityRecord) -> Vec<&'static str> {
    let mut doubts = Vec::new();
    let others = record.corrupt + record.stale + record.resurrected + record.there_not_listed + record.late;
    if record.lost > 0 && record.bytes == 0 && others == 0 {
        doubts.push(
            "  not one byte came back: see first that this is the store, the account and the container that the run wrote to, \
             and that nobody has removed the container",
        );
    }
    if record.listed_not_there + record.there_not_listed > 0 {
        doubts.push(
            "  listings: a store that promises them only eventually (Swift) may be behind by minutes: `cosmark verify-data` \
             compares them again, and `--settle 2m` gives them longer",
        );
    }
    if record.sample.is_some() && record.read() > 0 {
        doubts.push("  a sample is compared with no listings, so nothing is known of ghosts");
    }
    doubts
}

/// A small share as people say it.
fn share_text(share: f64) -> String {
    if share >= 0.001 {
        format!("{:.2} %", share * 100.0)
    } else {
        format!("1 in {}", grouped_inverse(share))
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "for people")]
fn grouped_inverse(share: f64) -> String {
    grouped((1.0 / share.max(1e-18)) as u64)
}

/// Reads back within a run.
pub struct WithinRun {
    /// With its secrets.
    pub workload: Workload,
    /// How.
    pub wish: Wish,
}

impl ReadsBack for WithinRun {
    fn read_back<'a>(
        &'a mut self,
        run: &'a Path,
        in_doubt: bool,
        stop: watch::Receiver<StopLevel>,
        observer: &'a mut dyn Observer,
    ) -> Pin<Box<dyn Future<Output = Result<DurabilityRecord, String>> + 'a>> {
        self.wish.manner.in_doubt = in_doubt;
        Box::pin(async move {
            observer.note("reading back what was acknowledged");
            let mut tell = |text: &str| observer.note(text);
            let is_over = || *stop.borrow() != StopLevel::Run;
            let read = read_back(run, &self.workload, &self.wish, &mut tell, &is_over).await;
            read.map_err(|problem| problem.to_string())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_that_is_none_is_named_with_its_reason_and_names_that_came_twice_are_counted() {
        let record = DurabilityRecord { objects: 9, right: 9, ..DurabilityRecord::default() };
        let plain = text(&record).join("\n");
        assert!(!plain.contains("listed"), "{plain}");
        assert_eq!(text(&DurabilityRecord::default())[0], "durability: nothing was read back");
        let unlisted_why = Some("the listing repeats itself".to_owned());
        let found =
            text(&DurabilityRecord { unlisted_containers: 1, unlisted_why, listed_twice: 3, ..record });
        let found = found.join("\n");
        assert!(found.contains("  1 container could not be listed: the listing repeats itself"), "{found}");
        assert!(found.contains("  3 names were listed more than once"), "{found}");
    }

    #[test]
    fn what_stale_means_is_said_where_something_is_and_nowhere_else() {
        let of = |stale, lost| {
            let right = 9 - stale - lost;
            text(&DurabilityRecord { objects: 9, right, stale, lost, ..DurabilityRecord::default() })
                .join("\n")
        };
        assert!(
            of(1, 0).contains("BROKEN: 1 stale") && of(1, 0).contains("an older copy answered"),
            "{}",
            of(1, 0)
        );
        assert!(of(1, 2).contains("an older copy answered"), "{}", of(1, 2));
        assert!(!of(0, 2).contains("older copy"), "{}", of(0, 2));
        assert!(!of(0, 0).contains("older copy"), "{}", of(0, 0));
    }

    #[test]
    fn a_sample_bounds_what_is_broken_only_when_it_was_read_to_its_end() {
        let of = |objects, sample, counts: &[(Class, u64)], complete| {
            let mut standing = Standing::default();
            standing.counts.extend(counts.iter().copied());
            let mut record = DurabilityRecord { objects, sample, complete, ..DurabilityRecord::default() };
            fill(&mut record, &standing);
            bound(&mut record);
            record
        };
        let whole = of(1_000_000, Some(3000), &[(Class::Right, 3000)], true);
        // The rule of three.
        let share = whole.broken_share_below.unwrap();
        assert!((share - 3.0 / 3000.0).abs() < 2e-5, "{share}");
        assert!(text(&whole).join("\n").contains("of what was read back everything"), "{:?}", text(&whole));
        // The first ones of a sample, and of all objects, are none.
        assert_eq!(of(1_000_000, Some(3000), &[(Class::Right, 2999)], false).broken_share_below, None);
        assert_eq!(of(1_000_000, None, &[(Class::Right, 3000)], false).broken_share_below, None);
        assert_eq!(of(3000, None, &[(Class::Right, 3000)], true).broken_share_below, None);
        // What could not be read may be broken.
        for class in [Class::Unreadable, Class::Undecided, Class::Lost] {
            let some = of(1_000_000, Some(3000), &[(Class::Right, 2990), (class, 10)], true);
            assert!(some.broken_share_below.unwrap() > 10.0 / 3000.0, "{class:?}");
        }
    }

    #[test]
    fn an_empty_ledger_of_a_cut_run_is_no_word_of_what_was_written() {
        assert!(why_empty(false).contains("nothing was written"), "{}", why_empty(false));
        assert!(!why_empty(true).contains("nothing was written"), "{}", why_empty(true));
        assert!(why_empty(true).contains("nobody knows"), "{}", why_empty(true));
    }

    #[test]
    fn a_store_that_gives_not_one_byte_may_be_another_one_and_listings_may_be_behind() {
        let said = |record: DurabilityRecord| text(&record).join("\n");
        let base = DurabilityRecord { objects: 9, ..DurabilityRecord::default() };
        let all_gone = said(DurabilityRecord { lost: 7, right: 2, ..base.clone() });
        assert!(
            all_gone.contains("BROKEN: 7 lost") && all_gone.contains("not one byte came back"),
            "{all_gone}"
        );
        let some = said(DurabilityRecord { lost: 1, right: 8, bytes: 800, ..base.clone() });
        assert!(!some.contains("not one byte"), "{some}");
        let ghosts = said(DurabilityRecord { there_not_listed: 1, right: 8, bytes: 900, ..base.clone() });
        assert!(ghosts.contains("behind by minutes"), "{ghosts}");
        let emptied = said(DurabilityRecord { right: 9, ..base.clone() });
        assert!(
            emptied.contains("not one byte had to be there") && !emptied.contains("acknowledged is there"),
            "{emptied}"
        );
        let fine = said(DurabilityRecord { right: 9, bytes: 900, ..base });
        assert!(
            fine.contains(": everything that was acknowledged is there") && !fine.contains("behind"),
            "{fine}"
        );
    }
}
