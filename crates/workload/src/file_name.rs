//! Names of workloads and stages as names of files, where results are kept.

/// Longest file name that every part of ours needs to leave room for: 255 bytes less `w<N>-` and `-rt-histogram.csv`.
const LONGEST_NAME: usize = 200;

/// `name` as (part of) a file name: `/`, `\`, control characters and leading dots become `_`; too long names are cut.
#[must_use]
pub fn safe_name(name: &str) -> String {
    let dots = name.len() - name.trim_start_matches('.').len();
    let mut safe: String = name
        .char_indices()
        .map(|(at, c)| if at < dots || matches!(c, '/' | '\\') || c.is_control() { '_' } else { c })
        .collect();
    if safe.len() > LONGEST_NAME {
        let end = (0..=LONGEST_NAME).rev().find(|at| safe.is_char_boundary(*at)).unwrap_or(0);
        safe.truncate(end);
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Environment, Format, parse_what_is_there};

    #[test]
    fn names_become_safe_file_names_and_stay_readable() {
        let long = "ä".repeat(150);
        let cases = [
            ("mock-full", "mock-full"),
            ("w(4)KB_c1_o1000_r80w15d5_1", "w(4)KB_c1_o1000_r80w15d5_1"),
            ("a/b\\c", "a_b_c"),
            ("../../etc/passwd", "___.._etc_passwd"),
            ("..", "__"),
            (".hidden.name", "_hidden.name"),
            ("line\nbreak\0", "line_break_"),
            ("übung, 1 \"x\"", "übung, 1 \"x\""),
            (long.as_str(), &"ä".repeat(100)),
        ];
        for (name, expected) in cases {
            assert_eq!(safe_name(name), expected);
            // A workload is told of it before it runs.
            let text = format!("name: {}\nstages: []\n", serde_json::to_string(name).unwrap());
            let (_, found) = parse_what_is_there(&text, Format::Yaml, &Environment::default());
            let warned = found.iter().any(|one| one.message.contains("will be changed in file names"));
            assert_eq!(warned, name != expected, "{name}: {found:?}");
        }
    }
}
