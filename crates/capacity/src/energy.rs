//! What a store draws at another load, or with more machines: what each machine of a role drew at the measured loads,
//! by the operations that came to it.

use std::collections::BTreeMap;

use crate::number::real;

/// What machines drew at one load.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Drawn {
    /// Operations per second; 0 before the load.
    pub rate_per_s: f64,
    /// By role: watts of one machine, the mean of those that tell.
    pub watts_each: BTreeMap<String, f64>,
}

/// Watts of all machines of each role that tells, at so many operations per second, once there are as many machines as
/// `planned` has. `measured` is how many there were. Between two loads power is a line, beyond them it goes on as
/// between the nearest two. Of a single load it is in proportion to the rate.
#[must_use]
pub fn watts(
    drawn: &[Drawn],
    measured: &BTreeMap<String, usize>,
    planned: &BTreeMap<String, usize>,
    rate_per_s: f64,
) -> BTreeMap<String, f64> {
    let of_role = |role: &String, many: usize| {
        let before = real((*measured.get(role)?).max(1));
        let points = drawn
            .iter()
            .filter_map(|one| Some((one.rate_per_s / before, *one.watts_each.get(role)?)))
            .collect::<Vec<_>>();
        Some(real(many) * at(points, rate_per_s / real(many.max(1)))?)
    };
    planned.iter().filter_map(|(role, many)| Some((role.clone(), of_role(role, *many)?))).collect()
}

fn at(mut points: Vec<(f64, f64)>, rate: f64) -> Option<f64> {
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points.dedup_by(|a, b| a.0 <= b.0);
    let above = points.partition_point(|point| point.0 < rate);
    // The two loads around it, or the nearest two.
    let second = above.clamp(1, points.len().saturating_sub(1).max(1));
    let first = *points.get(second - 1)?;
    let Some(second) = points.get(second) else {
        return (first.0 > 0.0).then(|| first.1 * rate / first.0);
    };
    let slope = (second.1 - first.1) / (second.0 - first.0);
    Some((first.1 + (rate - first.0) * slope).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn power_is_a_line_between_loads_and_goes_to_as_many_machines_as_there_are() {
        let counts =
            |proxies: usize| BTreeMap::from([("proxy".to_owned(), proxies), ("other".to_owned(), 1)]);
        let drawn = |rate_per_s: f64, watts: f64| Drawn {
            rate_per_s,
            watts_each: BTreeMap::from([("proxy".to_owned(), watts)]),
        };
        let of = |drawn: &[Drawn], planned: usize, rate: f64| {
            let found = watts(drawn, &counts(2), &counts(planned), rate);
            assert!(!found.contains_key("other"), "it tells nothing");
            found.get("proxy").copied()
        };
        let near = |found: Option<f64>, wanted: f64| found.is_some_and(|found| (found - wanted).abs() < 1e-9);
        // Two machines of 20 W each without load, and 0.1 J an operation.
        let three = [drawn(400.0, 40.0), drawn(0.0, 20.0), drawn(200.0, 30.0)];
        for (planned, rate) in
            [(2, 0.0), (2, 100.0), (2, 200.0), (2, 300.0), (2, 500.0), (4, 500.0), (1, 100.0)]
        {
            let wanted = real(planned) * 20.0 + rate * 0.1;
            assert!(
                near(of(&three, planned, rate), wanted),
                "{planned} {rate}: {:?}",
                of(&three, planned, rate)
            );
        }
        assert!(near(of(&[drawn(400.0, 40.0)], 2, 200.0), 40.0), "one load is in proportion");
        assert_eq!(of(&[drawn(0.0, 20.0)], 2, 200.0), None, "a look without load says nothing of one");
        assert_eq!(of(&[], 2, 200.0), None);
    }
}
