//! Dips of a rate over time, as a fault makes them: the band in which a healthy rate lies, the stretches below it, how deep
//! and how long they are, and what they cost. All on bins of one second. Sources: A. Brown, D. A. Patterson, "Towards
//! Availability Benchmarks" (USENIX 2000), for the band of fault-free behaviour; E. S. Page, "Continuous Inspection Schemes"
//! (Biometrika 41, 1954), for the score of a stretch.

mod band;
mod edges;
mod segments;

pub use band::{Band, LEAST_SECONDS};

use segments::Segment;

impl Band {
    /// Of healthy seconds; `None` when there are fewer than [`LEAST_SECONDS`], or when nothing was done in most of them.
    #[must_use]
    pub fn of(healthy: &[f64]) -> Option<Self> {
        let mut band = Self::unscored(healthy)?;
        let missing: Vec<f64> = healthy.iter().map(|rate| band.level - rate).collect();
        band.quiet_score = segments::greatest(&missing, &band) / band.noise;
        Some(band)
    }
}

/// A stretch in which the rate was below what it is without a fault.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dip {
    /// Where it begins, seconds in the series.
    pub from_s: f64,
    /// Where the rate is back.
    pub to_s: f64,
    /// How far it fell: 1 - the least mean of ten seconds / the level, of more where ten differ by chance, of five where these
    /// are deeper by more than chance; of a shorter dip, of the seconds that lie whole in it. One of less than two seconds may
    /// have none, and is at least so deep.
    pub depth: f64,
    /// What was not done because of it: the area between the level and the rate.
    pub lost: f64,
    /// The bins of that area, from the first up to the last: none is of two dips.
    pub bins: (usize, usize),
}

/// What a stretch of a series shows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Found {
    /// The dips, in order.
    pub dips: Vec<Dip>,
    /// All stretches in which it was out of the band, below or above, in order: first and last second.
    pub out_s: Vec<(f64, f64)>,
    /// Those above it, in order.
    pub above_s: Vec<(f64, f64)>,
    /// What was done beyond the level after a dip: work that had waited.
    pub made_up: f64,
}

impl Found {
    /// From the beginning of the first dip to the end of the last.
    #[must_use]
    pub fn extent(&self) -> Option<(f64, f64)> {
        Some((self.dips.first()?.from_s, self.dips.last()?.to_s))
    }

    /// The first moment after which the rate stays in the band for `keep_s` seconds, looked at up to `end_s`, of whose last second
    /// some may be cut off: the end of a stretch out of the band, or `begin_s` where there is none. `None` where it never stays so
    /// long.
    #[must_use]
    pub fn back_s(&self, begin_s: f64, keep_s: f64, end_s: f64) -> Option<f64> {
        let stays = |at: f64, next: f64| {
            let cut_s = if next < end_s { 0.0 } else { 1.0 };
            // What lasts to the end was never seen in the band again, however short it has to stay there.
            next > at && next - at >= keep_s - cut_s
        };
        let outs = &self.out_s;
        let next = |at: f64| outs.iter().map(|out| out.0).filter(|from| *from > at).fold(end_s, f64::min);
        let is_out = |at: f64| outs.iter().any(|(from, to)| *from <= at && at < *to);
        let first = std::iter::once(begin_s).filter(|_| outs.is_empty());
        let mut ends = first.chain(outs.iter().map(|out| out.1));
        ends.find(|at| !is_out(*at) && stays(*at, next(*at)))
    }

    /// What all dips together cost.
    #[must_use]
    pub fn lost(&self) -> f64 {
        self.dips.iter().map(|dip| dip.lost).fold(0.0, |sum, lost| sum + lost)
    }

    /// The deepest.
    #[must_use]
    pub fn depth(&self) -> f64 {
        self.dips.iter().map(|dip| dip.depth).fold(0.0, f64::max)
    }
}

/// Looks for dips in `series` from bin `from` up to bin `to`. The rate is that of `band` before `from`: a dip that
/// lasts already is taken for one that begins there.
#[must_use]
pub fn find(series: &[f64], from: usize, to: usize, band: &Band) -> Found {
    let to = to.min(series.len());
    let Some(part) = series.get(from..to).filter(|part| !part.is_empty()) else { return Found::default() };
    let missing: Vec<f64> = part.iter().map(|rate| band.level - rate).collect();
    let mut dips: Vec<Dip> = Vec::new();
    let low = segments::find(&missing, band);
    for (at, segment) in low.iter().enumerate() {
        // A slow rise may reach beyond its stretch, up to the next one.
        let before = dips.last().map_or(0, |dip| dip.bins.1.saturating_sub(from));
        let after = low.get(at + 1).map_or(missing.len(), |segment| segment.from);
        dips.push(dip(&missing, *segment, (before, after), from, band));
    }
    let begins = low.first().map(|segment| segment.from);
    let beyond: Vec<f64> = missing.iter().map(|missing| -missing).collect();
    // What lies above the band before anything was lost is no work that had waited.
    let high = begins.map_or_else(Vec::new, |begins| {
        let all = segments::find(&beyond, band);
        all.into_iter().filter(|segment| segment.from >= begins).collect()
    });
    let made_up = high
        .iter()
        .filter_map(|high| beyond.get(high.from..high.to))
        .flatten()
        .fold(0.0, |sum, more| sum + more);
    let above_s: Vec<(f64, f64)> =
        high.iter().map(|high| (real(from + high.from), real(from + high.to))).collect();
    let below = dips.iter().map(|dip| (dip.from_s, dip.to_s));
    let mut out_s: Vec<(f64, f64)> = below.chain(above_s.iter().copied()).collect();
    out_s.sort_by(|a, b| a.0.total_cmp(&b.0));
    Found { dips, out_s, above_s, made_up }
}

/// One dip: `room` is where its neighbours end and begin.
fn dip(missing: &[f64], segment: Segment, room: (usize, usize), offset: usize, band: &Band) -> Dip {
    let (mut begin, mut end) = edges::of(missing, segment, room, band);
    // A bin at an edge is partly in the dip: what it lacks is counted whole. Beyond an edge the stretch has bins that lack
    // something by chance; where they lack more the edge is that of what is deep, and what is less so lies beyond it.
    let (mut first, mut last) = (whole(begin), whole(end.ceil()));
    if lacks(missing.get(segment.from..first), band) {
        (begin, first) = (real(segment.from), segment.from);
    }
    if lacks(missing.get(last..segment.to), band) {
        (end, last) = (real(segment.to), segment.to);
    }
    let (first, last) = (first.max(room.0), last.min(room.1).min(missing.len()));
    let inside = missing.get(first..last.max(first)).unwrap_or_default();
    let lost = inside.iter().sum::<f64>().max(0.0);
    let depth = depth(missing.get(segment.from..segment.to).unwrap_or_default(), band);
    let bins = (first + offset, last + offset);
    Dip { from_s: begin + real(offset), to_s: end + real(offset), depth, lost, bins }
}

/// Beyond the edge of a dip seconds lack more than chance lets them from so many standard deviations of their sum on.
const BEYOND_EDGE: f64 = 4.0;

fn lacks(part: Option<&[f64]>, band: &Band) -> bool {
    part.is_some_and(|part| {
        part.iter().sum::<f64>() > BEYOND_EDGE * band.spread * (band.memory * real(part.len())).sqrt()
    })
}

/// Over ten seconds, or what lies whole in a dip that is shorter: its first and last bins are of both.
const DEPTH_BINS: usize = 10;
/// What rises slowly is deepest for less than ten seconds: five count instead where they are by so many standard deviations of
/// their mean deeper, which is more than a hiccup of one second makes.
const FEW_BINS: usize = 5;
const DEEPER_IN_FEW: f64 = 8.0;
/// A longer stretch that is less deep counts instead where so many standard deviations of their means are between the two: of
/// many stretches chance makes one the deepest.
const DEEPER_BY_CHANCE: f64 = 5.0;
/// Where less than this share of the level is done chance has less and less to take away, and where nothing is, nothing.
const HARDLY: f64 = 0.1;

fn depth(missing: &[f64], band: &Band) -> f64 {
    if band.level <= 0.0 || missing.is_empty() {
        return 0.0;
    }
    let mut sums = vec![0.0];
    let mut sum = 0.0;
    sums.extend(missing.iter().map(|missing| {
        sum += missing;
        sum
    }));
    let most_of = |width: usize| {
        let means =
            sums.iter().zip(sums.iter().skip(width)).map(|(before, upto)| (upto - before) / real(width));
        means.fold(0.0, f64::max)
    };
    let most = most_of(missing.len().min(3));
    let deep = missing.iter().filter(|missing| **missing > most / 2.0).count();
    let widest = deep.saturating_sub(2).max(1);
    let by_chance = |width: usize, mean: f64| {
        // Of few operations chance leaves nothing in five seconds: what it may take from them the ten around them say.
        let (apart, mean) = if width < DEPTH_BINS {
            (DEEPER_IN_FEW, most_of(widest.min(DEPTH_BINS)))
        } else {
            (DEEPER_BY_CHANCE, mean)
        };
        let done = ((1.0 - mean / band.level) / HARDLY).clamp(0.0, 1.0);
        apart * band.spread * (band.memory / real(width)).sqrt() * done
    };
    let widths = std::iter::successors(Some(widest.min(FEW_BINS)), |width| {
        let next = if *width < DEPTH_BINS { DEPTH_BINS } else { width + width / 2 };
        (*width < widest).then(|| next.min(widest))
    });
    let depths = widths.map(|width| {
        let mean = most_of(width);
        (mean, by_chance(width, mean))
    });
    let worst = depths.max_by(|a, b| (a.0 - a.1).total_cmp(&(b.0 - b.1)));
    (worst.map_or(0.0, |worst| worst.0) / band.level).clamp(0.0, 1.0)
}

#[expect(clippy::cast_precision_loss, reason = "bins of a run")]
pub(crate) fn real(count: usize) -> f64 {
    count as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds of a run, at least 0")]
pub(crate) fn whole(seconds: f64) -> usize {
    seconds.max(0.0) as usize
}

#[cfg(test)]
mod tests;
