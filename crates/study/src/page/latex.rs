//! The paper's tables for LaTeX: `\\input{tables.tex}` in a document that loads `booktabs` and `longtable`.

use std::fmt::Write as _;

use cosmark_report::escape::latex as escaped;

use super::{Field, Look, Paper, Part};

/// Signs of a line of a page.
const LINE: usize = 80;
/// A column with a longer text is broken into lines, where its table is wider than the page.
const LONGEST_UNBROKEN: usize = 24;
/// Beyond this a longer text makes its column no wider.
const WIDEST: usize = 120;
/// What the space on both sides of a column takes of a line, in thousandths.
const BESIDE: usize = 35;
/// Columns of long texts have so much of a line at least, in thousandths.
const LEAST: usize = 300;

/// The tables.
#[must_use]
pub fn latex(paper: &Paper) -> String {
    let mut out = format!(
        "% {}\n% \\usepackage{{booktabs,longtable}} and \\input{{tables.tex}}\n",
        paper.title.replace(char::is_control, " ")
    );
    for part in &paper.parts {
        let Part::Table { caption, columns, rows } = part else { continue };
        let _ = writeln!(out, "\n\\begin{{longtable}}{{{}}}", kinds(columns, rows));
        let _ = writeln!(out, "\\caption{{{}}}\\\\\n\\toprule", escaped(caption));
        let heads: Vec<String> = columns.iter().map(|text| escaped(text)).collect();
        let _ = writeln!(out, "{} \\\\\n\\midrule\n\\endhead", heads.join(" & "));
        for row in rows {
            let texts: Vec<String> = row
                .iter()
                .map(|field| {
                    let text = escaped(&field.words());
                    if field.look == Look::Best { format!("\\textbf{{{text}}}") } else { text }
                })
                .collect();
            let _ = writeln!(out, "{} \\\\", texts.join(" & "));
        }
        out.push_str("\\bottomrule\n\\end{longtable}\n");
    }
    out
}

/// The kinds of the columns: as wide as their texts, or with a share of the line where these would not fit the page.
fn kinds(columns: &[String], rows: &[Vec<Field>]) -> String {
    let longest = |(at, name): (usize, &String)| {
        let texts = rows.iter().filter_map(|row| row.get(at)).map(|field| field.words().chars().count());
        texts.fold(name.chars().count(), usize::max)
    };
    let widths: Vec<usize> = columns.iter().enumerate().map(longest).collect();
    let is_long = |width: &usize| *width > LONGEST_UNBROKEN;
    if widths.iter().sum::<usize>() <= LINE || !widths.iter().any(is_long) {
        return "l".repeat(columns.len());
    }
    let short: usize = widths.iter().filter(|width| !is_long(width)).sum();
    let taken = short * 1000 / LINE + BESIDE * columns.len();
    let room = 1000_usize.saturating_sub(taken).max(LEAST);
    let all: usize = widths.iter().filter(|width| is_long(width)).map(|width| *width.min(&WIDEST)).sum();
    let kind = |width: &usize| {
        if !is_long(width) {
            return "l".to_owned();
        }
        format!("p{{0.{:03}\\linewidth}}", room * *width.min(&WIDEST) / all.max(1))
    };
    widths.iter().map(kind).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_sentences_fits_the_page_and_one_of_numbers_stays_as_it_is() {
        let table = |texts: &[&str]| {
            let columns = (0..texts.len()).map(|at| format!("c{at}")).collect();
            let rows = vec![texts.iter().map(|text| Field::new(*text)).collect()];
            latex(&Paper {
                parts: vec![Part::Table { caption: String::new(), columns, rows }],
                ..Paper::default()
            })
        };
        assert!(table(&["4k", "12.5 (11.0 to 14.0)", "-"]).contains("\\begin{longtable}{lll}\n"));
        // Many columns of short texts cannot be broken.
        assert!(table(&["12.5 (11.0 to 14.0)"; 6]).contains("\\begin{longtable}{llllll}\n"));
        let (sentence, longer) = ("word ".repeat(12), "word ".repeat(50));
        let found = table(&["swift", &sentence, "1 of 2", &longer]);
        assert!(found.contains("{lp{0.241\\linewidth}lp{0.482\\linewidth}}\n"), "{found}");
        // The only column has less than the whole line.
        let found = table(&[&longer]);
        assert!(found.contains("{p{0.965\\linewidth}}\n"), "{found}");
    }
}
