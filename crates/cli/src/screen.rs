//! The lines at the bottom of the terminal that are written again and again, and what else is printed meanwhile. No mode of the
//! terminal is changed and its cursor is never hidden, so that there is nothing to restore, however this program ends. While the
//! shell has put this process behind others, or had stopped it, others write there: nothing is drawn over that. Source: ECMA-48
//! (cursor up, erase), tty_ioctl(4), tcgetpgrp(3), signal(7).

use std::io::{self, Write};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub use cosmark_workload::units::columns_of;

use crate::paint::{To, is_order};

/// A terminal that tells no size.
const USUAL: Size = Size { columns: 80, rows: 24 };

/// What stands there.
struct Drawn {
    /// Columns that each line of it takes.
    lines: Vec<usize>,
    /// How often this process had gone on after a stop when it was drawn.
    continued: u32,
}

static DRAWN: Mutex<Drawn> = Mutex::new(Drawn { lines: Vec::new(), continued: 0 });

/// How often this process has gone on after a stop, such as by Ctrl-Z and `fg`.
static CONTINUED: AtomicU32 = AtomicU32::new(0);

extern "C" fn note_continued(_: libc::c_int) {
    CONTINUED.fetch_add(1, Ordering::Relaxed);
}

/// Notices from now on when this process goes on after a stop.
pub fn prepare() {
    // SAFETY: the handler only adds to a number, which signal-safety(7) allows.
    unsafe { libc::signal(libc::SIGCONT, note_continued as *const () as libc::sighandler_t) };
}

impl Drawn {
    /// Forgets what is at the bottom no more, because others wrote below it.
    fn forget_if_left(&mut self, continued: u32, is_in_front: bool) {
        if continued != self.continued || !is_in_front {
            self.lines.clear();
            self.continued = continued;
        }
    }
}

/// Size of a terminal in signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Width.
    pub columns: usize,
    /// Height.
    pub rows: usize,
}

/// A line: what it shows, how many columns it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// With colour.
    pub text: String,
    /// Without.
    pub columns: usize,
}

/// The size of the terminal behind this file descriptor; `None` when it is none.
fn size_of(descriptor: libc::c_int) -> Option<Size> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: `size` is valid for the call, which fills it.
    let result = unsafe { libc::ioctl(descriptor, libc::TIOCGWINSZ, &raw mut size) };
    let given = |value: u16, usual: usize| if value == 0 { usual } else { usize::from(value) };
    (result == 0)
        .then(|| Size { columns: given(size.ws_col, USUAL.columns), rows: given(size.ws_row, USUAL.rows) })
}

/// The size of the terminal that shows progress.
#[must_use]
pub fn size() -> Size {
    size_of(libc::STDERR_FILENO).unwrap_or(USUAL)
}

/// Columns that tables may take: those of COLUMNS, else of the terminal; `None` = as many as they need (a pipe, a file).
#[must_use]
pub fn room() -> Option<usize> {
    said().or_else(|| columns(To::Stdout))
}

/// Columns of COLUMNS.
fn said() -> Option<usize> {
    let said = std::env::var("COLUMNS").ok().and_then(|text| text.parse::<usize>().ok());
    said.filter(|columns| *columns > 0)
}

/// Columns that sentences may take there: those of the terminal, or what COLUMNS says of it; `None` where there is none.
#[must_use]
pub fn columns(to: To) -> Option<usize> {
    let own = match to {
        To::Stdout => size_of(libc::STDOUT_FILENO),
        To::Stderr => size_of(libc::STDERR_FILENO),
    };
    own.map(|size| said().unwrap_or(size.columns))
}

/// True unless the shell has put this process behind others there (`&`, Ctrl-Z and `bg`).
#[must_use]
pub fn is_in_front() -> bool {
    // SAFETY: neither call takes a pointer.
    let (front, own) = unsafe { (libc::tcgetpgrp(libc::STDERR_FILENO), libc::getpgrp()) };
    // One that is not the terminal of this session knows nobody behind and nobody in front.
    front <= 0 || front == own
}

fn lock() -> MutexGuard<'static, Drawn> {
    let mut drawn = DRAWN.lock().unwrap_or_else(PoisonError::into_inner);
    drawn.forget_if_left(CONTINUED.load(Ordering::Relaxed), is_in_front());
    drawn
}

/// Rows that these lines take where `columns` fit into one: a terminal that became narrower has wrapped them.
fn rows_of(lines: &[usize], columns: usize) -> usize {
    lines.iter().map(|line| line.div_ceil(columns.max(1)).max(1)).sum()
}

fn up(rows: usize) -> String {
    if rows == 0 { "\r".to_owned() } else { format!("\r\x1b[{rows}A") }
}

/// What puts `lines` in the place of those that are `drawn`.
fn replacing(drawn: &[usize], lines: &[Line], size: Size) -> String {
    let mut text = up(rows_of(drawn, size.columns));
    for line in lines {
        text.push_str(&line.text);
        text.push_str("\x1b[K\n");
    }
    text.push_str("\x1b[J");
    text
}

/// Shows these lines in the place of those that stand there. They are no wider than the terminal and fewer than its rows.
pub fn show(lines: &[Line]) {
    let size = size();
    let mut drawn = lock();
    let shown = lines.get(..lines.len().min(size.rows.saturating_sub(1))).unwrap_or_default();
    let text = replacing(&drawn.lines, shown, size);
    let mut out = io::stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    drawn.lines = shown.iter().map(|line| line.columns).collect();
}

/// Takes the lines away.
pub fn clear() {
    let mut drawn = lock();
    if !drawn.lines.is_empty() {
        let text = replacing(&drawn.lines, &[], size());
        let mut out = io::stderr().lock();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        drawn.lines.clear();
    }
}

/// As much of a text as fits into `columns`, with a sign for what is missing; orders to the terminal become blanks.
#[must_use]
pub fn cut(text: &str, columns: usize, is_ascii: bool) -> String {
    let clean: String = text.chars().map(|c| if is_order(c) { ' ' } else { c }).collect();
    if columns_of(&clean) <= columns {
        return clean;
    }
    let sign = if is_ascii { '~' } else { '…' };
    let mut stored = String::new();
    let mut used = 1;
    for c in clean.chars() {
        used += columns_of(c.encode_utf8(&mut [0; 4]));
        if used > columns {
            break;
        }
        stored.push(c);
    }
    if columns > 0 {
        stored.push(sign);
    }
    stored
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_that_became_narrower_is_cleared_of_what_it_wrapped() {
        let narrow = Size { columns: 40, rows: 24 };
        assert_eq!((rows_of(&[80, 10, 0], 40), rows_of(&[], 40)), (4, 0));
        let line = Line { text: "x".into(), columns: 1 };
        assert_eq!(replacing(&[80, 10], &[line], narrow), "\r\x1b[3Ax\x1b[K\n\x1b[J");
        assert_eq!(replacing(&[], &[], narrow), "\r\x1b[J");
    }

    #[test]
    fn what_was_drawn_before_a_stop_or_in_front_is_left_where_it_stands() {
        prepare();
        let before = CONTINUED.load(Ordering::Relaxed);
        // SAFETY: to go on changes nothing of a process that is not stopped.
        assert_eq!(unsafe { libc::raise(libc::SIGCONT) }, 0);
        let now = CONTINUED.load(Ordering::Relaxed);
        assert!(now > before);
        let drawn = |continued| Drawn { lines: vec![80, 10], continued };
        for (mut drawn, is_in_front, left) in
            [(drawn(now), true, 2), (drawn(before), true, 0), (drawn(now), false, 0)]
        {
            drawn.forget_if_left(now, is_in_front);
            assert_eq!((drawn.lines.len(), drawn.continued), (left, now), "{is_in_front}");
        }
    }

    #[test]
    fn a_text_is_cut_to_its_columns_and_its_controls_do_nothing() {
        assert_eq!(cut("w\x1b[31mrite\n", 20, false), "w [31mrite ");
        assert_eq!(cut("w\u{202e}etirw", 20, false), "w etirw");
        assert_eq!((cut("abcdef", 4, false), cut("abcdef", 4, true)), ("abc…".into(), "abc~".into()));
        assert_eq!((cut("日本語", 5, false), cut("日本語", 6, false)), ("日本…".into(), "日本語".into()));
        assert_eq!(cut("abc", 0, false), "");
        for width in 0..12 {
            assert!(columns_of(&cut("日本語 und mehr", width, false)) <= width);
        }
    }
}
