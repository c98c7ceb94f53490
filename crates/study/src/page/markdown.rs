//! The paper as Markdown; pictures are links to files beside it.

use std::fmt::Write as _;

use cosmark_report::escape::markdown as escaped;

use super::{Field, Paper, Part};

/// Lines of at most this many signs, broken between words.
const WIDTH: usize = 118;

fn wrapped(text: &str, indent: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last().map_or(0, |line| line.chars().count());
        if line > 0 && line + 1 + word.chars().count() + indent.len() > WIDTH {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    let lines: Vec<String> = lines.into_iter().map(as_text).collect();
    lines.join(&format!("\n{indent}"))
}

/// A line that begins no heading, list, quotation or block of code, whatever its first word is (CommonMark, 4 and 5).
fn as_text(line: String) -> String {
    let word = line.split(' ').next().unwrap_or_default();
    let is_all = |sign: char| !word.is_empty() && word.chars().all(|own| own == sign);
    let number = word.strip_suffix(['.', ')']).filter(|number| (1..=9).contains(&number.len()));
    if let Some(number) = number.filter(|number| number.bytes().all(|byte| byte.is_ascii_digit())) {
        let (number, rest) = line.split_at(number.len());
        return format!("{number}\\{rest}");
    }
    let begins = word.starts_with(['>', '~']) || word == "+" || ['#', '-', '='].into_iter().any(is_all);
    if begins { format!("\\{line}") } else { line }
}

/// The text; `pictures` is the folder that its links lead to.
#[must_use]
pub fn markdown(paper: &Paper, pictures: &str) -> String {
    let mut out = format!("# {}\n\n{}\n", escaped(&paper.title), wrapped(&escaped(&paper.subtitle), ""));
    for part in &paper.parts {
        match part {
            Part::Heading(order, text) => {
                let _ =
                    writeln!(out, "\n{} {}", "#".repeat(usize::from((*order).clamp(2, 4))), escaped(text));
            }
            Part::Text(text) => {
                let _ = writeln!(out, "\n{}", wrapped(&escaped(text), ""));
            }
            Part::List(items) => {
                out.push('\n');
                for item in items {
                    let _ = writeln!(out, "- {}", wrapped(&escaped(item), "  "));
                }
            }
            Part::Table { caption, columns, rows } => table(&mut out, caption, columns, rows),
            Part::Figure { name, caption, .. } => {
                // A bracket would be the end of the caption, and what follows the picture's address.
                let caption = escaped(caption).replace(']', "\\]");
                let _ = writeln!(out, "\n![{caption}]({pictures}/{name}.svg)");
            }
        }
    }
    out
}

fn table(out: &mut String, caption: &str, columns: &[String], rows: &[Vec<Field>]) {
    if !caption.is_empty() {
        let _ = writeln!(out, "\n{}", wrapped(&escaped(caption), ""));
    }
    let heads: Vec<String> = columns.iter().map(|text| escaped(text)).collect();
    let _ = writeln!(out, "\n| {} |\n|{}|", heads.join(" | "), vec!["---"; columns.len()].join("|"));
    for row in rows {
        let texts: Vec<String> = row.iter().map(|field| escaped(&field.words())).collect();
        let _ = writeln!(out, "| {} |", texts.join(" | "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_of_a_text_is_a_heading_a_list_a_quotation_or_code() {
        let page = |text: &str| {
            let paper = Paper { parts: vec![Part::Text(text.to_owned())], ..Paper::default() };
            markdown(&paper, "report").lines().skip(4).map(str::to_owned).collect::<Vec<_>>()
        };
        for word in [">", ">50", "-", "---", "+", "#", "###", "=", "===", "~~~", "1.", "12)"] {
            // As the first word, and as one before which a line is broken.
            let long = "x".repeat(WIDTH);
            let lines = page(&format!("{word} a {long} {word} b"));
            assert_eq!(lines.len(), 3, "{lines:?}");
            let escaped = match word.strip_suffix(['.', ')']) {
                Some(number) => format!("{number}\\{}", &word[number.len()..]),
                None if word == "~~~" => r"\~\~\~".to_owned(),
                None => format!("\\{word}"),
            };
            assert_eq!(lines[0], format!("{escaped} a"));
            assert_eq!(lines[2], format!("{escaped} b"));
        }
        for text in ["-5 of 6", "4.5 s", "p99 > 50 ms", "1234567890. x", "a-b", "#a", "x"] {
            assert_eq!(page(text), [text]);
        }
    }

    #[test]
    fn no_caption_leads_its_picture_elsewhere() {
        let picture = |caption: &str| {
            let (name, caption, svg) = ("figure-1".to_owned(), caption.to_owned(), String::new());
            let paper = Paper { parts: vec![Part::Figure { name, caption, svg }], ..Paper::default() };
            markdown(&paper, "report").lines().last().unwrap_or_default().to_owned()
        };
        assert_eq!(picture("Rate over n"), "![Rate over n](report/figure-1.svg)");
        let found = picture("x](http://there/y.png) ![z");
        assert_eq!(found, "![x\\](http://there/y.png) !\\[z](report/figure-1.svg)");
        // The backslash would free the bracket.
        assert_eq!(picture("x\\](y"), "![x\\\\\\](y](report/figure-1.svg)");
    }
}
