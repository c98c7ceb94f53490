//! One HTML file that asks for nothing from anywhere. Text is escaped; pictures are SVG in the page.

use std::fmt::Write as _;

use super::{Field, Look, Paper, Part};

const STYLE: &str = "
:root{color-scheme:light dark;--ink:#1a1a1a;--dim:#5b6470;--line:#d5dae0;--paper:#fff;--soft:#f4f6f8;--best:#d9efe2;--warn:#b3541e}
@media(prefers-color-scheme:dark){:root{--ink:#e8eaed;--dim:#9aa4b0;--line:#39424d;--paper:#15191e;--soft:#1e242b;--best:#1d4630;--warn:#f0a06a}}
*{box-sizing:border-box}body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,'DejaVu Sans',sans-serif}
main{max-width:1040px;margin:0 auto;padding:24px 20px 80px}h1{font-size:28px;line-height:1.25;margin:12px 0 4px}
h2{font-size:21px;margin:40px 0 8px;border-bottom:1px solid var(--line);padding-bottom:4px}h3{font-size:17px;margin:26px 0 6px}
.sub{color:var(--dim);margin:0 0 18px}.wide{overflow-x:auto;margin:10px 0 20px}table{border-collapse:collapse;font-size:14px;min-width:50%}
caption{text-align:left;color:var(--dim);padding:4px 0;font-size:14px}th,td{border:1px solid var(--line);padding:4px 9px;text-align:left;vertical-align:top}
th{background:var(--soft);position:sticky;top:0}td.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
td.false{background:repeating-linear-gradient(135deg,transparent 0 5px,rgba(200,60,40,.28) 5px 8px)}
td.hollow{outline:2px dashed var(--warn);outline-offset:-3px}td.best{background:var(--best);font-weight:600}td.notrun{color:var(--dim);font-style:italic}
figure{margin:18px 0;background:#fff;border:1px solid var(--line);border-radius:6px;padding:8px}figure svg{width:100%;height:auto;max-width:860px;display:block;margin:0 auto}
figcaption{color:#444;font-size:14px;padding:4px 8px}nav{font-size:14px;columns:2;margin:10px 0 24px}nav a{color:inherit}
tr,figure{break-inside:avoid}h2,h3,caption{break-after:avoid}
@media print{:root{color-scheme:light;--ink:#000;--dim:#444;--line:#999;--paper:#fff;--soft:#eee;--best:#d9efe2;--warn:#b3541e}
nav{display:none}main{max-width:none;padding:0}.wide{overflow:visible}table{font-size:9px;width:100%}th{position:static}td.n{white-space:normal}*{print-color-adjust:exact}}
";

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            sign if sign.is_control() && sign != '\n' => out.push(' '),
            sign => out.push(sign),
        }
    }
    out
}

/// The page.
#[must_use]
pub fn html(paper: &Paper) -> String {
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width,initial-scale=1\">\n<meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n<title>{title}</title>\n<style>{STYLE}</style>\n\
         </head>\n<body>\n<main>\n<h1>{title}</h1>\n<p class=\"sub\">{sub}</p>\n",
        title = escaped(&paper.title),
        sub = escaped(&paper.subtitle),
    );
    out.push_str("<nav>\n");
    for (at, part) in paper.parts.iter().enumerate() {
        if let Part::Heading(2, text) = part {
            let _ = writeln!(out, "<a href=\"#p{at}\">{}</a><br>", escaped(text));
        }
    }
    out.push_str("</nav>\n");
    for (at, part) in paper.parts.iter().enumerate() {
        part_of(&mut out, at, part);
    }
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

fn part_of(out: &mut String, at: usize, part: &Part) {
    match part {
        Part::Heading(order, text) => {
            let order = (*order).clamp(2, 4);
            let _ = writeln!(out, "<h{order} id=\"p{at}\">{}</h{order}>", escaped(text));
        }
        Part::Text(text) => {
            let _ = writeln!(out, "<p>{}</p>", escaped(text));
        }
        Part::List(items) => {
            out.push_str("<ul>\n");
            for item in items {
                let _ = writeln!(out, "<li>{}</li>", escaped(item));
            }
            out.push_str("</ul>\n");
        }
        Part::Table { caption, columns, rows } => table(out, caption, columns, rows),
        Part::Figure { name, caption, svg } => {
            // Ids are those of the whole page.
            let own = svg
                .replace("id=\"frame\"", &format!("id=\"frame{at}\""))
                .replace("url(#frame)", &format!("url(#frame{at})"));
            let own = own.trim_start_matches("<?xml version=\"1.0\" encoding=\"UTF-8\"?>").trim();
            let number = name.strip_prefix("figure-").map(|at| format!("Figure {at}. ")).unwrap_or_default();
            let caption = escaped(&format!("{number}{caption}"));
            let _ = writeln!(out, "<figure>{own}<figcaption>{caption}</figcaption></figure>");
        }
    }
}

/// Whether every field of a column that says something is a number, maybe with an interval or a unit.
fn has_numbers(rows: &[Vec<Field>], at: usize) -> bool {
    let is_number = |text: &str| {
        let first = text.split([' ', '%']).next().unwrap_or_default();
        first.parse::<f64>().is_ok_and(f64::is_finite)
    };
    let texts = rows.iter().filter_map(|row| row.get(at)).map(|field| field.text.as_str());
    let mut said = texts.filter(|text| !text.is_empty() && *text != "-").peekable();
    said.peek().is_some() && said.all(is_number)
}

fn table(out: &mut String, caption: &str, columns: &[String], rows: &[Vec<Field>]) {
    let _ = writeln!(out, "<div class=\"wide\"><table><caption>{}</caption>\n<thead><tr>", escaped(caption));
    for column in columns {
        let _ = write!(out, "<th scope=\"col\">{}</th>", escaped(column));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    // A column is one of numbers as a whole, or its fields would stand at both edges.
    let is_numeric: Vec<bool> = (0..columns.len()).map(|at| has_numbers(rows, at)).collect();
    for row in rows {
        out.push_str("<tr>");
        for (at, field) in row.iter().enumerate() {
            let number = is_numeric.get(at) == Some(&true) && field.text.len() < 40;
            let look = match field.look {
                Look::Plain => "",
                Look::False => "false",
                Look::Hollow => "hollow",
                Look::Best => "best",
                Look::NotRun => "notrun",
            };
            let class = [if number { "n" } else { "" }, look].join(" ");
            let _ = write!(out, "<td class=\"{}\">{}</td>", class.trim(), escaped(&field.words()));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_a_column_stand_at_one_edge() {
        let rows: Vec<Vec<Field>> = [["4k", "12.5 (11.0 to 14.0)", "-"], ["-", "7 %", "3"], ["1m", "-", "-"]]
            .map(|row| row.map(Field::new).to_vec())
            .to_vec();
        assert_eq!((0..4).map(|at| has_numbers(&rows, at)).collect::<Vec<_>>(), [false, true, true, false]);
        let mut out = String::new();
        table(&mut out, "", &["block", "here", "more"].map(str::to_owned), &rows);
        assert_eq!(out.matches("<td class=\"n\">").count(), 6, "{out}");
        assert!(out.contains("<td class=\"\">4k</td>") && out.contains("<td class=\"n\">-</td>"), "{out}");
    }
}
