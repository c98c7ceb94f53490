//! Live progress on stderr: a view that is written again each second on a terminal, plain lines elsewhere.

pub mod scene;

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::time::{Duration, Instant};

use cosmark_archive::{MissingRecord, StageRecord, Verdict, open_so_far};
use cosmark_controller::{Observer, Progress, SliceNews, StageNews};
use cosmark_metrics::OpSnapshot;
use cosmark_verdict::judge_so_far;

use crate::out::ascii_only;
use crate::paint::{Ink, To, is_on, paint};
use crate::screen;
use crate::units;

use scene::{Row, Scene, Show};

/// Plain lines come this often.
const PLAIN_EVERY: Duration = Duration::from_secs(5);
/// The verdict is looked for no more often than this, and so seldom that it takes less than a hundredth of one processor.
const VERDICT_EVERY: Duration = Duration::from_secs(5);
const VERDICT_SHARE: u32 = 100;

/// Draws progress.
pub struct Terminal {
    quiet: bool,
    live: bool,
    scene: Scene,
    /// What each operation did since the last time, by work and operation; and its failures since the stage began.
    operations: BTreeMap<(u16, usize), (OpSnapshot, u64)>,
    verdict: Forming,
    last_plain: Option<Instant>,
    /// What happened since the last plain line.
    since: OpSnapshot,
    since_s: f64,
}

/// True where the terminal can show a view that is written again.
#[must_use]
pub fn can_draw() -> bool {
    std::io::stderr().is_terminal() && std::env::var("TERM").is_ok_and(|term| term != "dumb")
}

/// What the terminal shows now.
#[must_use]
pub fn show() -> Show {
    let size = screen::size();
    // The last column stays free: some terminals wrap when it is written.
    let (columns, rows) = (size.columns.saturating_sub(1), size.rows.saturating_sub(2));
    Show { columns, rows, is_ascii: ascii_only(), is_coloured: is_on(To::Stderr) }
}

/// The verdict as it forms, looked for on a thread of its own, because it reads files.
#[derive(Default)]
struct Forming {
    directory: Option<PathBuf>,
    coming: Option<Receiver<(Option<Verdict>, Duration)>>,
    next: Option<Instant>,
}

impl Forming {
    /// A verdict that has come; begins to look for the next one when it is time.
    fn poll(&mut self) -> Option<Verdict> {
        let come = match self.coming.as_ref().map(Receiver::try_recv) {
            Some(Ok((verdict, took))) => {
                self.next = Some(Instant::now() + VERDICT_EVERY.max(took * VERDICT_SHARE));
                self.coming = None;
                verdict
            }
            Some(Err(TryRecvError::Disconnected)) => {
                self.coming = None;
                None
            }
            Some(Err(TryRecvError::Empty)) => return None,
            None => None,
        };
        let due = *self.next.get_or_insert_with(|| Instant::now() + VERDICT_EVERY);
        if self.coming.is_none()
            && due <= Instant::now()
            && let Some(directory) = self.directory.clone()
        {
            let (tell, coming) = sync_channel(1);
            let look = move || {
                let began = Instant::now();
                let verdict = so_far(&directory);
                drop(tell.send((verdict, began.elapsed())));
            };
            if std::thread::Builder::new().name("verdict".into()).spawn(look).is_ok() {
                self.coming = Some(coming);
            }
            self.next = Some(Instant::now() + VERDICT_EVERY);
        }
        come
    }
}

/// The verdict as it forms, from what is on disk.
#[must_use]
pub fn so_far(directory: &Path) -> Option<Verdict> {
    let run = open_so_far(directory).ok()?;
    judge_so_far(&run)
}

/// The word and the reason, as the view shows them.
#[must_use]
pub fn of_verdict(verdict: &Verdict) -> (String, String) {
    (verdict.overall.words().to_owned(), verdict.reason.clone().unwrap_or_default())
}

/// Such as `d2 since 00:08`.
fn missing(records: &[MissingRecord]) -> Vec<String> {
    let since = |record: &MissingRecord| units::clock(Duration::from_secs_f64(record.from_s.clamp(0.0, 1e9)));
    records.iter().map(|record| format!("{} since {}", record.driver, since(record))).collect()
}

/// The end of a plain line: which drivers are missing, if any are.
#[must_use]
pub fn missing_at_end(missing: &[String]) -> String {
    if missing.is_empty() { String::new() } else { format!("  missing {}", missing.join(", ")) }
}

/// What an operation did in so many seconds.
#[must_use]
pub fn row(name: &str, lately: &OpSnapshot, seconds: f64, failed: u64) -> Row {
    let times = lately.response_or_service();
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    let ms = |quantile| times.quantile_ns(quantile).map(|ns| ns as f64 / 1e6);
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    let (rate_per_s, bytes_per_s) = (lately.ok as f64 / seconds, lately.bytes as f64 / seconds);
    Row { name: name.to_owned(), rate_per_s, bytes_per_s, p50_ms: ms(0.5), p99_ms: ms(0.99), failed }
}

impl Terminal {
    /// On stderr; says nothing when `quiet`. The verdict as it forms is read from the run in `directory`.
    #[must_use]
    pub fn new(quiet: bool, directory: &Path) -> Self {
        let live = !quiet && can_draw();
        let directory = live.then(|| directory.to_owned());
        Self {
            quiet,
            live,
            scene: Scene::default(),
            operations: BTreeMap::new(),
            verdict: Forming { directory, ..Forming::default() },
            last_plain: None,
            since: OpSnapshot::default(),
            since_s: 0.0,
        }
    }

    fn line(&self, text: &str) {
        if !self.quiet {
            eprintln!("{text}");
        }
    }

    /// True while the view is shown: not behind others, where lines are.
    fn draws(&self) -> bool {
        self.live && screen::is_in_front()
    }

    /// Takes up what the view shows.
    fn look(&mut self, progress: &Progress<'_>) {
        let seconds = progress.latest_s;
        let all = row("", &progress.latest, seconds, progress.total_failed);
        let scene = &mut self.scene;
        scene.head = format!("[{}/{}] {}", progress.index + 1, progress.of, progress.stage.name);
        (scene.elapsed, scene.remaining, scene.done) = (progress.elapsed, progress.remaining, progress.done);
        (scene.failed, scene.missing) = (progress.total_failed, missing(&progress.missing));
        scene.push(all.rate_per_s, all.p99_ms);
        scene.rows.clear();
        let several = progress.stage.works.len() > 1;
        for ((work, at), (lately, failed)) in &mut self.operations {
            let work = progress.stage.works.get(usize::from(*work));
            let Some((work, operation)) = work.and_then(|work| Some((work, work.operations.get(*at)?)))
            else {
                continue;
            };
            let name =
                if several { format!("{} {}", work.name, operation.name) } else { operation.name.clone() };
            scene.rows.push(row(&name, lately, seconds, *failed));
            *lately = OpSnapshot::default();
        }
        if let Some(verdict) = self.verdict.poll() {
            self.scene.verdict = Some(of_verdict(&verdict));
        }
    }
}

fn describe(progress: &Progress<'_>, lately: &OpSnapshot, seconds: f64) -> String {
    let time = match progress.remaining {
        Some(left) => format!("{} left {}", units::clock(progress.elapsed), units::clock(left)),
        None => units::clock(progress.elapsed),
    };
    let done = progress.done.map_or_else(String::new, |done| format!(" {:.0} %", done * 100.0));
    let all = row("", lately, seconds, progress.total_failed);
    let p99 = all.p99_ms.map_or_else(|| "-".to_owned(), |ms| format!("{} ms", units::ms(ms)));
    format!(
        "[{}/{}] {} {time}{done}  {} op/s  {}  p99 {p99}  errors {}{}",
        progress.index + 1,
        progress.of,
        progress.stage.name,
        units::rate(all.rate_per_s),
        units::bandwidth(all.bytes_per_s),
        units::grouped(progress.total_failed),
        missing_at_end(&missing(&progress.missing)),
    )
}

impl Observer for Terminal {
    fn stage_begins(&mut self, news: &StageNews<'_>) {
        self.last_plain = None;
        self.since = OpSnapshot::default();
        self.since_s = 0.0;
        self.operations.clear();
        let verdict = self.scene.verdict.take();
        self.scene = Scene { verdict, ..Scene::default() };
        if !self.draws() {
            let planned =
                news.planned.map(|time| format!(", planned {}", units::clock(time))).unwrap_or_default();
            self.line(&format!("[{}/{}] {} begins{planned}", news.index + 1, news.of, news.stage.name));
        }
    }

    fn slice(&mut self, slice: &SliceNews<'_>) {
        if !self.live {
            return;
        }
        if !slice.driver.is_empty()
            && slice.driver != "local"
            && !self.scene.drivers.iter().any(|known| known == slice.driver)
        {
            self.scene.drivers.push(slice.driver.to_owned());
        }
        for (at, operation) in slice.snapshot.ops.iter().enumerate() {
            let (lately, failed) = self.operations.entry((slice.snapshot.work, at)).or_default();
            lately.merge(operation);
            *failed += operation.failed;
        }
    }

    fn progress(&mut self, progress: &Progress<'_>) {
        if self.quiet {
            return;
        }
        if self.live {
            self.look(progress);
        }
        if self.draws() {
            screen::show(&self.scene.lines(show()));
            (self.last_plain, self.since, self.since_s) = (None, OpSnapshot::default(), 0.0);
            return;
        }
        self.since.merge(&progress.latest);
        self.since_s += progress.latest_s;
        let every = PLAIN_EVERY;
        let due = *self.last_plain.get_or_insert_with(Instant::now);
        if due.elapsed() >= every {
            let lately = std::mem::take(&mut self.since);
            let text = describe(progress, &lately, self.since_s);
            self.since_s = 0.0;
            self.last_plain = Some(Instant::now());
            self.line(&text);
        }
    }

    fn stage_ends(&mut self, record: &StageRecord) {
        let count: u64 = record.operations.iter().map(|op| op.ok).sum();
        let failures: u64 = record.operations.iter().map(|op| op.failed).sum();
        let took = match (record.started, record.ended) {
            (Some(started), Some(ended)) => {
                let took = ended.duration_since(started).unsigned_abs();
                format!(" in {:.1} s", took.as_secs_f64())
            }
            _ => String::new(),
        };
        let failed = if failures > 0 {
            paint(To::Stderr, Ink::Bad, &format!(", {} failed", units::grouped(failures)))
        } else {
            String::new()
        };
        let reason = record.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let state = paint(To::Stderr, Ink::of_state(record.state.word()), record.state.word());
        let id = record.id.clone();
        self.line(&format!("{id} {state}{took}, {}{failed}{reason}", units::count(count, "operation")));
    }

    fn note(&mut self, text: &str) {
        self.line(&format!("  {text}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cosmark_workload::{Environment, Format, parse};

    #[test]
    fn a_plain_line_names_the_drivers_that_are_missing() {
        let text = "name: x\nstorage: {type: none}\nstages: [{name: main, works: [{name: a, workers: 1, runtime: 9s, \
                    operations: [{type: read, containers: c(1), objects: c(1)}]}]}]\n";
        let workload = parse(text, Format::Yaml, &Environment::default()).0.unwrap();
        let lost = MissingRecord {
            driver: "d2".to_owned(),
            works: vec!["a".to_owned()],
            workers: 1,
            from_s: 8.0,
            to_s: None,
        };
        let line = |missing: Vec<MissingRecord>| {
            let progress = Progress {
                stage: &workload.stages[0],
                index: 0,
                of: 1,
                elapsed: Duration::from_secs(9),
                watermark: Duration::from_secs(9),
                remaining: None,
                done: None,
                latest_s: 1.0,
                latest: OpSnapshot::default(),
                total_ok: 0,
                total_failed: 0,
                missing,
            };
            describe(&progress, &OpSnapshot::default(), 1.0)
        };
        // The record of another's run, or of a controller, may say anything.
        let long_ago = MissingRecord { from_s: 1e300, ..lost.clone() };
        assert!(line(vec![long_ago]).contains("missing d2 since 277777:"));
        assert!(line(vec![lost]).ends_with("errors 0  missing d2 since 00:08"));
        assert!(line(Vec::new()).ends_with("errors 0"));
    }
}
