//! What the live view shows, as lines of text: pure, so that every width can be tried.

use std::collections::VecDeque;
use std::time::Duration;

use crate::paint::{Ink, always};
use crate::screen::{Line, columns_of, cut};
use crate::units;

/// So many seconds are kept for the small charts.
pub const MOST_PAST: usize = 600;
/// Heads of the columns of an operation, and their width.
const HEADS: [(&str, usize); 5] =
    [("op/s", 9), ("bandwidth", 11), ("p50 ms", 8), ("p99 ms", 8), ("errors", 8)];
/// Narrower terminals have neither bandwidth nor the median.
const NARROW: usize = 64;

/// What one operation did lately.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Successes per second.
    pub rate_per_s: f64,
    /// Their bytes per second.
    pub bytes_per_s: f64,
    /// Median of the response time.
    pub p50_ms: Option<f64>,
    /// Its 99th percentile.
    pub p99_ms: Option<f64>,
    /// Failures since the stage began.
    pub failed: u64,
}

/// A moment of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scene {
    /// Such as `[2/5] main`.
    pub head: String,
    /// Since the load of the stage began.
    pub elapsed: Duration,
    /// Until it ends, where that is known.
    pub remaining: Option<Duration>,
    /// Share that is done, 0 to 1.
    pub done: Option<f64>,
    /// Operations per second, the newest last.
    pub rates: VecDeque<f64>,
    /// The 99th percentile in ms of the same moments.
    pub p99s: VecDeque<Option<f64>>,
    /// Failures since the stage began.
    pub failed: u64,
    /// Operation by operation.
    pub rows: Vec<Row>,
    /// Names of the drivers that make the load, where there are several.
    pub drivers: Vec<String>,
    /// Such as `d2 since 00:08`.
    pub missing: Vec<String>,
    /// The verdict as it forms: its word, and why it is no better.
    pub verdict: Option<(String, String)>,
}

/// What a terminal shows.
#[derive(Debug, Clone, Copy)]
pub struct Show {
    /// Columns that a line may take.
    pub columns: usize,
    /// Lines.
    pub rows: usize,
    /// No sign but those of ASCII.
    pub is_ascii: bool,
    /// With colour.
    pub is_coloured: bool,
}

/// A line on its way.
struct Draft {
    text: String,
    columns: usize,
    show: Show,
}

impl Draft {
    fn new(show: Show) -> Self {
        Self { text: String::new(), columns: 0, show }
    }

    /// As much of the text as there is room for.
    fn put(mut self, ink: Ink, text: &str) -> Self {
        let text = cut(text, self.show.columns.saturating_sub(self.columns), self.show.is_ascii);
        self.columns += columns_of(&text);
        self.text.push_str(&if self.show.is_coloured { always(ink, &text) } else { text });
        self
    }

    /// Blanks up to this column.
    fn up_to(self, column: usize) -> Self {
        let blanks = " ".repeat(column.saturating_sub(self.columns));
        self.put(Ink::Plain, &blanks)
    }

    fn line(self) -> Line {
        Line { text: self.text, columns: self.columns }
    }
}

impl Scene {
    /// Notes what a second came to.
    pub fn push(&mut self, rate_per_s: f64, p99_ms: Option<f64>) {
        self.rates.push_back(rate_per_s);
        self.p99s.push_back(p99_ms);
        while self.rates.len() > MOST_PAST {
            self.rates.pop_front();
            self.p99s.pop_front();
        }
    }

    /// The scene in lines: never more than `show.rows`, none wider than `show.columns`. What matters most stays longest.
    #[must_use]
    pub fn lines(&self, show: Show) -> Vec<Line> {
        let mut lines = vec![self.head_line(show), self.rate_line(show), self.time_line(show)];
        let mut tail = Vec::new();
        if !self.drivers.is_empty() || !self.missing.is_empty() {
            tail.push(self.drivers_line(show));
        }
        if let Some((word, reason)) = &self.verdict {
            let line = Draft::new(show).put(Ink::Plain, "so far ").put(Ink::of_verdict(word), word);
            tail.push(
                if reason.is_empty() { line } else { line.put(Ink::Plain, &format!(": {reason}")) }.line(),
            );
        }
        let room = show.rows.saturating_sub(lines.len() + tail.len() + 1);
        if room > 0 && !self.rows.is_empty() {
            lines.push(self.heads(show));
            // Where not all fit, those with errors, then the busiest.
            let mut shown: Vec<usize> = (0..self.rows.len()).collect();
            let rank = |at: &usize| {
                let row = self.rows.get(*at);
                (row.is_none_or(|row| row.failed == 0), row.map_or(0.0, |row| -row.rate_per_s))
            };
            if shown.len() > room {
                shown.sort_by(|a, b| {
                    let (a, b) = (rank(a), rank(b));
                    a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
                });
                let stored = room.saturating_sub(1);
                shown.truncate(stored);
                shown.sort_unstable();
            }
            let hidden = self.rows.len() - shown.len();
            lines.extend(shown.iter().filter_map(|at| self.rows.get(*at)).map(|row| self.row(row, show)));
            if hidden > 0 {
                let more = units::count(hidden as u64, "more operation");
                lines.push(Draft::new(show).put(Ink::Faint, &format!("  and {more}")).line());
            }
        }
        lines.extend(tail);
        lines.truncate(show.rows);
        lines
    }

    fn head_line(&self, show: Show) -> Line {
        let times = match self.remaining {
            Some(left) => format!("  {} left {}", units::clock(self.elapsed), units::clock(left)),
            None => format!("  {}", units::clock(self.elapsed)),
        };
        let percent = self.done.map_or_else(String::new, |done| format!(" {:>3.0} %", done * 100.0));
        // A long name gives way to what changes.
        let room = show.columns.saturating_sub(columns_of(&times) + columns_of(&percent) + 2);
        let head = cut(&self.head, room.max(8), show.is_ascii);
        let line = Draft::new(show).put(Ink::Strong, &head).put(Ink::Plain, &times);
        let Some(done) = self.done else { return line.line() };
        let width = show.columns.saturating_sub(line.columns + columns_of(&percent) + 3).min(60);
        let line = if width < 4 {
            line
        } else {
            line.put(Ink::Plain, &format!("  {}", bar(done, width, show.is_ascii)))
        };
        line.put(Ink::Plain, &percent).line()
    }

    fn rate_line(&self, show: Show) -> Line {
        let errors = format!("errors {}", units::grouped(self.failed));
        let now = self.rates.back().map_or_else(|| "-".to_owned(), |rate| units::rate(*rate));
        let ink = if self.failed > 0 { Ink::Bad } else { Ink::Faint };
        let past: Vec<Option<f64>> = self.rates.iter().copied().map(Some).collect();
        let line = Draft::new(show).put(Ink::Plain, &format!("{:<7}{now:>9}  ", "op/s"));
        let width = show.columns.saturating_sub(line.columns + errors.len() + 2);
        let chart = sparks(&past, width, show.is_ascii);
        line.put(Ink::Plain, &chart).up_to(show.columns.saturating_sub(errors.len())).put(ink, &errors).line()
    }

    fn time_line(&self, show: Show) -> Line {
        let now = self.p99s.back().copied().flatten().map_or_else(|| "-".to_owned(), units::ms);
        let past: Vec<Option<f64>> = self.p99s.iter().copied().collect();
        let line = Draft::new(show).put(Ink::Plain, &format!("{:<7}{now:>9}  ", "p99 ms"));
        // As wide as the chart above it.
        let errors = "errors ".len() + units::grouped(self.failed).len();
        let width = show.columns.saturating_sub(line.columns + errors + 2);
        let chart = sparks(&past, width, show.is_ascii);
        line.put(Ink::Plain, &chart).line()
    }

    fn shown_columns(show: Show) -> impl Iterator<Item = (usize, (&'static str, usize))> {
        HEADS.into_iter().enumerate().filter(move |(at, _)| show.columns >= NARROW || !matches!(at, 1 | 2))
    }

    /// Room for names: as long as the longest, as far as there is room.
    fn name_width(&self, show: Show) -> usize {
        let figures: usize = Self::shown_columns(show).map(|(_, (_, width))| width + 2).sum();
        let longest = self.rows.iter().map(|row| columns_of(&row.name)).max().unwrap_or(0);
        longest.min(show.columns.saturating_sub(figures)).max(4)
    }

    fn heads(&self, show: Show) -> Line {
        let line = Draft::new(show).put(Ink::Faint, &" ".repeat(self.name_width(show)));
        Self::shown_columns(show)
            .fold(line, |line, (_, (head, width))| line.put(Ink::Faint, &format!("  {head:>width$}")))
            .line()
    }

    fn row(&self, row: &Row, show: Show) -> Line {
        let name = self.name_width(show);
        let ms = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), units::ms);
        let bandwidth =
            if row.bytes_per_s > 0.0 { units::bandwidth(row.bytes_per_s) } else { "-".to_owned() };
        let cells = [
            units::rate(row.rate_per_s),
            bandwidth,
            ms(row.p50_ms),
            ms(row.p99_ms),
            units::grouped(row.failed),
        ];
        let line = Draft::new(show).put(Ink::Plain, &cut(&row.name, name, show.is_ascii)).up_to(name);
        Self::shown_columns(show)
            .fold(line, |line, (at, (_, width))| {
                let ink = if at == HEADS.len() - 1 && row.failed > 0 { Ink::Bad } else { Ink::Plain };
                let cell = cells.get(at).map_or("", String::as_str);
                line.put(ink, &format!("  {cell:>width$}"))
            })
            .line()
    }

    fn drivers_line(&self, show: Show) -> Line {
        let line = Draft::new(show).put(Ink::Plain, &units::count(self.drivers.len() as u64, "driver"));
        if self.missing.is_empty() {
            return line.put(Ink::Faint, &format!(": {}", self.drivers.join(", "))).line();
        }
        line.put(Ink::Bad, &format!(", missing: {}", self.missing.join(", "))).line()
    }
}

fn bar(done: f64, width: usize, is_ascii: bool) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "between 0 and the width"
    )]
    let filled = ((done.clamp(0.0, 1.0) * width as f64).round() as usize).min(width);
    let (full, empty) = if is_ascii { ("#", "-") } else { ("━", "─") };
    format!("{}{}", full.repeat(filled), empty.repeat(width - filled))
}

/// The newest values as columns of eight heights over zero; what is not known is a blank.
fn sparks(values: &[Option<f64>], width: usize, is_ascii: bool) -> String {
    let heights: [char; 8] = if is_ascii {
        ['_', '.', ',', '-', '=', '+', '*', '#']
    } else {
        ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█']
    };
    let shown = values.get(values.len().saturating_sub(width)..).unwrap_or_default();
    let most = shown.iter().flatten().copied().filter(|value| value.is_finite()).fold(0.0, f64::max);
    let column = |value: &Option<f64>| match value {
        Some(value) if value.is_finite() && most > 0.0 => {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 7")]
            let height = ((value / most * 8.0).ceil() as usize).clamp(1, 8);
            heights.get(height - 1).copied().unwrap_or(' ')
        }
        Some(_) => heights[0],
        None => ' ',
    };
    shown.iter().map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scene() -> Scene {
        let mut scene = Scene {
            head: "[3/5] main".into(),
            elapsed: Duration::from_secs(12),
            remaining: Some(Duration::from_secs(18)),
            done: Some(0.4),
            failed: 7,
            drivers: vec!["d1".into(), "d2".into()],
            missing: vec!["d2 since 00:08".into()],
            verdict: Some(("NOT PROVEN".into(), "too short to tell (V8)".into())),
            ..Scene::default()
        };
        for second in 0..100 {
            scene.push(
                f64::from(1000 + second % 10 * 100),
                (second % 7 > 0).then(|| f64::from(second % 9) + 1.0),
            );
        }
        for (name, rate_per_s, failed) in
            [("read", 12_345.6, 0), ("a write with a very long name indeed", 819.0, 7)]
        {
            scene.rows.push(Row {
                name: name.into(),
                rate_per_s,
                bytes_per_s: 53.6e6,
                p50_ms: Some(1.3),
                p99_ms: Some(10.4),
                failed,
            });
        }
        scene
    }

    fn shown(scene: &Scene, columns: usize, rows: usize) -> Vec<String> {
        let lines = scene.lines(Show { columns, rows, is_ascii: false, is_coloured: false });
        assert!(lines.len() <= rows, "{columns} x {rows}");
        for line in &lines {
            assert_eq!(line.columns, columns_of(&line.text), "{line:?}");
            assert!(line.columns <= columns, "{columns} x {rows}: {line:?}");
        }
        lines.into_iter().map(|line| line.text).collect()
    }

    #[test]
    fn no_line_is_wider_and_none_lower_than_the_terminal() {
        let scene = scene();
        for columns in 1..220 {
            for rows in 0..14 {
                shown(&scene, columns, rows);
            }
        }
        shown(&Scene::default(), 80, 24);
    }

    #[test]
    fn both_small_charts_take_the_whole_width_of_a_wide_terminal() {
        let mut scene = scene();
        (0..MOST_PAST).for_each(|_| scene.push(600.0, Some(2.0)));
        let of_chart = |line: &String| line.chars().filter(|sign| ('▁'..='█').contains(sign)).count();
        for columns in [60, 80, 120, 200, 400] {
            let text = shown(&scene, columns, 24);
            let charts: Vec<usize> = text.iter().skip(1).take(2).map(of_chart).collect();
            // What stands before a chart and behind it takes as much in every terminal.
            let room = columns - "op/s         600  ".len() - "  errors 7".len();
            assert_eq!(charts, [room, room], "{columns}: {text:#?}");
        }
        let names = shown(&scene, 200, 24).join("\n");
        assert!(names.contains("a write with a very long name indeed"), "{names}");
    }

    #[test]
    fn eighty_columns_hold_the_p99_and_the_errors_of_every_operation() {
        let text = shown(&scene(), 80, 24).join("\n");
        for what in [
            "[3/5] main  00:12 left 00:18",
            "40 %",
            "errors 7",
            "12 346",
            "53.6 MB/s",
            "10.4",
            "missing: d2 since 00:08",
        ] {
            assert!(text.contains(what), "{what} in\n{text}");
        }
        assert!(text.lines().nth(1).is_some_and(|line| line.ends_with("errors 7")), "{text}");
        assert!(text.contains("so far NOT PROVEN: too short to tell (V8)"), "{text}");
        let narrow = shown(&scene(), 48, 24).join("\n");
        assert!(
            narrow.contains("p99 ms") && narrow.contains("errors") && !narrow.contains("bandwidth"),
            "{narrow}"
        );
    }

    #[test]
    fn errors_lost_drivers_and_the_verdict_have_their_colours_and_take_no_more_room() {
        let drawn = |scene: &Scene, is_coloured: bool| {
            scene.lines(Show { columns: 80, rows: 24, is_ascii: false, is_coloured })
        };
        let coloured = |scene: &Scene| {
            let (plain, lines) = (drawn(scene, false), drawn(scene, true));
            let columns = |lines: &[Line]| lines.iter().map(|line| line.columns).collect::<Vec<_>>();
            assert_eq!(columns(&lines), columns(&plain));
            assert!(plain.iter().all(|line| !line.text.contains('\x1b')), "{plain:?}");
            lines.into_iter().map(|line| line.text).collect::<Vec<_>>().join("\n")
        };
        let mut scene = scene();
        scene.verdict = Some(("FALSE".into(), "half of it failed (V12)".into()));
        let text = coloured(&scene);
        for red in ["errors 7", "         7", "FALSE", ", missing: d2 since 00:08"] {
            assert!(text.contains(&format!("\x1b[31m{red}\x1b[0m")), "{red} in {text:?}");
        }
        assert_eq!(text.matches("\x1b[31m").count(), 4, "nothing else is wrong: {text:?}");
        scene.failed = 0;
        scene.rows.iter_mut().for_each(|row| row.failed = 0);
        scene.missing.clear();
        for (word, code) in [("TRUE", 32), ("TRUE WITH LIMITS", 33), ("NOT PROVEN", 33), ("FALSE", 31)] {
            scene.verdict = Some((word.into(), String::new()));
            let text = coloured(&scene);
            assert!(text.contains(&format!("so far \x1b[{code}m{word}\x1b[0m")), "{text:?}");
            assert!(text.contains("\x1b[2merrors 0\x1b[0m"), "{text:?}");
            assert_eq!(text.matches("\x1b[3").count(), 1, "the verdict alone: {text:?}");
        }
    }

    #[test]
    fn operations_with_errors_are_shown_where_not_all_fit() {
        let mut scene = scene();
        scene.rows = (0..40)
            .map(|at| Row {
                name: format!("op{at}"),
                rate_per_s: 1.0,
                failed: u64::from(at == 33),
                ..Row::default()
            })
            .collect();
        let text = shown(&scene, 80, 12).join("\n");
        assert!(text.contains("op33") && text.contains("and 35 more operations"), "{text}");
    }

    #[test]
    fn small_charts_stand_on_zero_and_have_blanks_where_nothing_is_known() {
        assert_eq!(sparks(&[Some(0.0), Some(50.0), None, Some(100.0)], 9, false), "▁▄ █");
        assert_eq!(sparks(&[Some(1.0), Some(2.0)], 1, true), "#");
        assert_eq!(sparks(&[Some(f64::NAN), Some(f64::INFINITY)], 4, false), "▁▁");
        assert_eq!(bar(2.0, 4, true), "####");
    }

    #[test]
    fn a_name_can_give_no_order_to_the_terminal() {
        let mut scene = scene();
        scene.head = "[1/1] \x1b[2J\x07evil".into();
        scene.rows[0].name = "\x1b]0;x\x07".into();
        assert!(!shown(&scene, 80, 24).concat().contains(['\x1b', '\x07']));
    }
}
