//! What the original got wrong, and how much that matters: the same cells looked at the original's way and the right way.

use crate::claims::{as_level, short, with_unit};
use crate::design::Design;
use crate::formula::efficiency;
use crate::measured::Observation;
use crate::page::{Field, Look, Part};
use crate::select::{Found, quantity, repetitions, why_none};
use crate::spec::{Across, Flaw, Quantity, Take, Way, Weigh};
use crate::statistics::{interval_of_ratio, median};

/// The known flaws of the published study, each with what it comes to here.
#[must_use]
pub fn flaws(design: &Design<'_>, all: &[Observation]) -> Part {
    let row = |flaw: &Flaw| {
        let text = |text: &Option<String>| Field::new(text.clone().unwrap_or_default());
        let weighed: Vec<Weighed> = flaw.weighs.iter().map(|one| weighed(design, all, one)).collect();
        let look = if weighed.iter().any(|one| one.is_false) { Look::False } else { Look::Plain };
        let words: Vec<String> = weighed.into_iter().map(|one| one.text).collect();
        vec![
            Field::new(flaw.what.clone()),
            text(&flaw.matters),
            Field::with(words.join("; "), if words.is_empty() { Look::Plain } else { look }),
            text(&flaw.here),
        ]
    };
    Part::Table {
        caption: "Known flaws of the published study. How much each matters here is computed from the cells of this study, the \
                  original's way against the right way; where nothing stands no cell can tell."
            .to_owned(),
        columns: ["flaw", "how much it matters", "how much here", "what is done here"].map(str::to_owned).to_vec(),
        rows: design.spec.flaws.iter().map(row).collect(),
    }
}

/// A flaw as words, and whether a cell that they come from is FALSE.
struct Weighed {
    text: String,
    is_false: bool,
}

fn weighed(design: &Design<'_>, all: &[Observation], one: &Weigh) -> Weighed {
    match compared(design, all, one) {
        Ok(Both { pairs, is_false }) => Weighed { text: words(one, &pairs), is_false },
        Err(why) => Weighed { text: format!("{}: not known, {why}", one.says), is_false: false },
    }
}

/// Values of both ways, in pairs of the same repetition.
struct Both {
    pairs: Vec<(f64, f64)>,
    is_false: bool,
}

fn compared(design: &Design<'_>, all: &[Observation], one: &Weigh) -> Result<Both, String> {
    let (original, right) = (of_way(design, all, &one.original)?, of_way(design, all, &one.right)?);
    let is_false = original.iter().chain(&right).any(|(_, found)| found.is_false);
    let partner = |repetition: u32| right.iter().find(|(other, _)| *other == repetition);
    let pairs: Vec<(f64, f64)> = original
        .iter()
        .filter_map(|(repetition, found)| Some((found.value, partner(*repetition)?.1.value)))
        .collect();
    if pairs.is_empty() {
        return Err("no repetition has both".to_owned());
    }
    Ok(Both { pairs, is_false })
}

/// What a way comes to: by repetition, or one number of all of them, which stands at repetition 0.
fn of_way(design: &Design<'_>, all: &[Observation], way: &Way) -> Result<Vec<(u32, Found)>, String> {
    if let Some(name) = &way.formula {
        return Ok(vec![(0, of_formula(design, all, name)?)]);
    }
    let wanted = Quantity::from(way);
    let mut found: Vec<(u32, Found)> = repetitions(all)
        .into_iter()
        .filter_map(|repetition| Some((repetition, quantity(design, all, &wanted, repetition)?)))
        .collect();
    if found.is_empty() {
        return Err(why_none(design, all, &wanted)
            .unwrap_or("no repetition has all of its cells")
            .to_owned());
    }
    if let Some(width) = way.bucket_ms {
        found.iter_mut().for_each(|(_, one)| one.value = upper_edge(one.value, width));
    }
    if way.across == Across::Each {
        return Ok(found);
    }
    if found.len() < 2 {
        return Err("one run has no spread".to_owned());
    }
    let values: Vec<f64> = found.iter().map(|(_, one)| one.value).collect();
    let value = match way.across {
        Across::Each | Across::Mean => cosmark_stats::bootstrap::mean(&values),
        Across::Best => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        Across::Worst => values.iter().copied().fold(f64::INFINITY, f64::min),
    };
    let is = |of: fn(&Found) -> bool| found.iter().any(|(_, one)| of(one));
    let (is_false, is_too_long) = (is(|one| one.is_false), is(|one| one.is_too_long));
    Ok(vec![(0, Found { value, is_false, is_too_long })])
}

/// The upper edge of the bucket in which a time lies, as a tool says it that keeps times in buckets.
fn upper_edge(value: f64, width: f64) -> f64 {
    // A time that is an edge, but for what it was multiplied by, lies below it.
    ((value / width - 1e-9).ceil().max(1.0)) * width
}

/// The geometric mean of an efficiency over the levels that were measured.
fn of_formula(design: &Design<'_>, all: &[Observation], name: &str) -> Result<Found, String> {
    let one = design.spec.efficiencies.iter().find(|one| one.name == name);
    let one = one.ok_or_else(|| format!("there is no efficiency {name}"))?;
    let factor = design.spec.factors.iter().find(|factor| factor.name == one.over);
    let levels = factor.iter().flat_map(|factor| factor.levels.iter().map(crate::spec::Level::name));
    let (mut means, mut is_false) = (Vec::new(), false);
    for level in levels {
        let (values, doubt) = efficiency(design, all, one, level);
        if let Some((mean, _)) = interval_of_ratio(&values) {
            means.push(mean);
            is_false |= doubt;
        }
    }
    let (value, _) = interval_of_ratio(&means).ok_or("its cells were not run")?;
    Ok(Found { value, is_false, is_too_long: false })
}

/// Both values, and their ratio with its interval where there are several runs.
fn words(one: &Weigh, pairs: &[(f64, f64)]) -> String {
    let middle =
        |of: fn(&(f64, f64)) -> f64| median(&pairs.iter().map(of).collect::<Vec<f64>>()).unwrap_or(f64::NAN);
    let says = |way: &Way, value: f64| {
        if way.formula.is_some() {
            short(value)
        } else if matches!(way.take, Take::ArgMax | Take::ArgBest) {
            as_level(value)
        } else {
            with_unit(&way.metric, value)
        }
    };
    let (original, right) =
        (says(&one.original, middle(|pair| pair.0)), says(&one.right, middle(|pair| pair.1)));
    let ratios: Vec<f64> = pairs.iter().map(|(original, right)| original / right).collect();
    let ratio = match interval_of_ratio(&ratios) {
        None => "no ratio".to_owned(),
        Some((ratio, None)) => format!("x {}", short(ratio)),
        Some((ratio, Some(known))) => {
            format!("x {} ({} to {})", short(ratio), short(known.low), short(known.high))
        }
    };
    format!("{}: {original} the original's way, {right} the right way, {ratio}", one.says)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]
mod tests;
