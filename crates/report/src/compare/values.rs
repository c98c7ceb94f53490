//! What every side has, also where the first side has nothing: the rows of `compare --normalised`.

use cosmark_metrics::results::Metric;
use cosmark_stats::bootstrap::median;

use super::compared;
use super::load::{Loaded, LoadedOperation};
use super::rows::{find, has_figures, value};

/// One metric of one operation that any side has.
#[derive(Debug, Clone)]
pub struct ValueRow {
    /// Name of the stage.
    pub stage: String,
    /// Work and operation.
    pub operation: String,
    /// What it is a value of.
    pub metric: &'static Metric,
    /// As published, of each side; of several runs the median; `None` where a side does not have it.
    pub values: Vec<Option<f64>>,
}

/// Stages with their operations, in the order in which they come first.
fn places(sides: &[Vec<Loaded>]) -> Vec<(&str, Vec<&str>)> {
    let mut places: Vec<(&str, Vec<&str>)> = Vec::new();
    for stage in sides.iter().flatten().flat_map(|run| &run.stages) {
        let at = places.iter().position(|(name, _)| *name == stage.name).unwrap_or_else(|| {
            places.push((&stage.name, Vec::new()));
            places.len() - 1
        });
        for operation in stage.operations.iter().filter(|one| has_figures(one)) {
            let name = operation.name.as_str();
            if let Some((_, operations)) = places.get_mut(at)
                && !operations.contains(&name)
            {
                operations.push(name);
            }
        }
    }
    places
}

/// The values of all sides.
pub fn values(sides: &[Vec<Loaded>]) -> Vec<ValueRow> {
    let mut rows = Vec::new();
    for (stage, operations) in places(sides) {
        for operation in operations {
            let found: Vec<Vec<&LoadedOperation>> = sides
                .iter()
                .map(|side| side.iter().flat_map(|run| find(run, stage, operation)).collect())
                .collect();
            for metric in compared() {
                let middle = |side: &Vec<&LoadedOperation>| {
                    median(&side.iter().filter_map(|one| value(one, metric)).collect::<Vec<f64>>())
                };
                let values: Vec<Option<f64>> = found.iter().map(middle).collect();
                if values.iter().any(Option::is_some) {
                    let (stage, operation) = (stage.to_owned(), operation.to_owned());
                    rows.push(ValueRow { stage, operation, metric, values });
                }
            }
        }
    }
    rows
}
