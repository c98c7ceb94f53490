//! What a store would do with more machines, another mix, other sizes or another load: the measured demands in a closed or an
//! open network. Validated by leaving out the upper third of the loads and predicting it, as in Lazowska et al. (1984),
//! chapter 15. Of a store whose operations cost less under load there are two models: what they cost where units are full, and
//! the laws by which costs fall ([`crate::law`]). The one that lies nearer to what was measured is asked first.

use std::collections::BTreeMap;

use self::sizes::Carried;
use crate::change::{More, machines};
use crate::ladder::Unit;
use crate::model::{Cannot, Changing, Load, Mix, Model, Observed, SAME_SHARE, SAME_SIZE, Stations};
use crate::mva::Solution;
use crate::number::real;
use crate::others::{HARMLESS, Others};
use crate::regression::quantile;

mod classes;
mod nearer;
mod sizes;

/// A load that is asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum Demanded {
    /// Workers that begin the next operation when the last is over, after a pause of so many seconds.
    Closed(u32, f64),
    /// The same with so many workers for each kind of operation, which do no other. What each comes to is their mix.
    Apart(BTreeMap<String, u32>, f64),
    /// Operations per second, whatever the store does.
    Open(f64),
}

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// Shares of the kinds of operation, of any sum; `None`: as measured.
    pub mix: Option<BTreeMap<String, f64>>,
    /// Bytes of each object; `None`: as measured.
    pub bytes_each: Option<f64>,
    /// How much load.
    pub load: Demanded,
    /// Which store.
    pub more: More,
}

/// A rate or a time with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    /// Best value.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end; infinite where the store may not keep up.
    pub high: f64,
}

/// What a store is predicted to do.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// Operations per second.
    pub throughput_per_s: Range,
    /// Mean service time of all, seconds.
    pub service_s: Range,
    /// Bytes of an operation, on average; 0 where none were counted.
    pub bytes_each: f64,
    /// Mean service time of each kind of operation.
    pub classes: Vec<(String, Range)>,
    /// Operations of each of these kinds per second, in the same order.
    pub class_rates_per_s: Vec<Range>,
    /// Operations per second at which the first unit has no time left.
    pub ceiling_per_s: Range,
    /// Units by their ceiling, the lowest first: place in the units, ceiling, and how busy it would be.
    pub limits: Vec<(usize, f64, f64)>,
    /// The size lies beyond those that were measured.
    pub extrapolated: bool,
    /// What an operation costs some unit falls with the load, by laws that were fitted to the loads.
    pub costs_fall: bool,
}

/// A load that the model had not seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Held {
    /// What was measured.
    pub load: Load,
    /// What was predicted for it, from the lower loads.
    pub throughput_per_s: Range,
    /// Mean service time, seconds.
    pub service_s: Range,
}

/// A model with what is known of its errors.
#[derive(Debug, Clone, PartialEq)]
pub struct Planner {
    /// Names of the units.
    pub units: Vec<Unit>,
    /// Kinds are kept apart; else all operations are one kind, whose mix was always the same.
    pub by_class: bool,
    /// Mean relative distance of the model from the throughput, or the service time of open loads, that it was made from.
    pub misfit: f64,
    /// By how much farther it lies from the service times of each kind.
    class_misfits: Vec<f64>,
    /// What other programs took of the machines meanwhile. The model is of a store without them.
    pub others: Vec<Others>,
    model: Model,
    /// The store with the others, where there are some.
    crowded: Option<Model>,
    replicas: Vec<Model>,
    usual: Mix,
    measured_mix: BTreeMap<String, f64>,
    /// Bytes of an operation by those of its object.
    carried: Carried,
    /// How far the upper third of the loads lies from what the laws say by the others; 0 without such laws.
    held_out: f64,
    /// The most that each unit was busy at any load.
    busiest: Vec<f64>,
    /// The same store by the other of both models of costs that change, which lies farther from what was measured.
    other: Option<Box<Self>>,
}

/// Models with errors dealt out anew, from which intervals are read.
const REPLICAS: usize = 100;
/// A model may be wrong by so much at the highest load that it was made from.
const WRONG: f64 = 0.2;
/// And by so much on the whole.
const SCATTERED: f64 = 0.25;
/// Loads may lie so far below those at which a unit's costs were seen.
const NEAR_LOAD: f64 = 0.1;
/// Sizes and loads up to so many times beyond those that were measured are extrapolated.
const FAR: f64 = 4.0;
/// An interval whose upper end is more than so many times its lower one says nothing.
const USELESS: f64 = 4.0;
/// How far off laws are thought to be that no loads could be held out of.
const UNTRIED: f64 = 0.15;
/// No prediction is thought to be nearer than this share, however well its model fits (Lazowska et al. (1984), chapter 2).
const KNOWN_TO: f64 = 0.05;

/// A figure by a model, with what it came to where the store keeps up.
type Figure<'a> = dyn Fn(&Model, Option<(&Stations, &Solution)>) -> f64 + 'a;

impl Planner {
    /// From what was measured.
    ///
    /// # Errors
    /// Why nothing can be predicted from it.
    pub fn of(observed: &Observed) -> Result<Self, Cannot> {
        let by_law = Self::by(observed, Changing::ByLaw, REPLICAS).ok();
        let by_law = by_law.map(|found| Self { held_out: held_out_by_law(observed), ..found });
        match (Self::by(observed, Changing::WhenFull, REPLICAS), by_law) {
            (Ok(when_full), Some(by_law)) => {
                let is_nearer = by_law.misfit < when_full.misfit;
                let (first, other) = if is_nearer { (by_law, when_full) } else { (when_full, by_law) };
                Ok(Self { other: Some(Box::new(other)), ..first })
            }
            (Ok(only), None) | (Err(_), Some(only)) => Ok(only),
            (Err(why), None) => Err(why),
        }
    }

    fn by(observed: &Observed, changing: Changing, replicas: usize) -> Result<Self, Cannot> {
        let sorted = observed.sorted();
        let by_class = !sorted.is_one_mix();
        let used = if by_class { sorted.clone() } else { sorted.as_one_class() };
        let others = used.others();
        let used = used.without(&others);
        if let Some((unit, share)) = used.busy_anyway() {
            return Err(Cannot::BusyAnyway(unit, share));
        }
        let (model, replicas) = Model::fit(&used, changing, replicas)?;
        let usual = used.loads.last().map(Load::mix).unwrap_or_default();
        let shares = sorted.loads.last().map(Load::mix).unwrap_or_default();
        let measured_mix = sorted.classes.iter().cloned().zip(shares.iter().map(|one| one.0)).collect();
        let crowded = (!others.is_empty()).then(|| model.beside(&others));
        let mut planner = Self {
            units: used.units.clone(),
            by_class,
            misfit: 0.0,
            class_misfits: Vec::new(),
            others,
            model,
            crowded,
            replicas,
            usual,
            measured_mix,
            carried: if by_class { Carried::EACH } else { Carried::of_mix(&sorted) },
            held_out: 0.0,
            busiest: nearer::busiest(&used),
            other: None,
        };
        planner.misfit = planner.distance(&used)?;
        planner.class_misfits = planner.farther(&used);
        Ok(planner)
    }

    /// Root mean square of the relative errors; an error where the highest load shows that the model lacks what limits it.
    fn distance(&self, used: &Observed) -> Result<f64, Cannot> {
        let (mut squares, mut last) = (Vec::new(), None);
        for load in used.loads.iter().filter(|load| load.client_clear) {
            let Some(solved) = self.solve_measured(&self.model, load) else { continue };
            let (said, seen) = if load.open {
                (load.service_s(), solved.response_s[0])
            } else {
                (solved.throughput_per_s[0], load.rate_per_s())
            };
            squares.push((said / seen - 1.0).powi(2));
            last = Some(said / seen - 1.0);
        }
        match last {
            None => Err(Cannot::Client),
            Some(wrong) if wrong.abs() > WRONG => Err(Cannot::Unexplained(wrong)),
            Some(_) => match (squares.iter().sum::<f64>() / real(squares.len())).sqrt() {
                misfit if misfit > SCATTERED => Err(Cannot::Scattered(misfit)),
                misfit => Ok(misfit),
            },
        }
    }

    fn solve_measured(&self, model: &Model, load: &Load) -> Option<Solution> {
        self.settle_measured(model, load).map(|(_, solved)| solved)
    }

    fn settle_measured(&self, model: &Model, load: &Load) -> Option<(Stations, Solution)> {
        let mix = load.mix();
        let (stations, delay_s) = (Stations::of(model, &self.units, &mix), model.delay_s(&mix));
        stations.settled(|stations| {
            if load.open {
                stations.solve_open(delay_s, load.rate_per_s())
            } else {
                stations.solve_in_flight(delay_s, load.in_flight)
            }
        })
    }

    /// What the store would do.
    ///
    /// # Errors
    /// Why that cannot be said.
    pub fn predict(&self, wanted: &Wanted) -> Result<Prediction, Cannot> {
        match (self.predict_alone(wanted), &self.other) {
            (Err(why @ (Cannot::DemandChanges(_) | Cannot::LawsDisagree(..))), Some(other)) => {
                let is_said = |second: &Cannot| matches!(second, Cannot::LawsDisagree(..));
                other.predict_alone(wanted).map_err(|second| if is_said(&second) { second } else { why })
            }
            (said, _) => said,
        }
    }

    /// What one model of the store that is wanted does; none where it cannot keep up.
    fn solve(
        &self,
        model: &Model,
        mix: &Mix,
        wanted: &Wanted,
    ) -> Result<Option<(Stations, Solution)>, Cannot> {
        let stations = Stations::with(model, &self.units, mix, &wanted.more)?;
        let delay_s = model.delay_s(mix);
        let apart = self.apart(mix, wanted);
        Ok(stations.settled(|stations| match (&wanted.load, &apart) {
            (Demanded::Open(rate), _) => stations.solve_open(delay_s, *rate),
            (Demanded::Closed(workers, think_s), _) => stations.solve_closed(delay_s, *workers, *think_s),
            (Demanded::Apart(..), Some(apart)) => {
                stations.solve_apart(model, apart, model.turn()).map(|(_, all)| all)
            }
            (Demanded::Apart(..), None) => None,
        }))
    }

    fn predict_alone(&self, wanted: &Wanted) -> Result<Prediction, Cannot> {
        let (mix, extrapolated) = self.mix(wanted)?;
        let one = |model: &Model| self.solve(model, &mix, wanted);
        let Some((stations, solved)) = one(&self.model)? else {
            let ceiling = Stations::with(&self.model, &self.units, &mix, &wanted.more)?.ceiling_per_s();
            return Err(Cannot::TooMuch(ceiling));
        };
        let rate = solved.throughput_per_s[0];
        let in_flight = match wanted.load {
            Demanded::Closed(..) | Demanded::Apart(..) => Some(rate * solved.response_s[0]),
            Demanded::Open(_) => None,
        };
        // First: what is refused is not worth the time that hundreds of models of so many workers take.
        let limits = self.limits(&stations, &solved, rate, in_flight)?;
        let mut others = Vec::with_capacity(self.replicas.len());
        for replica in &self.replicas {
            others.push((replica, one(replica)?));
        }
        // If other programs stay, and come before the store.
        let crowded = self.crowded.as_ref().map(|model| Ok((model, one(model)?))).transpose()?;
        // If processors that have more to do are slower.
        let slowed = self.slowed(&mix, wanted, rate);
        let slowed = slowed.as_ref().map(|model| Ok::<_, Cannot>((model, one(model)?))).transpose()?;
        let by = |of: &Figure<'_>| {
            let value = |(model, found): &(&Model, Option<(Stations, Solution)>)| {
                of(model, found.as_ref().map(|(stations, solved)| (stations, solved)))
            };
            let best = of(&self.model, Some((&stations, &solved)));
            let range = self.range(best, others.iter().map(value).collect());
            let reached = crowded.as_ref().map_or(range.value, value);
            let range = Range { low: range.low.min(reached), high: range.high.max(reached), ..range };
            range.reaching(slowed.as_ref().map_or(range.value, value))
        };
        let ranged = |of: &dyn Fn(&Model, &Stations, &Solution) -> f64, unstable: f64| {
            by(&|model, found| found.map_or(unstable, |(stations, solved)| of(model, stations, solved)))
        };
        let ceiling_per_s = by(&|model, found| match found {
            Some((stations, _)) => stations.ceiling_per_s(),
            None => self.ceiling_of(model, &mix, wanted),
        });
        let kinds = classes::Kinds { planner: self, mix: &mix, wanted, solved: (&stations, &solved) };
        let throughput_per_s = match wanted.load {
            Demanded::Open(rate) => Range { value: rate, low: rate.min(ceiling_per_s.low), high: rate },
            _ => kinds.all(ranged(&|_, _, solved| solved.throughput_per_s[0], 0.0), |each| each.0),
        };
        if self.model.has_curves() && throughput_per_s.high > throughput_per_s.low * USELESS {
            return Err(Cannot::LawsDisagree(throughput_per_s.low, throughput_per_s.high));
        }
        let service_s = kinds.all(ranged(&|_, _, solved| solved.response_s[0], f64::INFINITY), |each| each.1);
        // Of a store that may not keep up with a rate nobody knows how long what waits would wait.
        let may_fall_behind = matches!(wanted.load, Demanded::Open(rate) if throughput_per_s.low < rate);
        let timed = |range: Range| if may_fall_behind { range.reaching(f64::INFINITY) } else { range };
        Ok(Prediction {
            class_rates_per_s: kinds.rates_per_s(throughput_per_s, &ranged),
            throughput_per_s,
            service_s: timed(service_s),
            bytes_each: mix.iter().map(|(share, bytes)| share * bytes).sum(),
            classes: kinds.times_s(&ranged).into_iter().map(|(kind, range)| (kind, timed(range))).collect(),
            ceiling_per_s,
            limits,
            extrapolated,
            costs_fall: self.model.has_curves(),
        })
    }

    /// The ceiling by a model that cannot keep up with what is asked; 0 where it has none.
    fn ceiling_of(&self, model: &Model, mix: &Mix, wanted: &Wanted) -> f64 {
        let stations = Stations::with(model, &self.units, mix, &wanted.more);
        stations.map_or(0.0, |stations| stations.ceiling_per_s())
    }

    /// Units by their ceiling.
    fn limits(
        &self,
        stations: &Stations,
        solved: &Solution,
        rate: f64,
        in_flight: Option<f64>,
    ) -> Result<Vec<(usize, f64, f64)>, Cannot> {
        let mut found: Vec<(usize, f64, f64)> = Vec::new();
        for (place, ceiling) in stations.by_ceiling() {
            let part = &self.model.parts[stations.places[place].0];
            let busy = part.idle + (1.0 - part.idle) * solved.busy[place];
            let at_its_dearest = part.idle + (1.0 - part.idle) * rate / ceiling * part.dearest;
            // Costs of high loads are those of high loads: more units have fewer operations under way at each.
            let here = |all: f64| all * stations.places[place].1;
            let is_elsewhere = part.full.zip(in_flight).is_some_and(|((least, most), all)| {
                here(all) < least * (1.0 - NEAR_LOAD) || here(all) > most * FAR
            });
            let by_law = part.curve.map(|curve| curve.in_flight).zip(in_flight);
            let is_far =
                by_law.is_some_and(|((least, most), all)| here(all) < least / FAR || here(all) > most * FAR);
            if (!part.constant || is_elsewhere || is_far) && at_its_dearest > HARMLESS {
                return Err(Cannot::DemandChanges(part.unit));
            }
            if found.iter().all(|one| one.0 != part.unit) {
                found.push((part.unit, ceiling, busy.min(1.0)));
            }
        }
        Ok(found)
    }

    /// From the values of the replicas, widened by how far the model lies from what it was made from.
    fn range(&self, value: f64, mut others: Vec<f64>) -> Range {
        others.sort_by(f64::total_cmp);
        let model = (1.96 * self.misfit).hypot(self.held_out.max(KNOWN_TO));
        let below = quantile(&others, 0.025).map_or(0.0, |low| (1.0 - low / value).max(0.0));
        let above = quantile(&others, 0.975).map_or(0.0, |high| (high / value - 1.0).max(0.0));
        Range {
            value,
            low: value * (1.0 - below.hypot(model)).max(0.0),
            high: value * (1.0 + above.hypot(model)),
        }
    }

    /// The mix that is asked for, and whether its sizes lie beyond those that were measured.
    fn mix(&self, wanted: &Wanted) -> Result<(Mix, bool), Cannot> {
        let mut mix = self.usual.clone();
        let shares = match &wanted.load {
            Demanded::Apart(workers, _) => Some(self.shares_of(workers)?),
            _ => wanted.mix.clone(),
        };
        if let Some(shares) = &shares {
            let all: f64 = shares.values().sum();
            if let Some(unknown) = shares.keys().find(|kind| !self.measured_mix.contains_key(*kind)) {
                let known: Vec<&str> = self.measured_mix.keys().map(String::as_str).collect();
                return Err(Cannot::NotMeasured(format!("operation {unknown}"), known.join(", ")));
            }
            let share = |kind: &str| shares.get(kind).copied().unwrap_or(0.0) / all;
            if self.by_class {
                for (one, class) in mix.iter_mut().zip(&self.model.classes) {
                    let middle = f64::midpoint(class.sizes.0, class.sizes.1);
                    one.0 = share(&class.name);
                    // A kind that the last load had none of has the size that it had elsewhere.
                    one.1 = if one.1 > 0.0 { one.1 } else { middle };
                }
            } else if self.measured_mix.iter().any(|(kind, own)| (share(kind) - own).abs() > SAME_SHARE) {
                return Err(Cannot::OneMix(mix_text(&self.measured_mix)));
            }
        }
        let extrapolated = match wanted.bytes_each {
            Some(bytes) => self.resize(&mut mix, bytes)?,
            None => false,
        };
        Ok((self.settled_mix(mix, wanted)?, extrapolated))
    }

    /// How many machines of each role are full when the scarcest role has one that is: a balanced store has machines in these
    /// proportions. Of roles whose units have a ceiling.
    #[must_use]
    pub fn balance(&self) -> BTreeMap<String, f64> {
        let stations = Stations::of(&self.model, &self.units, &self.usual);
        let counts = machines(&self.units);
        let mut needs: BTreeMap<String, f64> = BTreeMap::new();
        for (place, ceiling) in stations.by_ceiling() {
            let role = &self.units[self.model.parts[stations.places[place].0].unit].role;
            let machines = counts.get(role.as_str()).map_or(1.0, |names| real(names.len()));
            needs.entry(role.clone()).or_insert(machines / ceiling);
        }
        let least = needs.values().copied().fold(f64::INFINITY, f64::min);
        needs.into_iter().map(|(role, need)| (role, need / least)).collect()
    }
}

/// `read 80 %, write 20 %`.
fn mix_text(mix: &BTreeMap<String, f64>) -> String {
    let parts =
        mix.iter().filter(|one| *one.1 > 0.0).map(|(kind, share)| format!("{kind} {:.0} %", share * 100.0));
    parts.collect::<Vec<_>>().join(", ")
}

/// How many of so many loads are fitted where the upper third, or a part more, is held out.
#[must_use]
pub const fn fitted_of(loads: usize) -> usize {
    loads - loads.div_ceil(3)
}

/// Fits the lower two thirds of the loads ([`fitted_of`]) and predicts the others, of which it has seen nothing.
///
/// # Errors
/// Why the lower loads predict nothing.
pub fn hold_out(observed: &Observed) -> Result<Vec<Held>, Cannot> {
    let sorted = observed.sorted();
    let kept = fitted_of(sorted.loads.len());
    let lower = Observed { loads: sorted.loads[..kept].to_vec(), ..sorted.clone() };
    let planner = Planner::of(&lower)?;
    let rest = Observed { loads: sorted.loads[kept..].to_vec(), ..sorted };
    let rest = if planner.by_class { rest } else { rest.as_one_class() };
    let predict = |load: Load| {
        let best = planner.solve_measured(&planner.model, &load).ok_or(Cannot::TooMuch(load.rate_per_s()))?;
        let others: Vec<Option<Solution>> =
            planner.replicas.iter().map(|model| planner.solve_measured(model, &load)).collect();
        let range = |of: &dyn Fn(&Solution) -> f64, unstable: f64| {
            planner.range(of(&best), others.iter().map(|one| one.as_ref().map_or(unstable, of)).collect())
        };
        Ok(Held {
            throughput_per_s: range(&|solved| solved.throughput_per_s[0], 0.0),
            service_s: range(&|solved| solved.response_s[0], f64::INFINITY),
            load,
        })
    };
    rest.loads.into_iter().map(predict).collect()
}

/// Root mean square of how far, relatively, the upper third of the loads lies from what the laws by which costs fall say by the
/// lower two thirds.
fn held_out_by_law(observed: &Observed) -> f64 {
    let sorted = observed.sorted();
    let (below, above) = sorted.loads.split_at(fitted_of(sorted.loads.len()));
    let known = Observed { loads: below.to_vec(), ..sorted.clone() };
    let Ok(planner) = Planner::by(&known, Changing::ByLaw, 0) else { return UNTRIED };
    let rest = Observed { loads: above.to_vec(), ..sorted.clone() };
    let rest = if planner.by_class { rest } else { rest.as_one_class() };
    let errors = rest.loads.iter().filter(|load| load.client_clear).map(|load| {
        let solved = planner.solve_measured(&planner.model, load)?;
        Some(if load.open {
            solved.response_s[0] / load.service_s() - 1.0
        } else {
            solved.throughput_per_s[0] / load.rate_per_s() - 1.0
        })
    });
    far_off(errors)
}

/// Root mean square of errors. A load that was borne, and could not be by the laws, counts as one that was not tried.
fn far_off(errors: impl Iterator<Item = Option<f64>>) -> f64 {
    let squares: Vec<f64> = errors.map(|error| error.unwrap_or(UNTRIED).powi(2)).collect();
    if squares.is_empty() { UNTRIED } else { (squares.iter().sum::<f64>() / real(squares.len())).sqrt() }
}

fn too_many(units: usize) -> String {
    format!("the store that is wanted would have {units} units, which would take minutes: ask for fewer")
}

fn too_much(ceiling: f64) -> String {
    format!("the store cannot keep up with that rate: its ceiling is {ceiling:.0} operations/s")
}

fn no_size(kinds: &str) -> String {
    format!(
        "{kinds}: moves no bytes of objects, so what it costs does not follow from their size; leave the size out"
    )
}

fn anything_between(low: f64, high: f64) -> String {
    format!(
        "what an operation costs falls with the load, and by how much there no load shows: anything from {low:.1} to {high:.1} \
         operations/s may be; measure more loads, longer, with as many operations under way at each unit as there would be"
    )
}

/// Why nothing can be said, and what to do about it.
#[must_use]
pub fn why_not(cannot: &Cannot, units: &[Unit]) -> String {
    let name = |unit: usize| {
        units
            .get(unit)
            .map_or_else(String::new, |unit| format!("{} {} of {}", unit.kind.word(), unit.name, unit.node))
    };
    match cannot {
        Cannot::NothingMeasured => {
            "no unit of the store's machines was measured at two loads that differ: list them under nodes: and run a ladder \
             (workloads/ladder.yaml)"
                .to_owned()
        }
        Cannot::TooFewLoads(loads) => {
            format!("too few loads ({loads}): measure at least three, better eight, from low to full (search:, matrix:)")
        }
        Cannot::Client => {
            "the client was full at the loads that would show how the store behaves: add drivers or load threads, and see \
             checks V5 to V7 of the verdict"
                .to_owned()
        }
        Cannot::Inseparable => {
            "kinds of operation, or sizes, were always measured in the same proportions, so what each costs is not known: \
             measure a ladder of each, or vary the mix (matrix:)"
                .to_owned()
        }
        Cannot::DemandChanges(unit) => format!(
            "what an operation costs {} changes with the load, and it would be busy: nothing holds for another load; look \
             for what changes (caches, batches, background work, a clock that slows down), or measure loads nearer to this one",
            name(*unit)
        ),
        Cannot::LawsDisagree(low, high) => anything_between(*low, *high),
        Cannot::BusyAnyway(unit, share) => format!(
            "{} is full, and {:.0} % of its time goes to what is no operation of this load: other programs are not kept apart from \
             the store; repeat the run while nothing else runs there, or name the store's processes (daemons:) so that the \
             others can be taken off",
            name(*unit),
            share * 100.0
        ),
        Cannot::Unexplained(wrong) => format!(
            "from the units that were looked at the throughput at the highest load would be {:.0} % {} than it was: \
             something else limits the store (a number of workers or connections, a lock, a machine that is not listed); \
             `cosmark show` says what is known of it",
            wrong.abs() * 100.0,
            if *wrong > 0.0 { "higher" } else { "lower" },
        ),
        Cannot::Scattered(misfit) => format!(
            "the loads lie {:.0} % from what a store with these demands does: something else changed between them; repeat the \
             run while nothing else runs on these machines, or with longer steps",
            misfit * 100.0
        ),
        Cannot::NotMeasured(what, known) => format!("{what} was not measured in this run; there are {known}"),
        Cannot::OneMix(mix) => format!(
            "only one mix was measured ({mix}): what each kind costs is not known; measure a ladder of each kind, or vary \
             the mix (matrix:), in one run"
        ),
        Cannot::OtherSize(kind, low, high) if *high > low * SAME_SIZE => format!(
            "{kind} was measured with {low:.0} to {high:.0} bytes: what lies more than {FAR} times beyond is a guess; measure \
             a size nearer to it"
        ),
        Cannot::OtherSize(kind, low, _) => format!(
            "{kind} was measured with {low:.0} bytes only: what a byte costs is not known; measure two sizes (matrix:) in one \
             run"
        ),
        Cannot::NoSize(kinds) => no_size(kinds),
        Cannot::NotWhole(what) => format!("{what}: the factor gives no whole number of them"),
        Cannot::TooManyUnits(units) => too_many(*units),
        Cannot::TooMuch(ceiling) => too_much(*ceiling),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn laws_by_which_a_load_that_was_borne_could_not_be_are_thought_to_be_off() {
        assert!((far_off([Some(0.03), Some(-0.04)].into_iter()) - 0.00125_f64.sqrt()).abs() < 1e-12);
        assert!(far_off([Some(0.0), None].into_iter()) > UNTRIED / 2.0);
        assert!((far_off([None, None].into_iter()) - UNTRIED).abs() < 1e-12);
        assert!((far_off(std::iter::empty()) - UNTRIED).abs() < 1e-12);
    }
}
