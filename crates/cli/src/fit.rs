//! Tables that fit the terminal: columns that are worth least go first, then the longest texts are cut or wrapped; where not even
//! what stays has room, each row is a block of lines.

use comfy_table::{Cell, CellAlignment, Color, ColumnConstraint, Table};

use crate::out::{ascii_only, frame};
use crate::paint::{Ink, To, is_on, paint};
use crate::screen::{columns_of, cut, room};
use crate::wrap::{broken, longest_word};

/// A column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its head.
    pub head: &'static str,
    /// Numbers stand to the right.
    pub is_number: bool,
    /// 0 = it stays; else the higher, the sooner it goes.
    pub goes: u8,
    /// It may be made narrower down to this many signs; 0 = never.
    pub least: usize,
    /// Where it is narrower it is wrapped between words, and not cut.
    pub wraps: bool,
}

impl Column {
    /// Text that stays as it is.
    pub const fn text(head: &'static str) -> Self {
        Self { head, is_number: false, goes: 0, least: 0, wraps: false }
    }

    /// A number that stays.
    pub const fn number(head: &'static str) -> Self {
        Self { head, is_number: true, goes: 0, least: 0, wraps: false }
    }

    /// It goes when there is no room; the higher, the sooner.
    pub const fn goes(self, goes: u8) -> Self {
        Self { goes, ..self }
    }

    /// It may be cut down to this many signs.
    pub const fn least(self, least: usize) -> Self {
        Self { least, ..self }
    }

    /// It may be wrapped between words, in no fewer than this many signs.
    pub const fn wraps(self, least: usize) -> Self {
        Self { least, wraps: true, ..self }
    }
}

/// Columns between two cells, and at both ends together.
const BETWEEN: usize = 3;
const ENDS: usize = 4;

/// Columns that such a table takes.
fn total(widths: &[Option<usize>]) -> usize {
    let shown: Vec<usize> = widths.iter().flatten().copied().collect();
    shown.iter().sum::<usize>() + BETWEEN * shown.len().saturating_sub(1) + ENDS
}

/// Width of each column, and which of them stay. `None` for the room = no bound.
fn arranged(columns: &[Column], rows: &[Vec<String>], room: Option<usize>) -> Vec<Option<usize>> {
    let widest = |at: usize, of: fn(&str) -> usize| {
        let cells = rows.iter().filter_map(|row| row.get(at));
        let widest = cells.flat_map(|cell| cell.lines().map(of)).max().unwrap_or(0);
        widest.max(columns_of(columns.get(at).map_or("", |column| column.head)))
    };
    let is_empty = |at: usize| rows.iter().all(|row| row.get(at).is_none_or(String::is_empty));
    let mut widths: Vec<Option<usize>> = (0..columns.len()).map(|at| Some(widest(at, columns_of))).collect();
    for (at, column) in columns.iter().enumerate() {
        // A column that nobody fills says nothing.
        if column.goes > 0 && !rows.is_empty() && is_empty(at) {
            widths[at] = None;
        }
    }
    let Some(room) = room else { return widths };
    // No word is broken.
    let least = |(at, column): (usize, &Column)| {
        if column.wraps { column.least.max(widest(at, longest_word)) } else { column.least }
    };
    let least: Vec<usize> = columns.iter().enumerate().map(least).collect();
    loop {
        let surplus = total(&widths).saturating_sub(room);
        if surplus == 0 {
            return widths;
        }
        // Cut first what can give all of it.
        let slack = |at: usize, width: usize| match least.get(at) {
            Some(least) if *least > 0 => width.saturating_sub(*least),
            _ => 0,
        };
        let all: usize =
            widths.iter().enumerate().filter_map(|(at, width)| width.map(|width| slack(at, width))).sum();
        let victim = widths
            .iter()
            .enumerate()
            .filter(|(_, width)| width.is_some())
            .filter_map(|(at, _)| {
                columns.get(at).filter(|column| column.goes > 0).map(|column| (column.goes, at))
            })
            .max();
        match victim {
            Some((_, at)) if all < surplus => widths[at] = None,
            _ if all == 0 => return widths,
            _ => {
                let longest = widths
                    .iter()
                    .enumerate()
                    .filter_map(|(at, width)| {
                        width.filter(|width| slack(at, *width) > 0).map(|width| (width, at))
                    })
                    .max();
                let Some((width, at)) = longest else { return widths };
                widths[at] = Some(width - 1);
            }
        }
    }
}

/// The table, in the width that results may take here; `ink` says in which colour a cell stands.
#[must_use]
pub fn table(columns: &[Column], rows: &[Vec<String>], ink: impl Fn(usize, &str) -> Ink) -> String {
    table_in(room(), columns, rows, ink)
}

/// A table without colours whose first columns are texts, and all others numbers; none goes.
#[must_use]
pub fn plain(heads: &[&'static str], texts: usize, rows: &[Vec<String>]) -> String {
    let column = |(at, &head): (usize, &&'static str)| {
        if at < texts { Column::text(head) } else { Column::number(head) }
    };
    let columns: Vec<Column> = heads.iter().enumerate().map(column).collect();
    table(&columns, rows, |_, _| Ink::Plain)
}

/// A table in this width; `None` = as wide as it is.
#[must_use]
pub fn table_in(
    room: Option<usize>,
    columns: &[Column],
    rows: &[Vec<String>],
    ink: impl Fn(usize, &str) -> Ink,
) -> String {
    let widths = arranged(columns, rows, room);
    if let Some(room) = room.filter(|room| total(&widths) > *room) {
        return blocks(columns, rows, room, ink);
    }
    let (is_ascii, colours) = (ascii_only(), is_on(To::Stdout));
    let mut table = Table::new();
    table.load_style(frame());
    if colours {
        table.enforce_styling();
    }
    let stored = || {
        columns
            .iter()
            .zip(&widths)
            .enumerate()
            .filter_map(|(at, (column, width))| Some((at, column, (*width)?)))
    };
    let ink = |at: usize, text: &str| if colours { ink(at, text) } else { Ink::Plain };
    let cell = |column: &Column, text: &str| {
        let alignment = if column.is_number { CellAlignment::Right } else { CellAlignment::Left };
        Cell::new(text).set_alignment(alignment)
    };
    table.set_header(stored().map(|(_, column, width)| cell(column, &cut(column.head, width, is_ascii))));
    for row in rows {
        table.add_row(stored().map(|(at, column, width)| {
            let text = row.get(at).map_or("", String::as_str);
            let fitted = |line: &str| {
                if column.wraps {
                    broken(&cut(line, usize::MAX, is_ascii), width, 0)
                } else {
                    cut(line, width, is_ascii)
                }
            };
            let lines: Vec<String> = text.lines().map(fitted).collect();
            let shown = cell(column, &lines.join("\n"));
            match ink(at, text) {
                Ink::Good => shown.fg(Color::DarkGreen),
                Ink::Doubtful => shown.fg(Color::DarkYellow),
                Ink::Bad => shown.fg(Color::DarkRed),
                _ => shown,
            }
        }));
    }
    table.set_constraints(stored().map(|_| ColumnConstraint::ContentWidth));
    table.to_string()
}

/// What goes on of a line of a block stands so far in.
const HANG: usize = 4;

/// A block for each row: a line for each cell that says something, with the head of its column.
fn blocks(columns: &[Column], rows: &[Vec<String>], room: usize, ink: impl Fn(usize, &str) -> Ink) -> String {
    let mut lines: Vec<String> = Vec::new();
    for row in rows {
        let cells = columns.iter().zip(row).enumerate().filter(|(_, (_, cell))| !cell.trim().is_empty());
        for (line, (at, (column, cell))) in cells.enumerate() {
            let parts: Vec<String> = cell.lines().map(|part| cut(part.trim(), usize::MAX, false)).collect();
            let indent = if line == 0 { "" } else { "  " };
            let label = if column.head.is_empty() { String::new() } else { format!("{}: ", column.head) };
            let text = paint(To::Stdout, ink(at, cell), &parts.join(", "));
            lines.push(broken(&format!("{indent}{label}{text}"), room, HANG));
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[Column] = &[
        Column::text("id"),
        Column::text("name").least(6),
        Column::number("op/s"),
        Column::text("submitted").goes(2),
        Column::text("tags").goes(1).least(4),
    ];

    fn rows() -> Vec<Vec<String>> {
        let row = |cells: [&str; 5]| cells.map(str::to_owned).to_vec();
        vec![
            row(["w1", "a-rather-long-name", "12 345", "2026-11-21", ""]),
            row(["w2", "b", "1", "", "fast nvme"]),
        ]
    }

    #[test]
    fn a_table_is_no_wider_than_its_room_and_numbers_are_never_cut() {
        let full = arranged(COLUMNS, &rows(), None);
        assert_eq!(full, [Some(2), Some(18), Some(6), Some(10), Some(9)]);
        for room in 26..80 {
            let widths = arranged(COLUMNS, &rows(), Some(room));
            assert!(total(&widths) <= room, "{room}: {widths:?}");
            assert_eq!((widths[0], widths[2]), (Some(2), Some(6)), "{room}");
        }
        let narrow = arranged(COLUMNS, &rows(), Some(34));
        assert_eq!(narrow[3], None, "what is worth least has gone: {narrow:?}");
        assert!(narrow[1].unwrap() > 6);
        assert_eq!(arranged(COLUMNS, &rows(), Some(3)).iter().flatten().count(), 3, "what stays, stays");
    }

    #[test]
    fn a_column_that_nobody_fills_is_left_out() {
        let mut rows = rows();
        rows.iter_mut().for_each(|row| row[4] = String::new());
        assert_eq!(arranged(COLUMNS, &rows, None)[4], None);
    }

    #[test]
    fn what_has_no_room_for_its_table_is_a_block_for_each_row_with_every_cell() {
        let plain = |_: usize, _: &str| Ink::Plain;
        for room in 10..80 {
            let text = table_in(Some(room), COLUMNS, &rows(), plain);
            let widest = text.lines().map(columns_of).max().unwrap();
            // No more than the longest word with its label.
            assert!(widest <= room.max("  name: a-rather-long-name".len()), "{room}:\n{text}");
            assert!(["w1", "12 345", "w2"].iter().all(|what| text.contains(what)), "{room}:\n{text}");
        }
        let narrow = table_in(Some(20), COLUMNS, &rows(), plain);
        assert_eq!(
            narrow,
            "id: w1\n  name:\n    a-rather-long-name\n  op/s: 12 345\n  submitted:\n    2026-11-21\nid: w2\n  name: b\n  \
             op/s: 1\n  tags: fast nvme"
        );
    }

    #[test]
    fn a_text_that_wraps_loses_no_word_and_breaks_none() {
        let columns = [Column::text("id"), Column::text("found").wraps(8)];
        let found = "of 12 345 operations none was late";
        let rows = [vec!["V3".to_owned(), found.to_owned()]];
        for room in 10..60 {
            let text = table_in(Some(room), &columns, &rows, |_, _| Ink::Plain);
            let words = text.replace(|sign: char| !sign.is_ascii_alphanumeric(), " ");
            let words: Vec<&str> = words.split_whitespace().collect();
            assert!(words.join(" ").ends_with(found), "{room}: {words:?}");
            assert!(text.contains("12 345") && text.contains("operations"), "{room}:\n{text}");
            assert!(text.lines().all(|line| columns_of(line) <= room.max(14)), "{room}:\n{text}");
        }
    }
}
