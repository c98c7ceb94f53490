//! A store as queueing theory sees it: what each kind of operation costs each of its units, and the time that it spends
//! elsewhere. Fitted to what was measured at several loads. Sources: Lazowska et al. (1984), chapters 6 (bounds), 12
//! (parameters of models) and 15 (validation); B. Efron and R. J. Tibshirani, An Introduction to the Bootstrap (1993),
//! section 9.5, for the residuals that are drawn anew.

use cosmark_stats::bootstrap::{Random, median};

pub use self::falling::Curve;
use self::falling::Falling;
pub(crate) use self::full::is_near;
use self::full::{Full, is_constant};
pub(crate) use self::stations::{Apart, Loop, Stations};
use crate::ladder::{Ladder, Unit, Usage};
use crate::number::real;
use crate::regression::{Plane, of_classes};

mod falling;
mod full;
mod stations;
mod turns;

/// What one kind of operation did during one load.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ClassLoad {
    /// Operations completed per second; 0 where there were none.
    pub rate_per_s: f64,
    /// Bytes of one, on average.
    pub bytes_each: f64,
    /// Mean service time, seconds.
    pub service_s: f64,
}

/// One load and what it led to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Load {
    /// By kind of operation, in the order of [`Observed::classes`].
    pub classes: Vec<ClassLoad>,
    /// Operations under way on average.
    pub in_flight: f64,
    /// Arrivals came by the clock, whatever the store did.
    pub open: bool,
    /// The client was not what limited the rate.
    pub client_clear: bool,
    /// In the order of [`Observed::units`].
    pub usage: Vec<Usage>,
}

impl Load {
    /// Operations of all kinds per second.
    #[must_use]
    pub fn rate_per_s(&self) -> f64 {
        self.classes.iter().map(|class| class.rate_per_s).sum()
    }

    /// Mean service time of all, seconds.
    #[must_use]
    pub fn service_s(&self) -> f64 {
        let times = self.classes.iter().map(|class| class.rate_per_s * class.service_s);
        times.sum::<f64>() / self.rate_per_s()
    }

    pub(crate) fn mix(&self) -> Mix {
        let all = self.rate_per_s();
        self.classes.iter().map(|class| (class.rate_per_s / all, class.bytes_each)).collect()
    }
}

/// Share and bytes of each kind of operation.
pub(crate) type Mix = Vec<(f64, f64)>;

/// What was measured at several loads.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Observed {
    /// What was looked at.
    pub units: Vec<Unit>,
    /// How busy each unit is without load; `None` where nobody looked.
    pub idle: Vec<Option<f64>>,
    /// Names of the kinds of operation.
    pub classes: Vec<String>,
    /// The loads.
    pub loads: Vec<Load>,
}

/// Shares of a mix that differ by less are the same mix.
pub(crate) const SAME_SHARE: f64 = 0.1;
/// Sizes within this factor are the same size.
pub(crate) const SAME_SIZE: f64 = 1.1;

impl Observed {
    /// A ladder as one kind of operation of no size.
    #[must_use]
    pub fn of(ladder: &Ladder) -> Self {
        let loads = ladder.sorted().into_iter().map(|step| Load {
            classes: vec![ClassLoad {
                rate_per_s: step.throughput_per_s,
                bytes_each: 0.0,
                service_s: step.service_s,
            }],
            in_flight: step.in_flight,
            open: false,
            client_clear: step.client_clear,
            usage: step.usage.clone(),
        });
        let loads = loads.collect();
        Self { units: ladder.units.clone(), idle: ladder.idle.clone(), classes: vec!["all".into()], loads }
    }

    /// By rising load, without loads that measured nothing.
    pub(crate) fn sorted(&self) -> Self {
        let usable = |load: &&Load| {
            let figures = [load.rate_per_s(), load.in_flight, load.service_s()];
            figures.iter().all(|figure| figure.is_finite() && *figure > 0.0)
        };
        let mut loads: Vec<Load> = self.loads.iter().filter(usable).cloned().collect();
        loads.sort_by(|a, b| a.in_flight.total_cmp(&b.in_flight));
        Self { loads, ..self.clone() }
    }

    /// Every load had the same shares of each kind.
    pub(crate) fn is_one_mix(&self) -> bool {
        let Some(first) = self.loads.first().map(Load::mix) else { return true };
        let near = |mix: Mix| first.iter().zip(&mix).all(|(a, b)| (a.0 - b.0).abs() <= SAME_SHARE);
        self.loads.iter().all(|load| near(load.mix()))
    }

    /// All kinds as one, where their shares never change: what one operation of that mix costs.
    pub(crate) fn as_one_class(&self) -> Self {
        let one = |load: &Load| {
            let bytes = load.mix().iter().map(|(share, bytes)| share * bytes).sum();
            let class =
                ClassLoad { rate_per_s: load.rate_per_s(), bytes_each: bytes, service_s: load.service_s() };
            Load { classes: vec![class], ..load.clone() }
        };
        let loads = self.loads.iter().map(one).collect();
        Self { classes: vec![self.classes.join("+")], loads, ..self.clone() }
    }

    /// Smallest and largest size of a kind.
    pub(crate) fn sizes(&self, class: usize) -> Option<(f64, f64)> {
        let of_class = self.loads.iter().filter_map(|load| load.classes.get(class));
        let sizes = of_class.filter(|one| one.rate_per_s > 0.0).map(|one| (one.bytes_each, one.bytes_each));
        sizes.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }
}

/// Time for an operation of some size.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cost {
    /// Seconds whatever the size.
    pub fixed_s: f64,
    /// Seconds for each byte.
    pub per_byte_s: f64,
}

impl Cost {
    /// Seconds for one of this many bytes.
    #[must_use]
    pub fn at(self, bytes: f64) -> f64 {
        self.fixed_s + self.per_byte_s * bytes
    }
}

/// One kind of operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// Smallest and largest size that was measured.
    pub sizes: (f64, f64),
    /// What each byte costs is known: several sizes were measured.
    pub sized: bool,
    /// Time that an operation spends where nobody looked, or where nobody waits.
    pub delay: Cost,
}

/// One unit of the store.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Its place in the units that were observed.
    pub unit: usize,
    /// What an operation of each kind costs it.
    pub costs: Vec<Cost>,
    /// Share of it that is busy anyway.
    pub idle: f64,
    /// It costs the same at every load, within 5 % of the unit.
    pub constant: bool,
    /// At the load at which it costs most: how many times what the fit says.
    pub dearest: f64,
    /// It costs less or more at low loads, and the same at the highest, at which it is full: from and up to so many operations
    /// under way. Its costs are those; `None` where they are those of all loads.
    pub full: Option<(f64, f64)>,
    /// How it costs less the more there are; its costs are then those at the highest load. `None` where they are always those.
    pub curve: Option<Curve>,
}

impl Part {
    /// Seconds of one operation of a mix.
    pub(crate) fn demand_s(&self, mix: &Mix) -> f64 {
        self.costs.iter().zip(mix).map(|(cost, (share, bytes))| share * cost.at(*bytes)).sum()
    }
}

/// A store.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// Kinds of operation.
    pub classes: Vec<Class>,
    /// Its units that an operation needs.
    pub parts: Vec<Part>,
    /// For which part of it, 0 to 1, what waits at the units is served in turn, whatever it costs; else those that cost little
    /// are held up little. `None` where no load with several kinds of operation shows it.
    pub in_turn: Option<f64>,
}

/// Why nothing can be predicted.
#[derive(Debug, Clone, PartialEq)]
pub enum Cannot {
    /// No unit was measured at two loads.
    NothingMeasured,
    /// So many loads are too few.
    TooFewLoads(usize),
    /// The client was full at every load.
    Client,
    /// Kinds of operation, or sizes, were always measured together: what each costs is not known.
    Inseparable,
    /// This machine is full, and so much of its time goes to what is no operation: what the store could have is not known.
    BusyAnyway(usize, f64),
    /// What an operation costs this unit changes with the load by more than 5 % of the unit, and by no law that is known, or
    /// far from the loads at which it was seen.
    DemandChanges(usize),
    /// The laws by which costs fall with the load let anything between these rates be true.
    LawsDisagree(f64, f64),
    /// The model is wrong by this share of the throughput at the highest load that it was made from: something that nobody
    /// looked at limits the store.
    Unexplained(f64),
    /// The loads lie this share, on the whole, from what any such store would do.
    Scattered(f64),
    /// So many units of the store that is wanted would take minutes and gigabytes.
    TooManyUnits(usize),
    /// No such role, unit or kind of operation was measured; these were.
    NotMeasured(String, String),
    /// Only this mix was measured.
    OneMix(String),
    /// Operations of this kind were measured between these sizes only.
    OtherSize(String, f64, f64),
    /// None of these operations moves bytes of objects: another size of them is none of theirs.
    NoSize(String),
    /// No whole number of machines or units.
    NotWhole(String),
    /// So many operations per second cannot be served: beyond this rate the queue grows without end.
    TooMuch(f64),
}

/// Loads may lie this far from the plane, in shares of the unit, as their root mean square and each by itself, before a
/// demand is called not constant.
const LARGEST_RESIDUALS: (f64, f64) = (0.05, 0.1);
/// A unit that is less busy than this at every load may cost what it likes.
const MATTERS: f64 = 0.1;
/// Loads up to this share of the highest rate show what an operation takes without much waiting.
const LOW: f64 = 0.6;
/// Loads above this share of the highest rate show what an operation costs.
const HIGH: f64 = 0.3;
/// Fewer loads say nothing of what varies.
const LEAST_LOADS: usize = 3;

/// Rate of each column, and the utilisation that it led to.
type Row = (Vec<f64>, f64);

/// What is made of a unit whose operations do not cost the same at every load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Changing {
    /// What they cost where it is full, as long as it stays about as full.
    WhenFull,
    /// A law by which costs fall, where one explains the loads.
    ByLaw,
}

/// What operations cost a unit.
#[derive(Clone)]
enum Costs {
    /// What the plane says, whether or not all loads lie near it.
    Plane,
    WhenFull(Full),
    Falling(Falling),
}

/// The planes of all units that could be fitted.
pub(crate) struct Fit {
    sized: Vec<bool>,
    /// What was seen of each unit, and the plane through it.
    units: Vec<(usize, Vec<Row>, Plane, Costs)>,
}

impl Fit {
    /// # Errors
    /// Where there is too little to fit.
    pub(crate) fn of(observed: &Observed, changing: Changing) -> Result<Self, Cannot> {
        if observed.loads.len() < LEAST_LOADS {
            return Err(Cannot::TooFewLoads(observed.loads.len()));
        }
        let varies = |class: usize| observed.sizes(class).is_some_and(|(low, high)| high > low * SAME_SIZE);
        let sized: Vec<bool> = (0..observed.classes.len()).map(varies).collect();
        let columns = |load: &Load| -> Vec<f64> {
            let of_class = |(class, sized): (&ClassLoad, &bool)| {
                let bytes = sized.then_some(class.rate_per_s * class.bytes_each);
                std::iter::once(class.rate_per_s).chain(bytes).collect::<Vec<f64>>()
            };
            load.classes.iter().zip(&sized).flat_map(of_class).collect()
        };
        let nothing = vec![0.0; observed.loads.first().map_or(0, |load| columns(load).len())];
        let (mut units, mut measured) = (Vec::new(), false);
        for unit in 0..observed.units.len() {
            let idle = observed.idle.get(unit).copied().flatten().map(|busy| (nothing.clone(), busy));
            let seen =
                observed.loads.iter().filter_map(|load| Some((columns(load), load.usage.get(unit)?.busy?)));
            let rows: Vec<Row> = idle.into_iter().chain(seen).collect();
            measured |= rows.len() > nothing.len() + 1;
            if let Some(plane) = of_classes(&rows) {
                let full = || Full::of(observed, unit, &plane, columns).map(Costs::WhenFull);
                let falling = || Falling::of(observed, unit, columns).map(Costs::Falling);
                let costs = match changing {
                    _ if is_constant(&rows, &plane) => None,
                    Changing::WhenFull => full(),
                    Changing::ByLaw => falling().or_else(full),
                };
                units.push((unit, rows, plane, costs.unwrap_or(Costs::Plane)));
            }
        }
        match (units.is_empty(), measured) {
            (false, _) => Ok(Self { sized, units }),
            (true, true) => Err(Cannot::Inseparable),
            (true, false) => Err(Cannot::NothingMeasured),
        }
    }

    /// The same with the distances of rows from planes dealt out anew.
    fn redrawn(&self, random: &mut Random) -> Self {
        let units = self.units.iter().map(|(unit, rows, plane, costs)| {
            let drawn = match costs {
                Costs::Plane => None,
                // What it costs lies somewhere between what it cost at these loads.
                Costs::WhenFull(full) => Some(Costs::WhenFull(full.drawn(random))),
                Costs::Falling(falling) => Some(Costs::Falling(falling.drawn(random))),
            };
            if let Some(drawn) = drawn {
                return (*unit, rows.clone(), plane.clone(), drawn);
            }
            let free = real(rows.len().saturating_sub(plane.costs.len() + 1)).max(1.0);
            let wider = (real(rows.len()) / free).sqrt();
            let drawn: Vec<Row> = rows
                .iter()
                .zip(&plane.residuals)
                .map(|((rates, busy), own)| {
                    let other = plane.residuals[random.below(plane.residuals.len())];
                    (rates.clone(), busy - own + other * wider)
                })
                .collect();
            let plane = of_classes(&drawn).unwrap_or_else(|| plane.clone());
            (*unit, drawn, plane, Costs::Plane)
        });
        Self { sized: self.sized.clone(), units: units.collect() }
    }

    fn part(&self, unit: usize, rows: &[Row], plane: &Plane, costs: &Costs) -> Part {
        let steady = |costs, idle: f64| Part {
            unit,
            costs,
            idle,
            constant: true,
            dearest: 1.0,
            full: None,
            curve: None,
        };
        match costs {
            Costs::WhenFull(full) => {
                let costs = self.costs(plane, full.mean());
                return Part { full: Some(full.in_flight), ..steady(costs, full.idle) };
            }
            Costs::Falling(falling) => {
                if let Some(followed) = falling.best() {
                    let costs = self.costs(followed.plane, followed.times);
                    let idle = followed.plane.idle.clamp(0.0, 1.0);
                    return Part { curve: Some(followed.curve), ..steady(costs, idle) };
                }
            }
            Costs::Plane => {}
        }
        let work = |rates: &[f64]| plane.work(rates);
        let most = rows.iter().map(|row| work(&row.0)).fold(0.0, f64::max);
        let dearest = rows
            .iter()
            .filter(|row| work(&row.0) >= most * HIGH && most > 0.0)
            .map(|row| (row.1 - plane.idle) / work(&row.0))
            .fold(1.0, f64::max);
        let constant = is_constant(rows, plane);
        Part { constant, dearest, ..steady(self.costs(plane, 1.0), plane.idle.clamp(0.0, 1.0)) }
    }

    /// So many times what the plane says of each kind.
    fn costs(&self, plane: &Plane, times: f64) -> Vec<Cost> {
        let mut left = plane.costs.iter().copied();
        let cost = |sized: &bool| Cost {
            fixed_s: left.next().unwrap_or_default() * times,
            per_byte_s: if *sized { left.next().unwrap_or_default() * times } else { 0.0 },
        };
        self.sized.iter().map(cost).collect()
    }

    fn model(&self, observed: &Observed, calibrated_by: &[&Load], in_turn: Option<f64>) -> Model {
        let parts: Vec<Part> = self
            .units
            .iter()
            .map(|(unit, rows, plane, costs)| self.part(*unit, rows, plane, costs))
            .filter(|part| part.costs.iter().any(|cost| cost.fixed_s > 0.0 || cost.per_byte_s > 0.0))
            .collect();
        let class = |(at, name): (usize, &String)| Class {
            name: name.clone(),
            sizes: observed.sizes(at).unwrap_or_default(),
            sized: self.sized[at],
            delay: Cost::default(),
        };
        let classes = observed.classes.iter().enumerate().map(class).collect();
        let mut model = Model { classes, parts, in_turn };
        let delays: Vec<Vec<(f64, f64)>> = model.delays(&observed.units, calibrated_by);
        for (class, points) in model.classes.iter_mut().zip(delays) {
            class.delay = delay(&points, class.sized);
        }
        model
    }
}

/// The loads of each mix and size at which little waits: up to [`LOW`] of the highest rate of that mix and size, or the lowest.
fn low_loads(observed: &Observed) -> Vec<&Load> {
    let mut groups: Vec<Vec<&Load>> = Vec::new();
    for load in observed.loads.iter().filter(|load| load.client_clear) {
        match groups
            .iter_mut()
            .find(|group| group.first().is_some_and(|first| alike(&first.mix(), &load.mix())))
        {
            Some(group) => group.push(load),
            None => groups.push(vec![load]),
        }
    }
    let mut low = Vec::new();
    for group in groups {
        let highest = group.iter().map(|load| load.rate_per_s()).fold(0.0, f64::max);
        let lowest = group.first().map_or(0.0, |load| load.in_flight);
        low.extend(
            group.into_iter().filter(|load| load.rate_per_s() <= highest * LOW || load.in_flight <= lowest),
        );
    }
    low
}

/// The same shares and sizes.
fn alike(a: &Mix, b: &Mix) -> bool {
    let near = |((share, bytes), (other, others)): (&(f64, f64), &(f64, f64))| {
        (share - other).abs() <= SAME_SHARE && bytes.max(*others) <= bytes.min(*others) * SAME_SIZE
    };
    a.iter().zip(b).all(near)
}

/// A line through (bytes, delay), or the middle of the delays.
fn delay(points: &[(f64, f64)], sized: bool) -> Cost {
    let rows: Vec<Row> = points.iter().map(|(bytes, delay)| (vec![*bytes], *delay)).collect();
    if sized && let Some(line) = of_classes(&rows) {
        return Cost { fixed_s: line.idle, per_byte_s: line.costs[0] };
    }
    let delays: Vec<f64> = points.iter().map(|point| point.1).collect();
    Cost { fixed_s: median(&delays).unwrap_or(0.0), per_byte_s: 0.0 }
}

impl Model {
    /// The best model, and `replicas` of it with the distances from it dealt out anew, which show how sure it is.
    ///
    /// # Errors
    /// Where there is too little to fit, or the client was full; of laws also where no unit follows one.
    pub(crate) fn fit(
        observed: &Observed,
        changing: Changing,
        replicas: usize,
    ) -> Result<(Self, Vec<Self>), Cannot> {
        let fit = Fit::of(observed, changing)?;
        let follows_law = |one: &(usize, Vec<Row>, Plane, Costs)| matches!(one.3, Costs::Falling(_));
        if changing == Changing::ByLaw && !fit.units.iter().any(follows_law) {
            return Err(Cannot::NothingMeasured);
        }
        let low = low_loads(observed);
        if low.is_empty() {
            return Err(Cannot::Client);
        }
        let mut best = fit.model(observed, &low, None);
        if best.parts.is_empty() {
            return Err(Cannot::NothingMeasured);
        }
        // Times elsewhere follow from how waiting is shared, and this from them.
        for _ in 0..turns::ROUNDS {
            best = fit.model(observed, &low, best.seen_in_turn(observed));
        }
        let in_turn = best.in_turn;
        let mut random = Random::new(SEED);
        let replica = |_| {
            let drawn: Vec<&Load> = (0..low.len()).map(|_| low[random.below(low.len())]).collect();
            fit.redrawn(&mut random).model(observed, &drawn, in_turn)
        };
        let replicas = (0..replicas).map(replica).collect();
        Ok((best, replicas))
    }

    /// For each kind, size and time elsewhere at each of these loads: what is left of the service time.
    fn delays(&self, units: &[Unit], loads: &[&Load]) -> Vec<Vec<(f64, f64)>> {
        let mut found = vec![Vec::new(); self.classes.len()];
        for load in loads {
            let Some((stations, slower)) = self.waiting(units, load) else { continue };
            for (at, class) in load.classes.iter().enumerate().filter(|(_, class)| class.rate_per_s > 0.0) {
                let inside = stations.response_s(self, at, class.bytes_each, &slower, self.turn());
                found[at].push((class.bytes_each, (class.service_s - inside).max(0.0)));
            }
        }
        found
    }

    /// Some unit costs less the more operations there are.
    pub(crate) fn has_curves(&self) -> bool {
        self.parts.iter().any(|part| part.curve.is_some())
    }

    /// Mean time elsewhere of a mix.
    pub(crate) fn delay_s(&self, mix: &Mix) -> f64 {
        self.classes.iter().zip(mix).map(|(class, (share, bytes))| share * class.delay.at(*bytes)).sum()
    }
}

const SEED: u64 = 0x5eed;
