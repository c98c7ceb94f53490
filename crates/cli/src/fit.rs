//! Tables that fit the terminal: columns that are worth least go first, then the longest texts are cut.

use comfy_table::{Cell, CellAlignment, Color, ColumnConstraint, Table};

use crate::out::{ascii_only, frame};
use crate::paint::{Ink, To, is_on};
use crate::screen::{columns_of, cut, room};

/// A column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its head.
    pub head: &'static str,
    /// Numbers stand to the right.
    pub is_number: bool,
    /// 0 = it stays; else the higher, the sooner it goes.
    pub goes: u8,
    /// It may be cut down to this many signs; 0 = never.
    pub least: usize,
}

impl Column {
    /// Text that stays as it is.
    pub const fn text(head: &'static str) -> Self {
        Self { head, is_number: false, goes: 0, least: 0 }
    }

    /// A number that stays.
    pub const fn number(head: &'static str) -> Self {
        Self { head, is_number: true, goes: 0, least: 0 }
    }

    /// It goes when there is no room; the higher, the sooner.
    pub const fn goes(self, goes: u8) -> Self {
        Self { goes, ..self }
    }

    /// It may be cut down to this many signs.
    pub const fn least(self, least: usize) -> Self {
        Self { least, ..self }
    }
}

/// Columns between two cells, and at both ends together.
const BETWEEN: usize = 3;
const ENDS: usize = 4;

/// Width of each column, and which of them stay. `None` for the room = no bound.
fn arranged(columns: &[Column], rows: &[Vec<String>], room: Option<usize>) -> Vec<Option<usize>> {
    let natural = |at: usize| {
        let cells = rows.iter().filter_map(|row| row.get(at));
        let widest = cells.flat_map(|cell| cell.lines().map(columns_of)).max().unwrap_or(0);
        widest.max(columns_of(columns.get(at).map_or("", |column| column.head)))
    };
    let is_empty = |at: usize| rows.iter().all(|row| row.get(at).is_none_or(String::is_empty));
    let mut widths: Vec<Option<usize>> = (0..columns.len()).map(|at| Some(natural(at))).collect();
    for (at, column) in columns.iter().enumerate() {
        // A column that nobody fills says nothing.
        if column.goes > 0 && !rows.is_empty() && is_empty(at) {
            widths[at] = None;
        }
    }
    let Some(room) = room else { return widths };
    let total = |widths: &[Option<usize>]| {
        let stored: Vec<usize> = widths.iter().flatten().copied().collect();
        stored.iter().sum::<usize>() + BETWEEN * stored.len().saturating_sub(1) + ENDS
    };
    loop {
        let surplus = total(&widths).saturating_sub(room);
        if surplus == 0 {
            return widths;
        }
        // Cut first what can give all of it.
        let slack = |at: usize, width: usize| match columns.get(at) {
            Some(column) if column.least > 0 => width.saturating_sub(column.least),
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
    let widths = arranged(columns, rows, room());
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
            let lines: Vec<String> = text.lines().map(|line| cut(line, width, is_ascii)).collect();
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

    fn width(widths: &[Option<usize>]) -> usize {
        let stored: Vec<usize> = widths.iter().flatten().copied().collect();
        stored.iter().sum::<usize>() + BETWEEN * (stored.len() - 1) + ENDS
    }

    #[test]
    fn a_table_is_no_wider_than_its_room_and_numbers_are_never_cut() {
        let full = arranged(COLUMNS, &rows(), None);
        assert_eq!(full, [Some(2), Some(18), Some(6), Some(10), Some(9)]);
        for room in 26..80 {
            let widths = arranged(COLUMNS, &rows(), Some(room));
            assert!(width(&widths) <= room, "{room}: {widths:?}");
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
}
