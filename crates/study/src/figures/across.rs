//! The horizontal axis of a picture: levels of a factor, by name or as numbers.

use cosmark_report::plot::chart::{Axis, Scale};

use super::Subject;
use super::lines::{Drawn, level_of};

/// The levels that were measured, in the order of the study.
pub struct Across {
    names: Vec<String>,
    /// What stands at them: of systems their labels.
    shown: Vec<String>,
    is_numeric: bool,
    label: String,
}

impl Across {
    /// The axis of some lines; `by_decades` where it is asked for and every level is a number above 0.
    pub fn of(subject: &Subject<'_>, factor: &str, lines: &[Drawn], by_decades: bool) -> Self {
        let mut names: Vec<String> =
            lines.iter().flat_map(|line| line.points.iter().map(|dot| dot.level.clone())).collect();
        names.sort_by_key(|name| (subject.design.rank(factor, name), name.clone()));
        names.dedup();
        let is_number =
            |name: &String| name.parse::<f64>().is_ok_and(|value| value > 0.0 && value.is_finite());
        let is_numeric = by_decades && names.iter().all(is_number);
        let known = subject.design.spec.factors.iter().find(|one| one.name == factor);
        let label = known.and_then(|one| one.label.clone()).unwrap_or_else(|| factor.to_owned());
        let shown = names.iter().map(|name| level_of(subject.design, factor, name)).collect();
        Self { names, shown, is_numeric, label }
    }

    /// Whether its levels are in an order of their own, as numbers and sizes are: else nothing lies between two of them.
    pub fn is_ordered(&self) -> bool {
        self.is_numeric || self.names.iter().all(|name| name.starts_with(|sign: char| sign.is_ascii_digit()))
    }

    /// The place of a level.
    pub fn x(&self, level: &str) -> f64 {
        if self.is_numeric {
            return level.parse().unwrap_or(f64::NAN);
        }
        #[expect(clippy::cast_precision_loss, reason = "numbers of levels")]
        let place = self.names.iter().position(|name| name == level).map_or(f64::NAN, |place| place as f64);
        place
    }

    /// The axis.
    pub fn axis(&self) -> Axis {
        let scale = if self.is_numeric { Scale::Log } else { Scale::Names(self.shown.clone()) };
        Axis::new(self.label.clone(), scale)
    }
}
