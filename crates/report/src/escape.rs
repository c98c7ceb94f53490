//! Texts of runs and studies, which anybody may have written, in pages that others read.

/// A text in Markdown that is what it says: no link, no picture, no HTML, no emphasis, no end of a table's cell (CommonMark, 2.4;
/// GitHub Flavored Markdown, 4.10). It stays in its line.
#[must_use]
pub fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '\\' | '|' | '<' | '[' | '*' | '`' => {
                out.push('\\');
                out.push(sign);
            }
            sign if sign.is_control() => out.push(' '),
            sign => out.push(sign),
        }
    }
    out
}

/// A text in LaTeX without an order, the first of a row of a table, too: behind `\\` a bracket or a star would be a part of that.
#[must_use]
pub fn latex(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '\\' => safe.push_str("\\textbackslash{}"),
            '~' => safe.push_str("\\textasciitilde{}"),
            '^' => safe.push_str("\\textasciicircum{}"),
            '<' => safe.push_str("\\textless{}"),
            '>' => safe.push_str("\\textgreater{}"),
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                safe.push('\\');
                safe.push(sign);
            }
            '±' => safe.push_str("$\\pm$"),
            '\u{202f}' => safe.push_str("\\,"),
            sign if sign.is_control() => safe.push(' '),
            sign => safe.push(sign),
        }
    }
    if safe.starts_with(['[', '*']) { format!("{{}}{safe}") } else { safe }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_is_a_link_a_picture_html_or_the_end_of_a_cell() {
        for (text, safe) in [
            ("[read](javascript:alert(1))", "\\[read](javascript:alert(1))"),
            (
                "![](http://x/y.png)<img src=x onerror=alert(1)>",
                "!\\[](http://x/y.png)\\<img src=x onerror=alert(1)>",
            ),
            // The backslash would free the bar.
            ("a\\|b", "a\\\\\\|b"),
            ("**x** `y`\nz", "\\*\\*x\\*\\* \\`y\\` z"),
            ("a_1 of 4 KiB..1 MiB, 2 ± 1 %", "a_1 of 4 KiB..1 MiB, 2 ± 1 %"),
        ] {
            assert_eq!(markdown(text), safe);
        }
    }

    #[test]
    fn no_name_is_an_order_to_latex_not_even_behind_the_end_of_a_row() {
        for (text, safe) in [
            ("\\input{/etc/passwd}", "\\textbackslash{}input\\{/etc/passwd\\}"),
            ("[1, 2] ~ 3_4 & 5 %", "{}[1, 2] \\textasciitilde{} 3\\_4 \\& 5 \\%"),
            ("*", "{}*"),
            ("x < y[1]", "x \\textless{} y[1]"),
        ] {
            assert_eq!(latex(text), safe);
        }
    }
}
