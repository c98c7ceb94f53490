//! Texts of runs and studies, which anybody may have written, in pages that others read.

/// A text in Markdown that is what it says: no link, no picture, no HTML, no name of a sign (`&lt;`), no emphasis, nothing struck
/// out, no formula, no end of a table's cell (CommonMark, 2.4; GitHub Flavored Markdown, 4.10 and 6.5). It stays in its line.
#[must_use]
pub fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    let mut signs = text.chars().peekable();
    while let Some(sign) = signs.next() {
        let next = signs.peek().copied().unwrap_or(' ');
        let is_order = match sign {
            '\\' | '|' | '<' | '[' | '*' | '`' | '~' | '$' => true,
            // Within a word it is itself.
            '_' => !(before.is_alphanumeric() && next.is_alphanumeric()),
            '&' => next == '#' || next.is_ascii_alphanumeric(),
            _ => false,
        };
        if is_order {
            out.push('\\');
        }
        out.push(if sign.is_control() { ' ' } else { sign });
        before = sign;
    }
    out
}

/// The same of a text that begins a line: it is no heading, list, quote or rule either (CommonMark, 4 and 5).
#[must_use]
pub fn markdown_line(text: &str) -> String {
    // A control sign at the beginning has become a blank, behind which a heading is one all the same.
    let safe = markdown(text);
    let safe = safe.trim();
    let digits = safe.chars().take_while(char::is_ascii_digit).count();
    let (number, rest) = safe.split_at(digits);
    let begins = if number.is_empty() {
        rest.starts_with(['#', '-', '+', '=', '>'])
    } else {
        rest.starts_with(['.', ')'])
    };
    if begins { format!("{number}\\{rest}") } else { safe.to_owned() }
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
            // In the encoding that LaTeX begins with these three are other signs.
            '|' => safe.push_str("\\textbar{}"),
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
            ("_a_ __b__ c_", "\\_a\\_ \\_\\_b\\_\\_ c\\_"),
            ("a&lt;b&#60;c & d&", "a\\&lt;b\\&#60;c & d&"),
            ("$x_1$ ~~y~~", "\\$x_1\\$ \\~\\~y\\~\\~"),
        ] {
            assert_eq!(markdown(text), safe);
        }
    }

    #[test]
    fn a_text_that_begins_a_line_begins_nothing_else() {
        for (text, safe) in [
            ("- = not in the archive", "\\- = not in the archive"),
            (" # head", "\\# head"),
            ("===", "\\==="),
            ("\u{1} # head", "\\# head"),
            ("> said", "\\> said"),
            ("12. of May", "12\\. of May"),
            ("3) x", "3\\) x"),
            ("12 of *May*", "12 of \\*May\\*"),
            ("Ä - b", "Ä - b"),
            ("", ""),
        ] {
            assert_eq!(markdown_line(text), safe);
        }
    }

    #[test]
    fn no_name_is_an_order_to_latex_not_even_behind_the_end_of_a_row() {
        for (text, safe) in [
            ("\\input{/etc/passwd}", "\\textbackslash{}input\\{/etc/passwd\\}"),
            ("[1, 2] ~ 3_4 & 5 %", "{}[1, 2] \\textasciitilde{} 3\\_4 \\& 5 \\%"),
            ("*", "{}*"),
            ("x < y[1]", "x \\textless{} y[1]"),
            ("a|b", "a\\textbar{}b"),
        ] {
            assert_eq!(latex(text), safe);
        }
    }
}
