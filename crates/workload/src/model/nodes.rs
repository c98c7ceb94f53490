//! The machines of the store that is measured: `nodes:` of a workload or of a target.

use cosmark_units::parse_speed;

use crate::model::TargetSpec;

/// More machines are not looked at in one run.
pub const MOST_NODES: usize = 1_000;

/// One machine, and how its figures are had.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeSpec {
    /// Its name in the results; no two of a workload have the same.
    pub name: String,
    /// What it does for the store, in the user's words: proxy, storage, gateway. Machines of one role are compared.
    pub role: String,
    /// Interfaces whose speed the user knows better than the machine, and bytes per second of each direction.
    pub links: Vec<(String, f64)>,
    /// Who gives its figures, and the keys of that way.
    pub source: TargetSpec,
}

/// Speeds of interfaces from words like `eth0=40Mbit/s`: bytes per second of each direction.
///
/// # Errors
/// One sentence for the first word that is none, or that names an interface a second time.
pub fn links(words: &[String]) -> Result<Vec<(String, f64)>, String> {
    let mut found: Vec<(String, f64)> = Vec::new();
    for word in words {
        let pair = word.split_once('=').map(|(name, speed)| (name.trim(), speed));
        let Some((name, speed)) = pair.filter(|(name, _)| !name.is_empty()) else {
            return Err(format!("`{word}` is no link and its speed; write eth0=40Mbit/s"));
        };
        if found.iter().any(|(other, _)| other == name) {
            return Err(format!("the interface `{name}` is given twice"));
        }
        let speed = parse_speed(speed).map_err(|(message, hint)| format!("{message}; {hint}"))?;
        found.push((name.to_owned(), speed));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_read_from_words() {
        let read = |words: &[&str]| links(&words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>());
        let both = vec![("eth0".to_owned(), 5e6), ("bond0.7".to_owned(), 1.25e9)];
        assert_eq!(read(&["eth0=40Mbit/s", " bond0.7=10 Gbit/s"]), Ok(both));
        assert_eq!(read(&[]), Ok(Vec::new()));
        for (words, said) in [
            (["eth0", "a=1Mbit/s"], "`eth0` is no link and its speed"),
            (["=1Mbit/s", "a=1Mbit/s"], "is no link and its speed"),
            (["a=1Mbit/s", "a=2Mbit/s"], "`a` is given twice"),
            (["a=40", "b=1Mbit/s"], "`40` is not the speed of a link"),
            (["a=0Mbit/s", "b=1Mbit/s"], "out of range"),
        ] {
            assert!(read(&words).is_err_and(|why| why.contains(said)), "{words:?}");
        }
    }
}
