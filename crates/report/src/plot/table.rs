//! A table as a picture: head, lines, numbers to the right.

use super::draw::Sheet;
use super::svg::{Hold, Stroke, Svg, width_of};

const TEXT: f64 = 13.0;
const ROW: f64 = 22.0;

/// A table.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TextTable {
    /// Above it; empty = none.
    pub title: String,
    /// Columns; the first ones hold names.
    pub head: Vec<String>,
    /// How many columns hold names.
    pub names: usize,
    /// Rows.
    pub rows: Vec<Vec<String>>,
    /// Below it.
    pub note: String,
}

/// Draws it.
pub fn draw(table: &TextTable, sheet: Sheet) -> String {
    let width_at = |column: usize| {
        let cells = std::iter::once(&table.head).chain(&table.rows).filter_map(|row| row.get(column));
        cells.map(|cell| width_of(cell, TEXT) * 1.04).fold(0.0, f64::max) + 20.0
    };
    let widths: Vec<f64> = (0..table.head.len()).map(width_at).collect();
    let width = (widths.iter().sum::<f64>() + 24.0).max(width_of(&table.title, 15.0) * 1.1 + 24.0);
    let top = if table.title.is_empty() { 10.0 } else { 38.0 };
    #[expect(clippy::cast_precision_loss, reason = "rows of a table")]
    let rows = table.rows.len() as f64;
    let note = if table.note.is_empty() { 0.0 } else { 20.0 };
    let height = top + (rows + 1.0) * ROW + note + 16.0;
    let mut svg =
        Svg::new(width.max(width_of(&table.note, 11.0) + 24.0), height, sheet.unit_pt, &table.title);
    if !table.title.is_empty() {
        svg.words((12.0, 24.0), 15.0, Hold::Start, 0.0, true, &table.title);
    }
    let end = 12.0 + widths.iter().sum::<f64>();
    let mut y = top + 15.0;
    for (line, row) in std::iter::once(&table.head).chain(&table.rows).enumerate() {
        let mut x = 12.0;
        for (column, cell) in row.iter().enumerate() {
            let width = widths.get(column).copied().unwrap_or_default();
            let (at, hold) =
                if column < table.names { (x + 6.0, Hold::Start) } else { (x + width - 6.0, Hold::End) };
            svg.words((at, y), TEXT, hold, 0.0, line == 0, cell);
            x += width;
        }
        if line == 0 {
            svg.line((12.0, top - 2.0), (end, top - 2.0), Stroke::plain("#1a1a1a", 1.4));
            svg.line((12.0, y + 7.0), (end, y + 7.0), Stroke::plain("#1a1a1a", 0.8));
        }
        y += ROW;
    }
    let bottom = y - 14.0;
    svg.line((12.0, bottom), (end, bottom), Stroke::plain("#1a1a1a", 1.4));
    if !table.note.is_empty() {
        svg.words((18.0, bottom + 18.0), 11.0, Hold::Start, 0.0, false, &table.note);
    }
    svg.end()
}
