//! Names with `*` for any text, and what the stars stood for.

/// What the stars of `pattern` stand for in `name`, each as short as possible but the last; `None` when it does not fit.
pub fn stars<'n>(pattern: &str, name: &'n str) -> Option<Vec<&'n str>> {
    let mut parts = pattern.split('*');
    let mut rest = name.strip_prefix(parts.next()?)?;
    let mut found = Vec::new();
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        let at = if parts.peek().is_none() {
            // The last part ends the name.
            rest.len().checked_sub(part.len()).filter(|at| rest.get(*at..) == Some(part))?
        } else {
            rest.find(part)?
        };
        found.push(rest.get(..at)?);
        rest = rest.get(at + part.len()..)?;
    }
    rest.is_empty().then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_text() {
        let cases: &[(&str, &str, Option<&[&str]>)] = &[
            ("main", "main", Some(&[])),
            ("main", "main2", None),
            ("*", "anything", Some(&["anything"])),
            ("w*_c*_*", "w(4)KB_c1_o10_r80w15d5_8", Some(&["(4)KB", "1", "o10_r80w15d5_8"])),
            ("*_8", "w_8_8", Some(&["w_8"])),
            ("a*b", "a", None),
            ("a*a", "a", None),
            ("ü*", "üx", Some(&["x"])),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(stars(pattern, name).as_deref(), *expected, "{pattern} on {name}");
        }
    }
}
