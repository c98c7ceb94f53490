//! "Did you mean": the known word that is nearest to an unknown one (Damerau-Levenshtein distance).

/// The known word nearest to `word`, if it is near enough to be worth saying.
#[must_use]
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Nobody misspells a word of that length, and the distance takes quadratic time.
    if word.is_empty() || word.len() > 64 {
        return None;
    }
    let lower = word.to_lowercase().replace('-', "_");
    let allowed = (word.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&lower, &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// "did you mean x?", or the list of what is known.
#[must_use]
pub(crate) fn hint<'a>(word: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    match nearest(word, known.clone()) {
        Some(candidate) => format!("did you mean {candidate}?"),
        None => {
            let known = known.into_iter().collect::<Vec<_>>();
            if known.is_empty() { "drop it".to_owned() } else { format!("known: {}", known.join(" ")) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_error_finds_its_word_and_nonsense_finds_none() {
        let known = ["runtime", "rampup", "workers"];
        assert_eq!(nearest("runtme", known), Some("runtime"));
        assert_eq!(nearest("wrokers", known), Some("workers"));
        assert_eq!(nearest("ramp-up", known), Some("rampup"));
        assert_eq!(nearest("colour", known), None);
        assert_eq!(nearest(&"runtime".repeat(100), known), None);
        assert_eq!(hint("colour", known), "known: runtime rampup workers");
    }
}
