//! The lines at the bottom of the terminal that are written again and again, and what else is printed meanwhile. No mode of the
//! terminal is changed and its cursor is never hidden, so that there is nothing to restore, however this program ends. While the
//! shell has put this process behind others, or had stopped it, others write there: nothing is drawn over that. Source: ECMA-48
//! (cursor up, erase), tty_ioctl(4), tcgetpgrp(3), signal(7).

use std::io::{self, Write};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

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

/// Pictures among the symbols of one column, which take two. Source: Unicode 14, EastAsianWidth.txt, `W` below 0x2e80.
const PICTURES: [(u32, u32); 34] = [
    (0x231a, 0x231b),
    (0x2329, 0x232a),
    (0x23e9, 0x23ec),
    (0x23f0, 0x23f0),
    (0x23f3, 0x23f3),
    (0x25fd, 0x25fe),
    (0x2614, 0x2615),
    (0x2648, 0x2653),
    (0x267f, 0x267f),
    (0x2693, 0x2693),
    (0x26a1, 0x26a1),
    (0x26aa, 0x26ab),
    (0x26bd, 0x26be),
    (0x26c4, 0x26c5),
    (0x26ce, 0x26ce),
    (0x26d4, 0x26d4),
    (0x26ea, 0x26ea),
    (0x26f2, 0x26f3),
    (0x26f5, 0x26f5),
    (0x26fa, 0x26fa),
    (0x26fd, 0x26fd),
    (0x2705, 0x2705),
    (0x270a, 0x270b),
    (0x2728, 0x2728),
    (0x274c, 0x274c),
    (0x274e, 0x274e),
    (0x2753, 0x2755),
    (0x2757, 0x2757),
    (0x2795, 0x2797),
    (0x27b0, 0x27b0),
    (0x27bf, 0x27bf),
    (0x2b1b, 0x2b1c),
    (0x2b50, 0x2b50),
    (0x2b55, 0x2b55),
];

/// Columns that a sign takes: two for those of East Asia and pictures, none for what joins its neighbour.
fn columns_of_sign(sign: char) -> usize {
    match u32::from(sign) {
        0..0x20
        | 0x7f..0xa0
        | 0x300..0x370
        | 0x483..0x48a
        | 0x64b..0x660
        | 0x1ab0..0x1b00
        | 0x1dc0..0x1e00
        | 0x200b..0x2010
        | 0x20d0..0x2100
        | 0xfe00..0xfe10
        | 0xfe20..0xfe30
        | 0xe0100..0xe01f0 => 0,
        0x1100..0x1160
        | 0x2e80..0xa4d0
        | 0xa960..0xa980
        | 0xac00..0xd7a4
        | 0xf900..0xfb00
        | 0xfe10..0xfe1a
        | 0xfe30..0xfe70
        | 0xff00..0xff61
        | 0xffe0..0xffe7
        | 0x16fe0..0x1b300
        | 0x1f18e
        | 0x1f191..0x1f19b
        | 0x1f200..0x1f266
        | 0x1f300..0x1f650
        | 0x1f680..0x1f700
        | 0x1f7e0..0x1f7f1
        | 0x1f900..0x1fb00
        | 0x20000..0x3fffe => 2,
        code if PICTURES.iter().any(|(first, last)| (*first..=*last).contains(&code)) => 2,
        _ => 1,
    }
}

/// Columns that a text without colour takes.
#[must_use]
pub fn columns_of(text: &str) -> usize {
    text.chars().map(columns_of_sign).sum()
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
        used += columns_of_sign(c);
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
    fn a_picture_takes_two_columns_wherever_it_stands_and_a_mark_none() {
        for (text, columns) in [
            ("🚀", 2),
            ("🧪", 2),
            ("🪣", 2),
            ("🟢", 2),
            ("✅❌⭐", 6),
            ("→✓ü", 3),
            ("é\u{301}", 1),
            ("a\u{20d7}\u{fe20}", 1),
            ("日本語", 6),
            ("plain", 5),
        ] {
            assert_eq!(columns_of(text), columns, "{text}");
        }
        assert!(PICTURES.windows(2).all(|pair| pair[0].1 < pair[1].0), "in their order");
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
