//! What mean response times went into: stacked bars of operations and sizes, of several runs side by side, and what the store's own
//! servers say of the same operations.

use cosmark_archive::harmless;
use cosmark_metrics::nodes::server_time;
use cosmark_metrics::results::{TIME_PARTS, TimePart, TimeResult};

use super::response::precise;
use super::{Pick, distinct, labels, name_of, note, picks, title};
use crate::plot::chart::{Axis, Chart, Mark, Scale, Series};
use crate::plot::metric::time_unit;
use crate::plot::scale::number;
use crate::plot::table::TextTable;
use crate::plot::{Picture, PlotError, PlotRun, Shown, Wishes as Options};

/// With more bars than this, of several operations or sizes, a picture is cut.
const MOST_BARS: usize = 32;
/// More names than this do not fit below a picture.
const MOST_NAMES: usize = 24;
/// More runs and stages than this are not told apart by initials.
const MOST_INITIALS: usize = 8;
/// Above more bars than this there is no room for their means.
const MOST_NUMBERED: usize = 16;
/// How much of its place the bars at one name take.
const TAKEN: f64 = 0.86;

/// A bar: an operation, or a class of its sizes, in one stage of one run.
#[derive(Clone)]
struct Bar<'r> {
    pick: Pick<'r>,
    /// Of its operation.
    label: String,
    size: Option<&'r str>,
    count: u64,
    time: &'r TimeResult,
}

impl Bar<'_> {
    /// Bars of the same thing stand together.
    fn group(&self) -> (&str, Option<&str>) {
        (self.label.as_str(), self.size)
    }

    /// Runs and stages that are side by side in each group.
    fn side(&self) -> (usize, usize) {
        (self.pick.run_at, self.pick.stage_at)
    }

    fn sizes(&self) -> &str {
        self.size.unwrap_or("all sizes")
    }
}

/// Two pictures of each set of bars: in units of time, and as shares of the whole.
pub fn time(runs: &[PlotRun], options: &Options) -> Result<Vec<Picture>, PlotError> {
    let all = bars_of(&picks(runs, options)?);
    if all.is_empty() {
        return Err(PlotError::Nothing(why_none(runs).to_owned()));
    }
    let mut pictures = Vec::new();
    for (name, own) in cut(all) {
        let shown = Shown { csv: csv_of(&own), table: table_of(&own, options) };
        for is_share in [false, true] {
            let chart = chart_of(&own, is_share, options);
            let mut picture =
                Picture::chart(format!("time{}{name}", if is_share { "-share" } else { "" }), chart);
            picture.shown = Some(shown.clone());
            pictures.push(picture);
        }
    }
    Ok(pictures)
}

/// Why nothing is known of what response times went into.
fn why_none(runs: &[PlotRun]) -> &'static str {
    let is_fio = |run: &PlotRun| run.record().is_some_and(|run| run.record.fio.is_some());
    if runs.iter().all(is_fio) {
        "fio does not say what response times went into"
    } else if runs.iter().all(PlotRun::is_cosbench) {
        "COSBench does not say what response times went into"
    } else {
        "what response times went into is not known of runs of older versions, of killed ones, of COSBench and of fio, and where \
         nothing succeeded"
    }
}

/// By operation and size, and within these by run and stage.
fn bars_of<'r>(picks: &[Pick<'r>]) -> Vec<Bar<'r>> {
    let mut all = Vec::new();
    for label in labels(picks) {
        let mut own: Vec<(u64, Bar<'r>)> = Vec::new();
        for pick in picks.iter().filter(|pick| pick.label == label) {
            let result = &pick.op.result;
            let least = |size: Option<&str>| {
                let class = result.size_classes.iter().find(|class| Some(class.label.as_str()) == size);
                class.map_or(0, |class| class.least_bytes.saturating_add(1))
            };
            own.extend(result.times().map(|times| {
                let label = label.to_owned();
                let bar =
                    Bar { pick: pick.clone(), label, size: times.size, count: times.count, time: times.time };
                (least(times.size), bar)
            }));
        }
        // Stable: runs and stages stay in their order.
        own.sort_by_key(|(least, _)| *least);
        all.extend(own.into_iter().map(|(_, bar)| bar));
    }
    all
}

/// Bars of one picture, with what its name ends in: as few pictures as bars, names and initials allow.
fn cut(all: Vec<Bar<'_>>) -> Vec<(String, Vec<Bar<'_>>)> {
    let sides = distinct(all.iter().map(Bar::side)).len();
    let groups = distinct(all.iter().map(Bar::group)).len();
    if groups == 1 || sides == 1 {
        return all.chunks(MOST_NAMES).map(|part| (String::new(), part.to_vec())).collect();
    }
    if sides <= MOST_INITIALS && all.len() <= MOST_BARS {
        return vec![(String::new(), all)];
    }
    let ending = |bar: &Bar<'_>| match sides > MOST_INITIALS {
        true => format!("-{}-{}", bar.label, bar.sizes()),
        false => format!("-{}", bar.label),
    };
    let mut pictures: Vec<(String, Vec<Bar<'_>>)> = Vec::new();
    for group in all.chunk_by(|a, b| a.group() == b.group()) {
        let Some(ending) = group.first().map(ending) else { continue };
        match pictures.last_mut() {
            Some((name, own)) if *name == ending && own.len() + group.len() <= MOST_BARS => {
                own.extend(group.iter().cloned())
            }
            _ => pictures.extend(group.chunks(MOST_NAMES).map(|part| (ending.clone(), part.to_vec()))),
        }
    }
    pictures
}

/// What tells groups of bars from each other: operation and size, as far as they differ.
fn name_of_group(bar: &Bar<'_>, all: &[Bar<'_>]) -> String {
    let several = |of: fn(&Bar<'_>) -> String| distinct(all.iter().map(of)).len() > 1;
    let operation = several(|bar| bar.label.clone()).then(|| bar.label.clone());
    let sizes = several(|bar| bar.sizes().to_owned()).then(|| bar.sizes().to_owned());
    let parts: Vec<String> = operation.into_iter().chain(sizes).collect();
    if parts.is_empty() { bar.label.clone() } else { parts.join(", ") }
}

/// Names of the runs and stages, in the order in which they stand at each name.
fn names_of_sides(bars: &[Bar<'_>]) -> Vec<((usize, usize), String)> {
    let picks: Vec<Pick<'_>> = bars.iter().map(|bar| bar.pick.clone()).collect();
    let mut sides: Vec<((usize, usize), String)> =
        distinct(bars.iter().map(|bar| (bar.side(), name_of(&bar.pick, &picks))));
    sides.sort();
    sides
}

/// Parts of which any bar has something, with their numbers.
fn shown(bars: &[Bar<'_>]) -> Vec<(usize, &'static TimePart)> {
    let has = |part: &TimePart| bars.iter().any(|bar| (part.of)(bar.time).is_some_and(|ms| ms > 0.0));
    TIME_PARTS.iter().enumerate().filter(|(_, part)| has(part)).collect()
}

/// Where the bars stand.
struct Layout {
    /// Along the axis: groups; runs and stages where there is only one.
    names: Vec<String>,
    /// Of each bar.
    places: Vec<f64>,
    /// Of each bar, where several stand at a name.
    initials: Option<Vec<String>>,
    /// What initials stand for, or what all bars are of.
    key: String,
}

#[expect(clippy::cast_precision_loss, reason = "a few bars")]
fn layout(bars: &[Bar<'_>]) -> Layout {
    let groups = distinct(bars.iter().map(Bar::group));
    let sides = names_of_sides(bars);
    let side_of = |bar: &Bar<'_>| sides.iter().position(|(side, _)| *side == bar.side()).unwrap_or(0);
    if groups.len() == 1 {
        let names =
            bars.iter().map(|bar| sides.get(side_of(bar)).map(|(_, name)| name.clone()).unwrap_or_default());
        let places = (0..bars.len()).map(|at| at as f64).collect();
        return Layout { names: names.collect(), places, initials: None, key: String::new() };
    }
    let first = |group| bars.iter().find(|bar| bar.group() == group);
    let names = groups.iter().filter_map(|group| Some(name_of_group(first(*group)?, bars))).collect();
    let count = sides.len() as f64;
    let place = |bar: &Bar<'_>| {
        let group = groups.iter().position(|group| *group == bar.group()).unwrap_or(0) as f64;
        group + (side_of(bar) as f64 - (count - 1.0) / 2.0) * TAKEN / count
    };
    let initial = |at: usize| char::from(b'A'.saturating_add(u8::try_from(at).unwrap_or(25))).to_string();
    let several = sides.len() > 1;
    let key = sides.iter().enumerate().map(|(at, (_, name))| format!("{}: {name}.", initial(at)));
    Layout {
        names,
        places: bars.iter().map(place).collect(),
        initials: several.then(|| bars.iter().map(|bar| initial(side_of(bar))).collect()),
        key: if several { key.collect::<Vec<_>>().join(" ") } else { String::new() },
    }
}

fn chart_of(bars: &[Bar<'_>], is_share: bool, options: &Options) -> Chart {
    let Layout { names, places, initials, key } = layout(bars);
    let most = bars.iter().map(|bar| bar.time.mean_ms).fold(0.0, f64::max);
    let servers = if is_share { Vec::new() } else { servers_of(bars, &places) };
    let most = servers.iter().flat_map(|(_, points)| points).map(|(_, ms)| *ms).fold(most, f64::max);
    let (unit_ms, unit) = time_unit(most);
    let scale = |bar: &Bar<'_>, ms: f64| match is_share {
        true if bar.time.mean_ms > 0.0 => 100.0 * ms / bar.time.mean_ms,
        true => 0.0,
        false => ms / unit_ms,
    };
    let parts = shown(bars);
    let mut series: Vec<Series> = parts
        .iter()
        .map(|(look, part)| {
            let own = bars.iter().zip(&places);
            let points = own.map(|(bar, x)| (*x, scale(bar, (part.of)(bar.time).unwrap_or(0.0))));
            Series::new(part.title, *look, Mark::Stacked, points.collect())
        })
        .collect();
    let mut left = if is_share {
        Axis::new("Share of the mean response time (%)", Scale::FromZero)
    } else {
        Axis::new(format!("Mean response time ({unit})"), Scale::FromZero)
    };
    // Room for what stands above the bars.
    left.at_least = (!is_share).then_some(most / unit_ms * 1.08);
    left.bounds.1 = is_share.then_some(if initials.is_some() { 115.0 } else { 100.0 });
    let numbers = (!is_share && bars.len() <= MOST_NUMBERED)
        .then(|| bars.iter().map(|bar| precise(bar.time.mean_ms / unit_ms)).collect());
    if let (Some(texts), Some(last)) = (initials.or(numbers), series.last_mut()) {
        let own = bars.iter().zip(&places).zip(texts);
        last.words = own.map(|((bar, x), text)| (*x, scale(bar, bar.time.mean_ms), text)).collect();
    }
    // Signs of other shapes than those of the first series, which stand for nothing here.
    series.extend(servers.into_iter().enumerate().map(|(at, (name, points))| {
        let points = points.into_iter().map(|(x, ms)| (x, ms / unit_ms)).collect();
        Series::new(name, 2 + at, Mark::Hollow, points)
    }));
    Chart {
        title: title(options, heading(bars)),
        x: Axis::new("", Scale::Names(names)),
        left,
        right: None,
        series,
        note: [key, notes(bars, options)].join(" ").trim().to_owned(),
    }
}

fn heading(bars: &[Bar<'_>]) -> String {
    let operations = distinct(bars.iter().map(|bar| bar.label.as_str()));
    match operations.as_slice() {
        [only] => format!("What the mean response time of {only} went into"),
        _ => "What mean response times went into".to_owned(),
    }
}

fn notes(bars: &[Bar<'_>], options: &Options) -> String {
    let whole: Vec<Pick<'_>> =
        bars.iter().filter(|bar| bar.size.is_none()).map(|bar| bar.pick.clone()).collect();
    let mut parts = Vec::new();
    let unseen = bars.iter().filter(|bar| bar.time.send_ms.is_none()).count();
    if unseen == bars.len() {
        parts.push("Sending was not seen: it is part of the first byte.".to_owned());
    } else if unseen > 0 {
        parts.push(format!("Of {unseen} bars sending was not seen: it is part of the first byte."));
    }
    if options.y.log == Some(true) {
        parts.push("Parts add up on an even axis only, not on a log one.".to_owned());
    }
    parts.push(note(&whole, true));
    parts.join(" ")
}

/// What servers say of the operations of all sizes: a name for each kind of server and time, and where its signs stand, ms.
fn servers_of(bars: &[Bar<'_>], places: &[f64]) -> Vec<(String, Vec<(f64, f64)>)> {
    let mut found: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
    for (bar, x) in bars.iter().zip(places).filter(|(bar, _)| bar.size.is_none()) {
        let pick = &bar.pick;
        let Some(stage) = pick.run.record().and_then(|run| run.record.stages.get(pick.stage_at)) else {
            continue;
        };
        let all = server_time::of_stage(&stage.nodes);
        for one in all.iter().filter(|one| one.sample == pick.op.result.sample) {
            let name = format!("{}: {}", one.server, one.of);
            match found.iter_mut().find(|(known, _)| *known == name) {
                Some((_, points)) => points.push((*x, one.mean_ms)),
                None => found.push((name, vec![(*x, one.mean_ms)])),
            }
        }
    }
    found
}

/// One row for each part of each bar.
fn csv_of(bars: &[Bar<'_>]) -> String {
    let mut out = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    // Writing to memory cannot fail.
    drop(out.write_record(["run", "stage", "operation", "size", "part", "mean_ms", "share", "operations"]));
    for bar in bars {
        let pick = &bar.pick;
        for (_, part) in shown(bars) {
            let Some(ms) = (part.of)(bar.time) else { continue };
            let share = if bar.time.mean_ms > 0.0 { ms / bar.time.mean_ms } else { 0.0 };
            let names = [&pick.run.label, &pick.stage_name, &bar.label].map(String::as_str);
            let figures = [ms.to_string(), share.to_string(), bar.count.to_string()];
            let cells = names.into_iter().chain([bar.size.unwrap_or("all"), part.id]);
            let cells = cells.chain(figures.iter().map(String::as_str));
            drop(out.write_record(cells.map(|cell| harmless(cell).into_owned())));
        }
    }
    out.into_inner().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

/// One row for each bar.
fn table_of(bars: &[Bar<'_>], options: &Options) -> TextTable {
    let parts = shown(bars);
    let sides = names_of_sides(bars);
    let several = sides.len() > 1;
    let of = several.then_some("of").into_iter();
    let names = of.chain(["operations", "mean"]).chain(parts.iter().map(|(_, part)| part.title));
    let row = |bar: &Bar<'_>| {
        #[expect(clippy::cast_precision_loss, reason = "for the eye")]
        let count = number(bar.count as f64, 1.0);
        let ms = |part: &TimePart| (part.of)(bar.time).map_or_else(|| "-".to_owned(), precise);
        let figures =
            [count, precise(bar.time.mean_ms)].into_iter().chain(parts.iter().map(|(_, part)| ms(part)));
        let side = sides.iter().filter(|_| several).find(|(side, _)| *side == bar.side());
        let names = std::iter::once(name_of_group(bar, bars)).chain(side.map(|(_, name)| name.clone()));
        names.chain(figures).collect()
    };
    TextTable {
        title: title(options, heading(bars)),
        head: std::iter::once(String::new()).chain(names.map(str::to_owned)).collect(),
        names: if several { 2 } else { 1 },
        rows: bars.iter().map(row).collect(),
        note: format!("Times in ms. {}", notes(bars, options)),
    }
}
