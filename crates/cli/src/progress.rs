//! Live progress on stderr: one line that is rewritten on a terminal, plain lines elsewhere.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use cosmark_archive::StageRecord;
use cosmark_controller::{Observer, Progress, StageNews};
use cosmark_metrics::OpSnapshot;

use crate::units;

/// Plain lines come this often.
const PLAIN_EVERY: Duration = Duration::from_secs(5);
const BAR: usize = 16;

/// Draws progress.
pub struct Terminal {
    quiet: bool,
    live: bool,
    /// Something is on the live line.
    drawn: bool,
    last_plain: Option<Instant>,
    /// What happened since the last plain line.
    since: OpSnapshot,
    since_s: f64,
}

impl Terminal {
    /// On stderr; says nothing when `quiet`.
    #[must_use]
    pub fn new(quiet: bool) -> Self {
        let live = std::io::stderr().is_terminal() && std::env::var("TERM").is_ok_and(|term| term != "dumb");
        Self { quiet, live, drawn: false, last_plain: None, since: OpSnapshot::default(), since_s: 0.0 }
    }

    fn clear(&mut self) {
        if self.drawn {
            eprint!("\r\x1b[K");
            self.drawn = false;
        }
    }

    fn line(&mut self, text: &str) {
        if !self.quiet {
            self.clear();
            eprintln!("{text}");
        }
    }

    fn draw(&mut self, text: &str) {
        let width = terminal_width();
        let cut: String = text.chars().take(width.saturating_sub(1)).collect();
        eprint!("\r{cut}\x1b[K");
        let _ = std::io::stderr().flush();
        self.drawn = true;
    }
}

fn terminal_width() -> usize {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: `size` is valid for the call, which fills it.
    let result = unsafe { libc::ioctl(libc::STDERR_FILENO, libc::TIOCGWINSZ, &raw mut size) };
    if result == 0 && size.ws_col > 20 { usize::from(size.ws_col) } else { 100 }
}

fn bar(done: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and BAR")]
    let filled = (done * BAR as f64).round() as usize;
    format!("{}{}", "━".repeat(filled.min(BAR)), "─".repeat(BAR - filled.min(BAR)))
}

fn describe(progress: &Progress<'_>, lately: &OpSnapshot, seconds: f64, with_bar: bool) -> String {
    #[expect(clippy::cast_precision_loss, reason = "rates for people")]
    let (rate, bytes) = (lately.ok as f64 / seconds, lately.bytes as f64 / seconds);
    let time = match progress.remaining {
        Some(left) => format!("{} left {}", units::clock(progress.elapsed), units::clock(left)),
        None => units::clock(progress.elapsed),
    };
    let done = match progress.done {
        Some(done) if with_bar => format!(" {} {:>3.0} %", bar(done), done * 100.0),
        Some(done) => format!(" {:.0} %", done * 100.0),
        None => String::new(),
    };
    #[expect(clippy::cast_precision_loss, reason = "milliseconds for people")]
    let p99 = lately
        .response_or_service()
        .quantile_ns(0.99)
        .map_or_else(|| "-".to_owned(), |ns| format!("{} ms", units::ms(ns as f64 / 1e6)));
    format!(
        "[{}/{}] {} {time}{done}  {} op/s  {}  p99 {p99}  errors {}",
        progress.index + 1,
        progress.of,
        progress.stage.name,
        units::rate(rate),
        units::bandwidth(bytes),
        units::grouped(progress.total_failed),
    )
}

impl Observer for Terminal {
    fn stage_begins(&mut self, news: &StageNews<'_>) {
        self.last_plain = None;
        self.since = OpSnapshot::default();
        self.since_s = 0.0;
        if !self.live {
            let planned =
                news.planned.map(|time| format!(", planned {}", units::clock(time))).unwrap_or_default();
            self.line(&format!("[{}/{}] {} begins{planned}", news.index + 1, news.of, news.stage.name));
        }
    }

    fn progress(&mut self, progress: &Progress<'_>) {
        if self.quiet {
            return;
        }
        if self.live {
            let text = describe(progress, &progress.latest, progress.latest_s, true);
            self.draw(&text);
            return;
        }
        self.since.merge(&progress.latest);
        self.since_s += progress.latest_s;
        let every = PLAIN_EVERY;
        let due = *self.last_plain.get_or_insert_with(Instant::now);
        if due.elapsed() >= every {
            let lately = std::mem::take(&mut self.since);
            let text = describe(progress, &lately, self.since_s, false);
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
        let failed =
            if failures > 0 { format!(", {} failed", units::grouped(failures)) } else { String::new() };
        let reason = record.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let state = record.state.word();
        let id = record.id.clone();
        self.line(&format!("{id} {state}{took}, {}{failed}{reason}", units::count(count, "operation")));
    }

    fn note(&mut self, text: &str) {
        self.line(&format!("  {text}"));
    }
}
