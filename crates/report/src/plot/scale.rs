//! From values to places, and where the ticks are.

use super::chart::{Axis, Scale};

/// Ticks that are wanted on an axis of even steps.
const TICKS: f64 = 6.0;

/// An axis with its bounds: values to 0..=1, and ticks.
#[derive(Debug, Clone)]
pub struct Fitted {
    scale: Scale,
    low: f64,
    high: f64,
    /// Place 0..=1 and text of each tick.
    pub ticks: Vec<(f64, String)>,
    /// Places of lines without text between them.
    pub minor: Vec<f64>,
}

/// Fits `axis` to `values`.
pub fn fit(axis: &Axis, values: impl Iterator<Item = f64>) -> Fitted {
    let drawable = |value: &f64| value.is_finite() && (axis.scale != Scale::Log || *value > 0.0);
    let values: Vec<f64> = values.chain(axis.at_least).filter(drawable).collect();
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let nothing = if axis.scale == Scale::Log { (1.0, 10.0) } else { (0.0, 1.0) };
    let (least, most) = if least <= most { (least, most) } else { nothing };
    match &axis.scale {
        Scale::FromZero | Scale::Log if axis.bounds != (None, None) => bounded(axis, least, most),
        Scale::FromZero => even(Scale::FromZero, 0.0, if most > 0.0 { most } else { 1.0 }),
        Scale::Log => log(least, most),
        Scale::Percentile => percentile(most),
        Scale::Names(names) => Fitted {
            scale: axis.scale.clone(),
            low: -0.5,
            high: count(names.len().max(1)) - 0.5,
            ticks: names
                .iter()
                .enumerate()
                .map(|(at, name)| ((count(at) + 0.5) / count(names.len()), name.clone()))
                .collect(),
            minor: Vec::new(),
        },
    }
}

#[expect(clippy::cast_precision_loss, reason = "numbers of names are small")]
fn count(n: usize) -> f64 {
    n as f64
}

impl Fitted {
    /// Place 0..=1 of a value; outside of it where the value is out of bounds.
    pub fn place(&self, value: f64) -> f64 {
        let place = match self.scale {
            Scale::Log => (value.max(f64::MIN_POSITIVE).log10() - self.low) / (self.high - self.low),
            Scale::Percentile => (nines(value) - self.low) / (self.high - self.low),
            Scale::FromZero | Scale::Names(_) => (value - self.low) / (self.high - self.low),
        };
        place.clamp(-0.5, 1.5)
    }
}

/// An axis that begins and ends where the user says, with the ticks that lie in it.
fn bounded(axis: &Axis, least: f64, most: f64) -> Fitted {
    let is_log = axis.scale == Scale::Log;
    let usual = if is_log {
        log(least, most)
    } else {
        even(Scale::FromZero, 0.0, if most > 0.0 { most } else { 1.0 })
    };
    let as_value = |place: f64| if is_log { 10_f64.powf(place) } else { place };
    let allowed = |value: &f64| value.is_finite() && (!is_log || *value > 0.0);
    let end = axis.bounds.1.filter(allowed);
    // An axis that is to end below all values does.
    let begin = match (end, as_value(usual.low)) {
        (Some(end), begin) if end <= begin && is_log => end / 10.0,
        (Some(end), begin) if end <= begin => end - (usual.high - usual.low),
        (_, begin) => begin,
    };
    let low = axis.bounds.0.filter(allowed).unwrap_or(begin);
    let high = end.filter(|high| *high > low).unwrap_or_else(|| as_value(usual.high).max(low * 2.0 + 1e-9));
    let fitted = if is_log { log(low, high) } else { even(Scale::FromZero, low, high) };
    let (from, to) = if is_log { (low.log10(), high.log10()) } else { (low, high) };
    let place = |old: f64| (fitted.low + old * (fitted.high - fitted.low) - from) / (to - from);
    let inside = |place: &f64| (-1e-6..=1.0 + 1e-6).contains(place);
    Fitted {
        scale: axis.scale.clone(),
        low: from,
        high: to,
        ticks: fitted
            .ticks
            .iter()
            .map(|(old, text)| (place(*old), text.clone()))
            .filter(|(at, _)| inside(at))
            .collect(),
        minor: fitted.minor.iter().map(|old| place(*old)).filter(inside).collect(),
    }
}

/// Steps of 1, 2 or 5 times a power of ten.
fn even(scale: Scale, least: f64, most: f64) -> Fitted {
    let step = nice((most - least) / TICKS);
    let low = (least / step + 1e-9).floor() * step;
    let high = (most / step - 1e-9).ceil() * step;
    let mut ticks = Vec::new();
    let mut at = 0.0;
    while low + at * step <= high + step * 0.5 && at < 64.0 {
        let value = low + at * step;
        ticks.push(((value - low) / (high - low), number(value, step)));
        at += 1.0;
    }
    Fitted { scale, low, high, ticks, minor: Vec::new() }
}

fn nice(step: f64) -> f64 {
    let power = 10_f64.powf(step.max(f64::MIN_POSITIVE).log10().floor());
    let factor = step / power;
    let round = [1.0, 2.0, 5.0].into_iter().find(|round| factor <= round * 1.0001).unwrap_or(10.0);
    round * power
}

fn log(least: f64, most: f64) -> Fitted {
    let (mut low, mut high) = (least.log10().floor(), (most.log10() - 1e-9).ceil());
    if high <= low {
        (low, high) = (low, low + 1.0);
    }
    // Half a decade of nothing is cut: bounds may be 2 and 5 times a power of ten.
    let steps = [0.0, 2_f64.log10(), 5_f64.log10()];
    low += steps.into_iter().rfind(|step| low + step <= least.log10() + 1e-9).unwrap_or(0.0);
    high -= 1.0;
    high += steps.into_iter().chain([1.0]).find(|step| high + step >= most.log10() - 1e-9).unwrap_or(1.0);
    if high - low < 0.3 {
        high = low + 0.4;
    }
    let few = high - low < 2.5;
    // Two numbers are no axis.
    let fewer = high - low < 0.75;
    let (mut ticks, mut minor) = (Vec::new(), Vec::new());
    let mut decade = low.floor();
    while decade <= high && ticks.len() < 64 {
        for digit in 1..10_u8 {
            let value = f64::from(digit) * 10_f64.powf(decade);
            let place = (value.log10() - low) / (high - low);
            if !(-1e-6..=1.0 + 1e-6).contains(&place) {
                continue;
            }
            if digit == 1 || fewer || (few && matches!(digit, 2 | 5)) {
                ticks.push((place, number(value, value)));
            } else {
                minor.push(place);
            }
        }
        decade += 1.0;
    }
    Fitted { scale: Scale::Log, low, high, ticks, minor }
}

/// 0 for 0 %, 1 for 90 %, 2 for 99 %, ..
fn nines(share: f64) -> f64 {
    -(1.0 - share.clamp(0.0, 1.0 - 1e-9)).log10()
}

fn percentile(most: f64) -> Fitted {
    let high = nines(most).max(1.0);
    let marks = [
        (0.0, "0 %"),
        (0.5, "50 %"),
        (0.9, "90 %"),
        (0.99, "99 %"),
        (0.999, "99.9 %"),
        (0.9999, "99.99 %"),
        (0.999_99, "99.999 %"),
        (0.999_999, "99.9999 %"),
    ];
    let ticks = marks.iter().map(|(share, text)| (nines(*share) / high, (*text).to_owned()));
    Fitted {
        scale: Scale::Percentile,
        low: 0.0,
        high,
        ticks: ticks.filter(|(place, _)| *place <= 1.0 + 1e-9).collect(),
        minor: [0.25, 0.75, 0.95, 0.995, 0.9995]
            .iter()
            .map(|share| nines(*share) / high)
            .filter(|place| *place <= 1.0)
            .collect(),
    }
}

/// A number as precise as steps of `step` ask for, with narrow spaces between thousands.
pub fn number(value: f64, step: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
    let digits = (-(step.abs().log10() + 1e-9).floor()).clamp(0.0, 9.0) as usize;
    let text = format!("{value:.digits$}");
    let text = if text.contains('.') && step.abs() < 1.0 {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    };
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let (sign, digits) = whole.split_at(usize::from(whole.starts_with('-')));
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) && digits.len() > 4 {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    format!("{sign}{grouped}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(scale: Scale, values: &[f64]) -> Vec<String> {
        fit(&Axis::new("", scale), values.iter().copied()).ticks.into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_are_round_numbers() {
        assert_eq!(texts(Scale::FromZero, &[4078.0]), ["0", "1000", "2000", "3000", "4000", "5000"]);
        assert_eq!(texts(Scale::FromZero, &[0.013]), ["0", "0.005", "0.01", "0.015"]);
        let few = ["2", "5", "10", "20", "50", "100", "200", "500", "1000"];
        assert_eq!(texts(Scale::Log, &[3.0, 90.0]), &few[..6]);
        assert_eq!(texts(Scale::Log, &[600.0, 900.0]), ["500", "600", "700", "800", "900", "1000"]);
        assert_eq!(
            texts(Scale::Log, &[3.0, 900_000.0]),
            ["10", "100", "1000", "10\u{202f}000", "100\u{202f}000", "1\u{202f}000\u{202f}000"]
        );
        assert_eq!(texts(Scale::Percentile, &[0.9995]), ["0 %", "50 %", "90 %", "99 %", "99.9 %"]);
        assert_eq!(number(1_234_567.0, 1.0), "1\u{202f}234\u{202f}567");
        assert_eq!(number(100_000.0, 100_000.0), "100\u{202f}000");
    }

    #[test]
    fn no_value_leaves_the_picture_and_none_is_not_a_number() {
        for scale in [Scale::FromZero, Scale::Log, Scale::Percentile] {
            for values in [&[][..], &[0.0], &[f64::NAN, 3.0], &[f64::INFINITY], &[5.0, 5.0], &[1e-9, 1e12]] {
                let fitted = fit(&Axis::new("", scale.clone()), values.iter().copied());
                assert!(!fitted.ticks.is_empty() && fitted.ticks.len() < 70, "{scale:?} {values:?}");
                for value in values.iter().filter(|value| value.is_finite()) {
                    let place = fitted.place(*value);
                    assert!((-0.5..=1.5).contains(&place), "{scale:?} {values:?}: {place}");
                }
            }
        }
    }

    #[test]
    fn an_axis_begins_and_ends_where_the_user_says() {
        for (scale, bounds) in [
            (Scale::FromZero, (Some(20.0), Some(70.0))),
            (Scale::FromZero, (None, Some(70.0))),
            (Scale::Log, (Some(0.5), Some(300.0))),
            (Scale::Log, (Some(-3.0), None)),
            (Scale::FromZero, (Some(500.0), None)),
            (Scale::FromZero, (Some(-20.0), Some(60.0))),
            (Scale::FromZero, (None, Some(-5.0))),
            (Scale::Log, (None, Some(0.5))),
        ] {
            let axis = Axis { bounds, ..Axis::new("", scale.clone()) };
            let fitted = fit(&axis, [1.0, 100.0].into_iter());
            assert!(fitted.high > fitted.low && !fitted.ticks.is_empty(), "{scale:?} {bounds:?}: {fitted:?}");
            assert!(fitted.ticks.iter().all(|(place, _)| (-1e-5..=1.00001).contains(place)), "{fitted:?}");
            for (bound, place) in [(bounds.0.filter(|low| *low > 0.0), 0.0), (bounds.1, 1.0)] {
                assert!(
                    bound.is_none_or(|bound| (fitted.place(bound) - place).abs() < 1e-9),
                    "{scale:?} {bounds:?}"
                );
            }
        }
        let cut = Axis { bounds: (Some(20.0), Some(70.0)), ..Axis::new("", Scale::FromZero) };
        let texts: Vec<String> =
            fit(&cut, [1.0].into_iter()).ticks.into_iter().map(|(_, text)| text).collect();
        assert_eq!(texts, ["20", "30", "40", "50", "60", "70"]);
    }

    #[test]
    fn percentiles_are_spaced_by_nines() {
        let fitted = fit(&Axis::new("", Scale::Percentile), [0.999].into_iter());
        let places = [0.0, 0.9, 0.99, 0.999].map(|share| fitted.place(share));
        for (place, expected) in places.iter().zip([0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0]) {
            assert!((place - expected).abs() < 1e-9, "{places:?}");
        }
    }
}
