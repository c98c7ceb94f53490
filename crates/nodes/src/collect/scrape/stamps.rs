//! Numbers that bear times of their own: a kubelet's cAdvisor says of each container when it looked, every 10 to 15 s, and
//! `/federate` of a Prometheus server says when each machine was scraped. Here these times come to this machine's clock.

use crate::prometheus::Series;

/// What is known of the clock of one exporter.
#[derive(Debug, Default)]
pub struct Stamps {
    /// By how many milliseconds it is ahead of this machine's. It stays as it was found, so that the time between two
    /// numbers is the one that it says.
    ahead_ms: Option<i64>,
}

/// A clock that is found to differ by no more was not set: the date of an answer has whole seconds, and comes late.
const STEADY_MS: i64 = 5_000;
/// Older numbers, and such from the future, have times that mean something else.
const OLDEST_MS: i64 = 600_000;
const NEWEST_MS: i64 = 5_000;
/// Milliseconds beyond this are in the year 2255.
const LATEST_MS: f64 = 9e12;

impl Stamps {
    /// Puts the times that series of an answer bear on this machine's clock, which showed `here_ms`; none is left where it
    /// cannot be. Where an exporter does not say what its own clock showed, no time can be placed.
    pub fn place(&mut self, series: &mut [Series], here_ms: i64, date_s: Option<i64>) {
        let ahead_ms = date_s.map(|date_s| self.ahead(date_s.saturating_mul(1000) + 500 - here_ms));
        for one in series {
            let there_ms = one.at_ms.and_then(whole_millis);
            let at_ms = ahead_ms.zip(there_ms).map(|(ahead_ms, there_ms)| there_ms - ahead_ms);
            let can_be = |at_ms: &i64| (here_ms - OLDEST_MS..=here_ms + NEWEST_MS).contains(at_ms);
            #[expect(clippy::cast_precision_loss, reason = "milliseconds since 1970 fit 53 bits")]
            let at_ms = at_ms.filter(can_be).map(|at_ms| at_ms as f64);
            one.at_ms = at_ms;
        }
    }

    /// By how much its clock is ahead, as it was found unless it was set since.
    fn ahead(&mut self, found_ms: i64) -> i64 {
        let steady = self.ahead_ms.filter(|known_ms| (found_ms - known_ms).abs() <= STEADY_MS);
        *self.ahead_ms.insert(steady.unwrap_or(found_ms))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "within the range that is asked for")]
fn whole_millis(at_ms: f64) -> Option<i64> {
    (0.0..=LATEST_MS).contains(&at_ms).then(|| at_ms.round() as i64)
}

#[cfg(test)]
#[allow(clippy::cast_precision_loss, reason = "times of a test")]
mod tests {
    use super::*;

    const HERE_MS: i64 = 1_700_000_000_000;

    /// How many milliseconds before this clock's [`HERE_MS`] the times come to lie.
    fn placed(stamps: &mut Stamps, times_ms: &[f64], later_ms: i64, date_s: Option<i64>) -> Vec<Option<f64>> {
        let one = |at_ms: &f64| Series {
            name: "a".to_owned(),
            labels: Default::default(),
            value: 1.0,
            at_ms: Some(*at_ms),
        };
        let mut series: Vec<Series> = times_ms.iter().map(one).collect();
        stamps.place(&mut series, HERE_MS + later_ms, date_s);
        series.iter().map(|one| one.at_ms.map(|at_ms| HERE_MS as f64 - at_ms)).collect()
    }

    #[test]
    fn times_are_put_on_this_clock_and_stay_as_far_from_each_other() {
        let mut stamps = Stamps::default();
        // The other clock is an hour ahead.
        let there_s = HERE_MS / 1000 + 3600;
        let at = |ago_s: i64| ((there_s - ago_s) * 1000) as f64;
        let first = placed(&mut stamps, &[at(14), at(3)], 0, Some(there_s));
        assert_eq!(first, [Some(14_500.0), Some(3_500.0)]);
        // A second later, by a date that is a second off.
        assert_eq!(placed(&mut stamps, &[at(3)], 1000, Some(there_s + 2)), [Some(3_500.0)]);
        // It was set back by an hour.
        let back = placed(&mut stamps, &[at(3603)], 1000, Some(there_s - 3600));
        assert_eq!(back, [Some(2_500.0)]);
    }

    #[test]
    fn times_that_cannot_be_are_none() {
        let there_s = HERE_MS / 1000;
        let of = |at_ms: f64, date_s| placed(&mut Stamps::default(), &[at_ms], 0, date_s);
        for at_ms in [1000.0, (HERE_MS + 900_000) as f64, f64::NAN, f64::INFINITY, -5.0, 1e300] {
            assert_eq!(of(at_ms, Some(there_s)), [None], "{at_ms}");
        }
        assert_eq!(of(HERE_MS as f64, Some(there_s)), [Some(500.0)]);
        assert_eq!(of(HERE_MS as f64, None), [None], "who does not say the time");
    }
}
