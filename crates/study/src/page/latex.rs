//! The paper's tables for LaTeX: `\\input{tables.tex}` in a document that loads `booktabs` and `longtable`.

use std::fmt::Write as _;

use cosmark_report::escape::latex as escaped;

use super::{Look, Paper, Part};

/// The tables.
#[must_use]
pub fn latex(paper: &Paper) -> String {
    let mut out = format!(
        "% {}\n% \\usepackage{{booktabs,longtable}} and \\input{{tables.tex}}\n",
        paper.title.replace(char::is_control, " ")
    );
    for part in &paper.parts {
        let Part::Table { caption, columns, rows } = part else { continue };
        let _ = writeln!(out, "\n\\begin{{longtable}}{{{}}}", "l".repeat(columns.len()));
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
