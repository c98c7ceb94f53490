//! A table as a picture: head, lines, numbers to the right. It is as wide as the paper: what is narrower is spread over it; of
//! what is wider cells are broken into several lines, and where that is not enough everything is drawn smaller.

use super::draw::{Sheet, cut_to, fitting, wrapped};
use super::svg::{Hold, Stroke, Svg, width_of};

const TEXT: f64 = 13.0;
const TITLE: f64 = 15.0;
const NOTE: f64 = 11.0;
const ROW: f64 = 22.0;
/// From one line of a cell, or of the note, to the next.
const LINE: f64 = 15.0;
/// Left and right of the table.
const MARGIN: f64 = 12.0;
/// Between the ends of its lines and what stands at them.
const INDENT: f64 = 6.0;
/// The least room between two columns.
const GAP: f64 = 8.0;
/// Names without a place to break them are broken behind so many signs.
const MOST_SIGNS: usize = 16;

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

/// What stands in a cell, which says where it may be broken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cell {
    Head,
    Name,
    Value,
}

/// A text in parts that may stand below each other.
fn parts(text: &str, cell: Cell) -> Vec<String> {
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut signs = text.chars().peekable();
    while let Some(sign) = signs.next() {
        let is_of_digit = part.ends_with(|before: char| before.is_ascii_digit());
        part.push(sign);
        let next = signs.peek().copied();
        // `12.5/s` is one number.
        let is_in_number = match sign {
            '.' | ',' => is_of_digit && next.is_some_and(|next| next.is_ascii_digit()),
            '/' => is_of_digit && next == Some('s') && signs.clone().nth(1).is_none(),
            _ => false,
        };
        let breaks = match cell {
            // A number and its unit belong together.
            Cell::Head => sign == ' ' && next != Some('%'),
            Cell::Name => (" -_./,:=".contains(sign) && !is_in_number) || part.chars().count() >= MOST_SIGNS,
            Cell::Value => sign == ' ' && next == Some('['),
        };
        if breaks {
            parts.push(std::mem::take(&mut part));
        }
    }
    parts.extend((!part.is_empty()).then_some(part));
    parts
}

/// Words of the head are bold, and wider.
fn width_in_cell(text: &str, is_head: bool) -> f64 {
    width_of(text.trim_end(), TEXT) * if is_head { 1.1 } else { 1.04 }
}

/// The lines of a cell of this width.
fn lines_of(parts: &[String], width: f64, is_head: bool) -> Vec<String> {
    let mut lines = Vec::<String>::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if width_in_cell(&format!("{line}{part}"), is_head) <= width + 0.01 => {
                line.push_str(part);
            }
            _ => lines.push(part.clone()),
        }
    }
    lines.iter().map(|line| line.trim_end().to_owned()).collect()
}

/// The widths of columns that fit into the room: the widest get narrower first, and none narrower than its longest part.
fn narrowed(whole: &[f64], least: &[f64], room: f64) -> Vec<f64> {
    let cut = |most: f64| -> Vec<f64> {
        whole.iter().zip(least).map(|(whole, least)| f64::min(*whole, most.max(*least))).collect()
    };
    let fits = |most: f64| cut(most).iter().sum::<f64>() <= room + 1e-6;
    let mut most = whole.iter().copied().fold(0.0, f64::max);
    if !fits(most) {
        let mut low = 0.0;
        for _ in 0..40 {
            let middle = f64::midpoint(low, most);
            if fits(middle) {
                low = middle;
            } else {
                most = middle;
            }
        }
        most = low;
    }
    cut(most)
}

/// A table whose cells have their places.
struct Layout {
    /// Of each row, its head first, the lines of each cell.
    cells: Vec<Vec<Vec<String>>>,
    /// The widths of columns.
    columns: Vec<f64>,
    /// Between two columns.
    gap: f64,
    /// Of all of it: that of the paper, or more where it has to be drawn smaller.
    width: f64,
}

impl Layout {
    fn of(table: &TextTable, paper: f64) -> Self {
        let count = table.head.len();
        let (mut whole, mut least) = (vec![0.0_f64; count], vec![0.0_f64; count]);
        let mut rows = Vec::<Vec<Vec<String>>>::new();
        for (line, row) in std::iter::once(&table.head).chain(&table.rows).enumerate() {
            let mut cells = Vec::new();
            for (column, text) in row.iter().enumerate().take(count) {
                let cell = match (line, column < table.names) {
                    (0, _) => Cell::Head,
                    (_, true) => Cell::Name,
                    (_, false) => Cell::Value,
                };
                let parts = parts(text, cell);
                let width = |text: &str| width_in_cell(text, line == 0);
                whole[column] = whole[column].max(width(text));
                least[column] = parts.iter().map(|part| width(part)).fold(least[column], f64::max);
                cells.push(parts);
            }
            rows.push(cells);
        }
        #[expect(clippy::cast_precision_loss, reason = "columns of a table")]
        let gaps = count.saturating_sub(1) as f64;
        let edges = 2.0 * (MARGIN + INDENT);
        let gap = ((paper - edges - whole.iter().sum::<f64>()) / gaps.max(1.0)).max(GAP);
        let columns = narrowed(&whole, &least, paper - edges - gap * gaps);
        let width = columns.iter().sum::<f64>() + gap * gaps + edges;
        let broken = |(row, cells): (usize, &Vec<Vec<String>>)| -> Vec<Vec<String>> {
            cells.iter().zip(&columns).map(|(parts, width)| lines_of(parts, *width, row == 0)).collect()
        };
        let cells = rows.iter().enumerate().map(broken).collect();
        Self { cells, columns, gap, width: width.max(paper) }
    }
}

/// Size of its text on this paper, pt: as it is asked for, or smaller where the table is wider.
pub fn text_pt(table: &TextTable, sheet: Sheet) -> f64 {
    sheet.text_pt() * sheet.width / Layout::of(table, sheet.width).width
}

/// How much room lines below the first one take.
fn further(lines: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a few lines")]
    let further = lines.saturating_sub(1) as f64;
    further * LINE
}

/// Draws it.
pub fn draw(table: &TextTable, sheet: Sheet) -> String {
    let layout = Layout::of(table, sheet.width);
    let width = layout.width;
    let top = if table.title.is_empty() { 10.0 } else { 38.0 };
    let height_of =
        |cells: &Vec<Vec<String>>| ROW + further(cells.iter().map(Vec::len).max().unwrap_or_default());
    let rows: f64 = layout.cells.iter().map(height_of).sum();
    let note = wrapped(&table.note, NOTE, width - 2.0 * (MARGIN + INDENT));
    let note_height = if note.is_empty() { 0.0 } else { 20.0 + further(note.len()) };
    let height = top + rows + note_height + 16.0;
    let mut svg = Svg::new(width, height, sheet.unit_pt * sheet.width / width, &table.title);
    if !table.title.is_empty() {
        let size = fitting(&table.title, TITLE, width);
        let title = cut_to(&table.title, size * 1.06, width - 19.0);
        svg.words((MARGIN, 24.0), size, Hold::Start, 0.0, true, &title);
    }
    let end = width - MARGIN;
    let mut y = top + 15.0;
    for (line, cells) in layout.cells.iter().enumerate() {
        let mut x = MARGIN + INDENT;
        for (column, (lines, width)) in cells.iter().zip(&layout.columns).enumerate() {
            let (at, hold) = if column < table.names { (x, Hold::Start) } else { (x + width, Hold::End) };
            for (below, text) in lines.iter().enumerate() {
                svg.words((at, y + further(below + 1)), TEXT, hold, 0.0, line == 0, text);
            }
            x += width + layout.gap;
        }
        if line == 0 {
            svg.line((MARGIN, top - 2.0), (end, top - 2.0), Stroke::plain("#1a1a1a", 1.4));
            let under = y + height_of(cells) - ROW + 7.0;
            svg.line((MARGIN, under), (end, under), Stroke::plain("#1a1a1a", 0.8));
        }
        y += height_of(cells);
    }
    let bottom = y - 14.0;
    svg.line((MARGIN, bottom), (end, bottom), Stroke::plain("#1a1a1a", 1.4));
    for (below, text) in note.iter().enumerate() {
        let at = (MARGIN + INDENT, bottom + 18.0 + further(below + 1));
        svg.words(at, NOTE, Hold::Start, 0.0, false, text);
    }
    svg.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(names: &[&str], values: usize) -> TextTable {
        let head = ["run", "stage"].into_iter().chain(std::iter::repeat_n("99.9 %", values));
        let row = |name: &&str| -> Vec<String> {
            let values = std::iter::repeat_n("123.4".to_owned(), values);
            [(*name).to_owned(), "main".to_owned()].into_iter().chain(values).collect()
        };
        TextTable {
            title: "Response times in ms, of every run that was made".to_owned(),
            head: head.map(str::to_owned).collect(),
            names: 2,
            rows: names.iter().map(row).collect(),
            note: "- = not in the archive, or fewer than ten operations lie beyond.".to_owned(),
        }
    }

    /// Width on paper and in units, and of each text where it begins and ends, and the text.
    fn drawn(table: &TextTable, sheet: Sheet) -> (f64, f64, Vec<(f64, f64, String)>) {
        let svg = draw(table, sheet);
        let value = |line: &str, key: &str| {
            line.split_once(&format!(" {key}=\"")).unwrap().1.split_once('"').unwrap().0.to_owned()
        };
        let head = svg.lines().find(|line| line.starts_with("<svg")).unwrap();
        let paper = value(head, "width").trim_end_matches("pt").parse().unwrap();
        let units = value(head, "viewBox").split(' ').nth(2).unwrap().parse().unwrap();
        let texts = svg.lines().filter(|line| line.starts_with("<text")).map(|line| {
            let text = line.split_once('>').unwrap().1.trim_end_matches("</text>").to_owned();
            let (x, size): (f64, f64) =
                (value(line, "x").parse().unwrap(), value(line, "font-size").parse().unwrap());
            let from = if value(line, "text-anchor") == "end" { x - width_of(&text, size) } else { x };
            (from, from + width_of(&text, size), text)
        });
        (paper, units, texts.collect())
    }

    #[test]
    fn a_table_is_as_wide_as_the_paper_whatever_stands_in_it() {
        let long = "w12-mixed_workload_of_the_second_cluster-with-many-workers";
        let script = "\u{8a66}\u{9a13}".repeat(30);
        for names in [vec!["w1"], vec![long], vec!["w1", long, script.as_str()], vec![]] {
            for values in [0, 1, 4, 12] {
                for (cm, pt) in [(18.0, 9.2), (8.5, 8.0), (5.0, 5.0), (60.0, 9.2)] {
                    let (sheet, table) = (Sheet::new(cm, pt).unwrap(), of(&names, values));
                    let (paper, units, texts) = drawn(&table, sheet);
                    assert!((paper - cm / 2.54 * 72.0).abs() < 0.02, "{paper} pt for {cm} cm");
                    for (from, to, text) in &texts {
                        assert!(*from >= 0.0 && *to <= units, "{text} from {from} to {to} of {units}");
                    }
                    let written: String =
                        texts.iter().map(|(.., text)| text.as_str()).collect::<String>().replace(' ', "");
                    assert!(names.iter().all(|name| written.contains(name)), "{written}");
                }
            }
        }
    }

    #[test]
    fn no_number_is_broken_and_bold_words_of_the_head_have_a_gap() {
        let of = |text: &str| parts(text, Cell::Name);
        assert_eq!(of("100.0/s"), ["100.0/s"]);
        assert_eq!(of("1,234.5/s"), ["1,234.5/s"]);
        assert_eq!(of("w1.main/x"), ["w1.", "main/", "x"]);
        // Widths of DejaVu Sans Bold, in units of 2048 to an em: o p e r a t i o n, c o u n t.
        let bold = |units: [u32; 9]| f64::from(units.into_iter().sum::<u32>()) / 2048.0 * TEXT;
        let operation = bold([1407, 1466, 1389, 1010, 1382, 979, 702, 1407, 1458]);
        let count = bold([1214, 1407, 1458, 1458, 979, 0, 0, 0, 0]);
        assert!(width_in_cell("operation", true) + 1.0 > operation, "{operation}");
        assert!(width_in_cell("count", true) + 1.0 > count, "{count}");
    }

    #[test]
    fn text_is_smaller_only_where_nothing_else_helps() {
        let column = Sheet::new(8.5, 8.0).unwrap();
        let is_whole =
            |table: &TextTable, sheet: Sheet| (text_pt(table, sheet) - sheet.text_pt()).abs() < 1e-6;
        let long = "w12-mixed-workload-of-the-second-cluster-with-many-workers";
        assert!(is_whole(&of(&["w1"], 4), column) && is_whole(&of(&[long], 4), column));
        let (.., texts) = drawn(&of(&[long], 4), column);
        assert!(!texts.iter().any(|(.., text)| text == long), "broken: {texts:?}");
        assert!(texts.iter().any(|(.., text)| text == "99.9 %"), "{texts:?}");
        let small = text_pt(&of(&[long], 12), column);
        assert!((2.0..8.0).contains(&small), "{small}");
        assert!(is_whole(&of(&[long], 12), Sheet::new(40.0, 8.0).unwrap()));
    }
}
