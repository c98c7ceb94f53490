//! Each run of a side once: one that is named again, however its directory is written, is no repetition.

use super::load::Loaded;

/// The sides, and what is said of the runs of each that were named again.
pub struct Once {
    /// Each run of a side once.
    pub sides: Vec<Vec<Loaded>>,
    /// As many as sides.
    pub said: Vec<Vec<String>>,
}

fn is_again(side: &[Loaded], at: usize) -> bool {
    let (before, rest) = side.split_at(at.min(side.len()));
    let known = |run: &&Loaded| !run.place.as_os_str().is_empty();
    rest.first().filter(known).is_some_and(|run| before.iter().any(|other| other.place == run.place))
}

/// `None` where no run was named again.
pub fn each_once(sides: &[Vec<Loaded>]) -> Option<Once> {
    let again = |side: &Vec<Loaded>| (0..side.len()).any(|at| is_again(side, at));
    if !sides.iter().any(again) {
        return None;
    }
    let (mut once, mut said) = (Vec::new(), Vec::new());
    for side in sides {
        let (again, own): (Vec<usize>, Vec<usize>) = (0..side.len()).partition(|at| is_again(side, *at));
        let text = |run: &Loaded| {
            format!("{} stands twice on one side: it is one repetition and counts as one", run.label)
        };
        let mut texts: Vec<String> = again.into_iter().filter_map(|at| side.get(at)).map(text).collect();
        texts.dedup();
        said.push(texts);
        once.push(own.into_iter().filter_map(|at| side.get(at)).cloned().collect());
    }
    Some(Once { sides: once, said })
}
