//! Texts with `${{ name }}` in them.

use crate::scalar::Values;

/// Values may refer to values so deep.
const DEEPEST: usize = 8;

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
/// A name that has no value, or values that refer to each other without end.
pub fn fill(text: &str, values: &Values) -> Result<String, String> {
    fill_at(text, values, 0)
}

fn fill_at(text: &str, values: &Values, depth: usize) -> Result<String, String> {
    if depth > DEEPEST {
        return Err(format!("values refer to each other more than {DEEPEST} deep: {}", text.trim()));
    }
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
            out.push_str(&fill_at(&value.0, values, depth + 1)?);
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
        let circle = Values::from([("a".into(), "${{ b }}".into()), ("b".into(), "${{ a }}".into())]);
        assert!(fill("${{ a }}", &circle).is_err_and(|why| why.contains("each other")));
    }
}
