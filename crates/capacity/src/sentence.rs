//! The diagnosis in words: what limits the store, by which numbers, what comes next, and the experiment that would refute it.

use cosmark_metrics::nodes::skew;
use cosmark_units::rounded_speed;

use crate::bottleneck::{Against, Answer, BUSY, Candidate, Confidence, Diagnosis, OWN, Reported, peer};
use crate::ladder::{FULL, Kind, LEVEL, Ladder, Step, Unit};
use crate::saturation::is_used_up;

/// What a person reads.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sentence {
    /// The answer, one sentence or two.
    pub text: String,
    /// Which unit would be full next, and at what rate.
    pub second: Option<String>,
    /// What to do to prove it wrong, and what has to happen then if it is right.
    pub refute: Option<String>,
    /// One sentence for each unit that is much busier than its peers.
    pub skewed: Vec<String>,
}

/// Puts a diagnosis into words. The ladder is the one that was looked at.
#[must_use]
pub fn say(ladder: &Ladder, diagnosis: &Diagnosis) -> Sentence {
    let second = diagnosis.second().filter(|_| matches!(diagnosis.answer, Answer::Named { .. }));
    Sentence {
        text: text(ladder, diagnosis),
        second: second.map(|next| {
            let ceiling = rate(next.demand.ceiling_per_s());
            format!("next would be {}, at about {ceiling}", name(ladder, &[next.unit]))
        }),
        refute: refute(ladder, diagnosis, second),
        skewed: diagnosis
            .skewed
            .iter()
            .map(|skew| skew::sentence(&peer(&ladder.units[skew.unit], 0.0, 0.0), *skew))
            .collect(),
    }
}

fn text(ladder: &Ladder, diagnosis: &Diagnosis) -> String {
    let plateau = diagnosis.plateau_per_s.map(rate).unwrap_or_default();
    match &diagnosis.answer {
        Answer::Named { units, confidence } => named(ladder, diagnosis, units, *confidence),
        Answer::Several(units) => {
            let names: Vec<String> = units.iter().map(|unit| name(ladder, &[*unit])).collect();
            format!(
                "{} are full at the same rate, {plateau}: which comes first is not known",
                names.join(" and ")
            )
        }
        Answer::Client => {
            "the client was the limit where throughput was level: nothing can be said of the store; add \
                           drivers or load threads, or raise its quota, and see the verdict"
                .to_owned()
        }
        Answer::Shared(unit, share) => format!(
            "{}: full at {plateau}, and {} of what was used is the client's own work: what the store could do alone is not \
             known; run the client on another machine",
            name(ladder, &[*unit]),
            percent(*share)
        ),
        Answer::Refused(share) => format!(
            "{} of the operations failed or were repeated at {plateau}: the store refuses, by a limit of its own or because it breaks; no \
             resource is named while it does (V12 of the verdict says with what it answered)",
            percent(*share)
        ),
        Answer::Limit(about) => format!(
            "no sampled resource explains the plateau of {plateau}: none is busier than {}; {}, and machines that are not among the \
             nodes",
            percent(diagnosis.busiest_at_plateau.unwrap_or(0.0)),
            limit(ladder, *about, &plateau)
        ),
        Answer::Unexplained => format!(
            "no sampled resource explains the plateau of {plateau}{}: {}look at locks, limits of workers, and machines that \
             are not among the nodes",
            nearest(ladder, diagnosis),
            unmeasured(ladder, diagnosis)
        ),
        Answer::NotReached(grew) => used_up(ladder, *grew).unwrap_or_else(|| not_reached(ladder, *grew)),
        Answer::TooFewSteps => {
            "too few steps below 60 % of the plateau to predict a ceiling from: add lower loads, and let \
                                the store idle before the first"
                .to_owned()
        }
        Answer::NothingMeasured if !diagnosis.unmeasured.is_empty() => {
            let away = "the store's machines did not answer in most of the time at the plateau of";
            format!("{away} {plateau}: how busy they were is not known; measure that load again")
        }
        Answer::NothingMeasured => {
            "no machine of the store was measured: list them under `nodes:`".to_owned()
        }
    }
}

/// The units that are named, and by which numbers.
fn named(ladder: &Ladder, diagnosis: &Diagnosis, units: &[usize], confidence: Confidence) -> String {
    let least = diagnosis.candidates.iter().find(|one| units.contains(&one.unit));
    let plateau_per_s = diagnosis.plateau_per_s.unwrap_or_default();
    let numbers = least.map(|one| numbers(ladder, one, plateau_per_s)).unwrap_or_default();
    let name = name(ladder, units);
    let mut why = diagnosis.still_grew.map(still_grew).unwrap_or_default();
    if least.is_some_and(|one| is_in_turn(ladder, one)) {
        why.push_str(IN_TURN);
    }
    match confidence {
        Confidence::Low => {
            format!(
                "{name}: most likely the bottleneck {numbers}; whether work waits for it was not measured{why}"
            )
        }
        Confidence::Medium => format!("{name}: the bottleneck {numbers}, with medium confidence{why}"),
        Confidence::High => format!("{name}: the bottleneck {numbers}"),
    }
}

/// A limit that is named has time left all the same.
fn is_in_turn(ladder: &Ladder, named: &Candidate) -> bool {
    ladder.units[named.unit].kind == Kind::IoLimit && named.busy_at_plateau.is_some_and(|busy| busy < BUSY)
}

/// What is said of it.
const IN_TURN: &str = "; the same part of it is used at each of the level loads and nothing else is busy: what goes through it waits in \
                       turn for it and for its device";

/// Of a unit that is named although throughput is not level.
fn still_grew(grew: f64) -> String {
    format!(
        "; throughput still grew by {} with the last step, and it has had nothing left since half of that load",
        percent(grew)
    )
}

/// So near to a whole number is one: noise, and what operations wait for each other inside.
const WHOLE: f64 = 0.1;

/// What to look for where no resource is busy.
fn limit(ladder: &Ladder, about: f64, plateau: &str) -> String {
    let moved = ladder.sorted().last().map_or(0.0, |step| step.throughput_per_s * step.bytes_each);
    let rate = if moved > 0.0 { format!("{plateau}, {}", rounded_speed(moved)) } else { plateau.to_owned() };
    let whole = about.round().max(1.0);
    if (about - whole).abs() > WHOLE * whole {
        return format!(
            "by Little's law {} operations are inside at once, which is no number of workers: look for a limit of the rate or a \
             link ({rate}), what serves one operation after the other (a lock)",
            digits(about)
        );
    }
    format!(
        "by Little's law about {about:.1} operations are let in at once: look for a limit of workers or connections{}, a limit of \
         the rate or a link ({rate})",
        if about < 1.5 { ", one lock" } else { "" }
    )
}

/// Throughput that still grew, or did not because too little was added.
fn not_reached(ladder: &Ladder, grew: f64) -> String {
    let steps = ladder.sorted();
    let behind = steps.last().and_then(|last| Some((last.throughput_per_s, last.offered_per_s?)));
    match behind.filter(|(served, offered)| *offered > served * (1.0 + LEVEL)) {
        Some((served, offered)) if grew > LEVEL => format!(
            "throughput still grew by {} with the last step, which served {} of the {} that were due: something limits it there; \
             add a step between, and one beyond",
            percent(grew),
            rate(served),
            rate(offered)
        ),
        Some((served, offered)) => format!(
            "throughput stayed at {} of the {} that were due while no more operations were under way: all workers were in use; \
             allow more of them (workers:)",
            rate(served),
            rate(offered)
        ),
        None if grew <= LEVEL => {
            "throughput hardly grew with the last step, and hardly more operations were under way: go on \
                                  with more load"
                .to_owned()
        }
        None => format!(
            "throughput still grew by {} with the last step: nothing limits the store yet; go on with more load",
            percent(grew)
        ),
    }
}

/// Throughput grew although a limit that somebody has set, or else a thread, was used up at the highest load: operations share
/// what it lets through (a journal takes several at once), the more of them the longer they wait. Where it was so at no load
/// before, nothing is known but that it has come to its end.
fn used_up(ladder: &Ladder, grew: f64) -> Option<String> {
    let steps = ladder.sorted();
    let [.., before, last] = steps[..] else { return None };
    let kind_of = |unit: usize| ladder.units[unit].kind;
    let is_full = |unit: usize, step: &Step| is_used_up(unit, kind_of(unit), step);
    // A thread that never sleeps at the lowest load looks for work all the time.
    let polls = |unit: usize| kind_of(unit) == Kind::Thread && is_full(unit, steps[0]);
    let mut full: Vec<usize> =
        (0..ladder.units.len()).filter(|unit| is_full(*unit, last) && !polls(*unit)).collect();
    // Threads of a group that is stopped have something to do all the time as well.
    let by = full.iter().map(|unit| kind_of(*unit)).min_by_key(|kind| *kind == Kind::Thread)?;
    full.retain(|unit| kind_of(*unit) == by);
    let (grown, name) = (percent(grew), name(ladder, &full));
    let grown = format!("throughput still grew by {grown} with the last step");
    let widen = if by == Kind::Thread { "add a process or worker beside it" } else { "raise it" };
    (grew > LEVEL).then(|| match full.iter().any(|unit| is_full(*unit, before)) {
        true => format!(
            "{grown}, though {name} had nothing left there: what grows is how many operations share what it lets through; {widen}, or \
             go on with more load until throughput is level"
        ),
        false => format!(
            "{grown}, at which {name} had nothing left for the first time: add two loads beyond it, which show whether throughput is \
             level there"
        ),
    })
}

/// `(93 % busy; an operation costs it 184 us: ceiling 5400/s [5210/s, 5610/s] predicted by a straight line from the steps below
/// 60 %, 5020/s observed)`.
fn numbers(ladder: &Ladder, one: &Candidate, plateau_per_s: f64) -> String {
    let busy = one.busy_at_plateau.map(|busy| format!("{} busy; ", percent(busy))).unwrap_or_default();
    let plateau = rate(plateau_per_s);
    if one.when_full.is_some() && ladder.units[one.unit].kind == Kind::Disk {
        return format!("({busy}{plateau} observed; {})", by_its_queue(one));
    }
    if one.when_full.is_some() && is_in_turn(ladder, one) {
        return format!(
            "({busy}{plateau} observed; an operation costs it {} at the steps below 60 %, by which it would let {} through if nothing else \
             was waited for)",
            duration(one.demand.seconds),
            rate(one.demand.ceiling_per_s())
        );
    }
    if let Some(seconds) = one.when_full {
        return format!(
            "({busy}an operation costs it {}; {}, {plateau} observed; a limit that nobody looked at may lie not far above)",
            both_costs(one.demand.seconds, seconds),
            by_falling_costs(one, plateau_per_s),
        );
    }
    let between = one.forecast_per_s().map(|(_, low, high)| interval(low, high)).unwrap_or_default();
    let by = if one.demand.waking > 0.0 { "a line beside what waking costs" } else { "a straight line" };
    format!(
        "({busy}an operation costs it {}: ceiling {}{between} predicted by {by} from the steps below 60 %, {plateau} \
         observed)",
        duration(one.demand.seconds),
        rate(one.demand.ceiling_per_s()),
    )
}

/// Of a disk that is named by its queue.
fn by_its_queue(one: &Candidate) -> String {
    let line = one.demand.ceiling_per_s();
    let line =
        if line.is_finite() { format!(", and a straight line says {}", rate(line)) } else { String::new() };
    format!(
        "its queue takes up all that was added to the load: it does several requests at once, or so many a second and no more, of \
         which the steps below 60 % show nothing{line}"
    )
}

/// ` [5100/s, 5700/s]`; nothing where there is none.
fn interval(low: f64, high: f64) -> String {
    match (high > low, high.is_finite()) {
        (false, _) => String::new(),
        (true, true) => format!(" [{}, {}]", rate(low), rate(high)),
        (true, false) => format!(" (at least {})", rate(low)),
    }
}

/// `5.80 ms where it is full, 42 % less than the 10.0 ms of the steps below 60 %`.
fn both_costs(low_s: f64, full_s: f64) -> String {
    let (low, full) = (duration(low_s), duration(full_s));
    let fell = 1.0 - full_s / low_s;
    if fell < LEAST_FELL {
        return format!("{full} where it is full and {low} at the steps below 60 %");
    }
    format!("{full} where it is full, {} less than the {low} of the steps below 60 %", percent(fell))
}

/// Costs that differ by less are not said to have fallen.
const LEAST_FELL: f64 = 0.01;

/// `ceiling 153/s [87.9/s, 261/s] predicted from these by costs that fall with the load (waking 98.4/s, its queue 110/s, all under
/// way 202/s; a straight line 95.1/s)`. Where that does not meet the plateau, the ceiling is what its costs where it is full let it
/// come to, and what was predicted is said to be no more than it is.
fn by_falling_costs(one: &Candidate, plateau_per_s: f64) -> String {
    let line = rate(one.demand.ceiling_per_s());
    let measured = match one.reported(plateau_per_s) {
        Some(Reported::WhenFull(per_s)) => Some(format!("ceiling {} by the former", rate(per_s))),
        _ => None,
    };
    let Some(found) = &one.predicted else {
        let measured = measured.map(|text| format!("{text}; ")).unwrap_or_default();
        return format!(
            "{measured}these steps do not show how costs fall, and a straight line would let it come to {line} only: no \
             ceiling is predicted"
        );
    };
    let between = interval(found.low, found.high);
    if !found.holds(plateau_per_s)
        && let Some(measured) = &measured
    {
        return format!(
            "{measured}; these steps did not show how far costs fall: no law that fits them predicts that{between}, nor does a straight \
             line ({line})"
        );
    }
    let by: Vec<String> =
        found.by.iter().map(|one| format!("{} {}", one.law.word(), rate(one.per_s))).collect();
    let what = measured.map_or_else(|| "ceiling ".to_owned(), |text| format!("{text}; "));
    let beyond = if found.holds(plateau_per_s) { "" } else { ", which does not hold what was" };
    format!(
        "{what}{}{between} predicted from these by costs that fall with the load ({}; a straight line {line}){beyond}",
        rate(found.per_s),
        by.join(", "),
    )
}

/// A limit that somebody has set and that is used up from the lowest loads on, though not without load: the steps show no cost of
/// an operation, but that it is full is more of a sign than any ceiling.
fn used_up_throughout(ladder: &Ladder, diagnosis: &Diagnosis) -> Option<String> {
    let is_full = |unit: usize, step: &Step| is_used_up(unit, ladder.units[unit].kind, step);
    let is_one = |one: &&Candidate| {
        let is_set = matches!(ladder.units[one.unit].kind, Kind::CpuQuota | Kind::IoLimit);
        let idle = ladder.idle.get(one.unit).copied().flatten();
        let comes_with_load = idle.zip(one.busy_at_plateau).is_some_and(|(idle, busy)| idle < OWN * busy);
        let is_level = one.against.contains(&Against::BusyAnyway);
        is_set && comes_with_load && is_level && one.busy_at_plateau.is_some_and(|busy| busy >= FULL)
    };
    let one = diagnosis.candidates.iter().find(is_one)?;
    let full = ladder.steps.iter().filter(|step| is_full(one.unit, step));
    let from = full.map(|step| step.throughput_per_s).reduce(f64::min)?;
    Some(format!(
        " (nearest: {}, which had nothing left at any load from {} on, so that these show no ceiling: add lower loads, and see whether \
         throughput rises with this limit)",
        name(ladder, &[one.unit]),
        rate(from)
    ))
}

fn nearest(ladder: &Ladder, diagnosis: &Diagnosis) -> String {
    if let Some(text) = used_up_throughout(ladder, diagnosis) {
        return text;
    }
    let plateau = diagnosis.plateau_per_s.unwrap_or(1.0);
    // One whose ceiling fits by chance, and which was half idle, is farther than one that was nearly full.
    let away = |one: &Candidate| {
        let idle = one.busy_at_plateau.map_or(0.0, |busy| -busy.clamp(1e-3, 1.0).ln());
        (one.demand.ceiling_per_s() / plateau).ln().abs() + idle
    };
    let has_time = |one: &Candidate| {
        let left = [
            Against::NotBusy,
            Against::NotFull,
            Against::NotMeasured,
            Against::BusyAnyway,
            Against::SharesWork,
        ];
        one.against.iter().any(|why| left.contains(why))
    };
    let finite = diagnosis.candidates.iter().filter(|one| one.demand.ceiling_per_s().is_finite());
    // One that is full is worth more of a look than one whose ceiling fits.
    let nearest = finite.min_by(|a, b| has_time(a).cmp(&has_time(b)).then(away(a).total_cmp(&away(b))));
    let Some(one) = nearest else {
        let busiest = diagnosis.busiest_at_plateau.filter(|_| diagnosis.candidates.is_empty());
        return busiest.map_or_else(String::new, |busy| format!(" (none was busier than {})", percent(busy)));
    };
    let why = one.against.iter().map(|against| match against {
        Against::CeilingElsewhere => format!("its ceiling is {}", rate(one.demand.ceiling_per_s())),
        Against::NotBusy => format!("it was only {} busy", percent(one.busy_at_plateau.unwrap_or(0.0))),
        Against::NotFull => {
            format!("it was {} busy and no queue of it grows", percent(one.busy_at_plateau.unwrap_or(0.0)))
        }
        Against::NotMeasured => "how busy it was there was not measured".to_owned(),
        Against::NothingWaits => "what waits for it does not grow with the load".to_owned(),
        Against::BusyAnyway => "it is busy without any operation".to_owned(),
        Against::DemandChanges => "what an operation costs it changes with the load".to_owned(),
        Against::SharesWork => "other processors are nearly as busy and take work from it".to_owned(),
    });
    let why: Vec<String> = why.collect();
    if why.is_empty() {
        return String::new();
    }
    format!(" (nearest: {}, but {})", name(ladder, &[one.unit]), why.join(" and "))
}

fn refute(ladder: &Ladder, diagnosis: &Diagnosis, second: Option<&Candidate>) -> Option<String> {
    let Answer::Named { units, .. } = &diagnosis.answer else { return None };
    let first = diagnosis.candidates.iter().find(|one| units.contains(&one.unit))?;
    // Of what waits for its device in turn with the limit only one part becomes shorter.
    let doubled = match (diagnosis.plateau_per_s, first.busy_at_plateau.filter(|_| is_in_turn(ladder, first)))
    {
        (Some(plateau), Some(busy)) => plateau / (1.0 - busy / 2.0),
        _ => first.ceiling_per_s() * 2.0,
    };
    let then = second.map_or(doubled, |next| next.demand.ceiling_per_s().min(doubled));
    let widen = match ladder.units[*units.first()?].kind {
        Kind::Machine | Kind::Core => "twice the processors, or a second machine of this role",
        Kind::Thread => "a second process or worker beside it",
        Kind::CpuQuota => "twice the quota",
        Kind::IoLimit => "twice the limit",
        Kind::Disk => "twice the disks",
        Kind::NetworkReceive | Kind::NetworkTransmit => "a link of twice the speed",
    };
    Some(format!("give it {widen}: if throughput does not rise to about {}, this is wrong", rate(then)))
}

/// `disk sda of storage1 (storage)`, `3 disks of storage`, `processors of proxy1 (proxy)`.
fn name(ladder: &Ladder, units: &[usize]) -> String {
    let all: Vec<&Unit> = units.iter().filter_map(|unit| ladder.units.get(*unit)).collect();
    let Some(first) = all.first() else { return "nothing".to_owned() };
    let one_kind = all.iter().all(|unit| unit.kind == first.kind);
    let one_node = all.iter().all(|unit| unit.node == first.node);
    match (all.len(), one_kind, one_node) {
        (1, ..) if first.kind == Kind::Machine => {
            format!("the processors of {} ({})", first.node, first.role)
        }
        (1, ..) => format!("{} {} of {} ({})", first.kind.word(), first.name, first.node, first.role),
        (count, true, true) => {
            let names: Vec<&str> = all.iter().map(|unit| unit.name.as_str()).collect();
            format!("{count} of {}, {} ({})", first.node, listed(first.kind, &names), first.role)
        }
        (count, true, false) => format!("{count} units of role {}: {}", first.role, spread(&all)),
        (_, false, _) => {
            let names: Vec<String> =
                all.iter().map(|unit| format!("{} {}", unit.kind.word(), unit.name)).collect();
            format!("the CPU of {} ({}): {}", first.node, first.role, names.join(", "))
        }
    }
}

fn listed(kind: Kind, names: &[&str]) -> String {
    format!("{} {}", kind.word(), names.join(", "))
}

fn spread(units: &[&Unit]) -> String {
    let shown: Vec<String> = units
        .iter()
        .take(4)
        .map(|unit| format!("{} {} of {}", unit.kind.word(), unit.name, unit.node))
        .collect();
    let more = units.len().saturating_sub(shown.len());
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}

/// What may have been full and was not measured, and how it can be; empty where everything was.
fn unmeasured(ladder: &Ladder, diagnosis: &Diagnosis) -> String {
    const SHOWN: usize = 3;
    let all = &diagnosis.unmeasured;
    if all.is_empty() {
        return String::new();
    }
    let mut names: Vec<String> = all.iter().take(SHOWN).map(|unit| name(ladder, &[*unit])).collect();
    if all.len() > SHOWN {
        names.push(format!("{} more", all.len() - SHOWN));
    }
    let is_quota = |unit: &usize| ladder.units.get(*unit).is_some_and(|unit| unit.kind == Kind::CpuQuota);
    let remedy = if all.iter().any(is_quota) {
        " (to have a quota's use counted, make its group in the hierarchy cpuacct, too)"
    } else {
        ""
    };
    format!("how busy {} was there is not known{remedy}; else ", names.join(" and "))
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// Three digits that count.
fn digits(value: f64) -> String {
    match value {
        _ if value >= 100.0 => format!("{value:.0}"),
        _ if value >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

fn rate(per_s: f64) -> String {
    format!("{}/s", digits(per_s))
}

fn duration(seconds: f64) -> String {
    if seconds >= 1.0 {
        format!("{} s", digits(seconds))
    } else if seconds >= 1e-3 {
        format!("{} ms", digits(seconds * 1e3))
    } else {
        format!("{} us", digits(seconds * 1e6))
    }
}
