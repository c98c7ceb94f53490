//! Texts with `${{ name }}` in them.

use crate::scalar::Values;

/// Values may refer to values so deep.
const DEEPEST: usize = 8;

/// A text and the values in it have no more bytes than these together.
const LARGEST: usize = 1 << 20;

/// The names that a text refers to. What begins with `matrix.` belongs to the workload.
pub fn names_in(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split("${{").skip(1);
    parts
        .filter_map(|part| part.split_once("}}"))
        .map(|(name, _)| name.trim())
        .filter(|name| !name.starts_with("matrix.") && !name.starts_with('\''))
}

/// The text with values in place of names.
///
/// # Errors
/// A name that has no value, values that refer to each other without end, or a text of more than 1 MiB.
pub fn fill(text: &str, values: &Values) -> Result<String, String> {
    let mut left = LARGEST;
    fill_at(text, values, 0, &mut left)
}

/// As much of a text as tells which it is.
fn beginning(text: &str) -> String {
    text.trim().chars().take(60).collect()
}

fn fill_at(text: &str, values: &Values, depth: usize, left: &mut usize) -> Result<String, String> {
    if depth > DEEPEST {
        return Err(format!("values refer to each other more than {DEEPEST} deep: {}", text.trim()));
    }
    *left = left
        .checked_sub(text.len())
        .ok_or_else(|| format!("with its values in it a text is larger than 1 MiB: {}", beginning(text)))?;
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${{") {
        let Some((name, behind)) = after.split_once("}}") else {
            return Err("`${{` without `}}`".to_owned());
        };
        out.push_str(before);
        let trimmed = name.trim();
        if trimmed.starts_with("matrix.") || trimmed.starts_with('\'') {
            out.push_str("${{");
            out.push_str(name);
            out.push_str("}}");
        } else {
            let value = values.get(trimmed).ok_or_else(|| format!("{trimmed} has no value in this cell"))?;
            out.push_str(&fill_at(&value.0, values, depth + 1, left)?);
        }
        rest = behind;
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_values_and_what_is_the_workloads_stays() {
        let values = Values::from([("n".into(), "5".into()), ("keys".into(), "r(1,${{ n }})".into())]);
        assert_eq!(
            fill("a ${{n}} ${{ keys }} ${{ matrix.x }}", &values).as_deref(),
            Ok("a 5 r(1,5) ${{ matrix.x }}")
        );
        assert_eq!(names_in("${{ a }} ${{ matrix.b }} ${{c}}").collect::<Vec<_>>(), ["a", "c"]);
        assert!(fill("${{ x }}", &values).is_err_and(|why| why.contains("x has no value")));
        assert!(fill("${{ n", &values).is_err());
        // Each refers to the next forty times: 40^7 letters, or as many times nothing.
        for last in ["x", ""] {
            let deep: Values = (0..7)
                .map(|n| (format!("v{n}"), format!("${{{{ v{} }}}}", n + 1).repeat(40).as_str().into()))
                .chain([("v7".to_owned(), last.into())])
                .collect();
            assert!(fill("${{ v0 }}", &deep).is_err_and(|why| why.contains("larger than 1 MiB")));
        }
        let circle = Values::from([("a".into(), "${{ b }}".into()), ("b".into(), "${{ a }}".into())]);
        assert!(fill("${{ a }}", &circle).is_err_and(|why| why.contains("each other")));
    }
}
