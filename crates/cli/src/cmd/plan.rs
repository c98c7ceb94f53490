//! `cosmark plan`: what the measured store would do with more machines, another mix, other sizes or another load.

use std::collections::BTreeMap;

use cosmark_archive::cosbench::CosbenchRun;
use cosmark_archive::{RunRecord, open_run};
use cosmark_capacity::change::{More, machines};
use cosmark_capacity::energy;
use cosmark_capacity::model::Cannot;
use cosmark_capacity::plan::{Demanded, Planner, Prediction, Wanted, fitted_of, hold_out, why_not};
use cosmark_verdict::{ObservedLoads, all_loads, ladders};
use cosmark_workload::units::{parse_rate, parse_size};
use serde::Serialize;

use crate::args::PlanArgs;
use crate::exit::{Exit, Outcome, Problem};
use crate::plan::answer::{Answer, Checked, OtherPrograms, Outlook};
use crate::plan::prices::Prices;
use crate::plan::wish;
use crate::runs::find;

/// Runs the subcommand.
pub fn run(args: &PlanArgs) -> Outcome {
    let path = find(&args.run, &args.archive)?;
    if CosbenchRun::made(&path) {
        return Err(Problem::usage(format!(
            "{} is a run of COSBench: it has no figures of the store's machines",
            path.display()
        )));
    }
    let record = open_run(&path)?.record;
    let sources = sources(&record, args)?;
    if args.check {
        let checked = sources.iter().map(|source| check(&record, source)).collect::<Result<Vec<_>, _>>()?;
        return show(&checked, args.json, Checked::text);
    }
    let prices = args.prices.as_deref().map(Prices::read).transpose()?;
    let answers = sources.iter().map(|source| answer(&record, source, args, prices.as_ref()));
    show(&answers.collect::<Result<Vec<_>, _>>()?, args.json, Answer::text)
}

fn show<T: Serialize>(all: &[T], json: bool, text: impl Fn(&T) -> String) -> Outcome {
    if json {
        verbatim!("{}", crate::output::json(&all)?);
    } else {
        let parts: Vec<String> = all.iter().map(text).collect();
        println!("{}", parts.join("\n\n"));
    }
    Ok(Exit::Done)
}

/// What to plan from: each ladder of the run by itself; for another mix or size everything that was measured together.
fn sources(record: &RunRecord, args: &PlanArgs) -> Result<Vec<ObservedLoads>, Problem> {
    let ladders = ladders(record);
    let is_other = args.mix.is_some() || args.size.is_some() || args.workers_of.is_some();
    if ladders.len() > 1 && is_other {
        return Ok(vec![all_loads(record)]);
    }
    if !ladders.is_empty() {
        return Ok(ladders);
    }
    let all = all_loads(record);
    if all.observed.loads.is_empty() {
        return Err(Problem::usage(format!(
            "{}: cannot be predicted: it has no figures of the store's machines; name them under nodes: in the target \
             (docs/guide/system-under-test.md), and run a ladder, such as workloads/ladder.yaml",
            record.id
        )));
    }
    Ok(vec![all])
}

fn refused(record: &RunRecord, source: &ObservedLoads, cannot: &Cannot) -> Problem {
    no(record, source, &format!("predicted: {}", why_not(cannot, &source.observed.units)))
}

/// The same of loads of which the upper third is held out: what is said is of the lower ones.
fn not_checked(record: &RunRecord, source: &ObservedLoads, cannot: &Cannot) -> Problem {
    let all = source.observed.loads.len();
    let lower = fitted_of(all);
    let why = match cannot {
        Cannot::TooFewLoads(_) => {
            "these are too few: measure at least five loads, better eight, from low to full (search:, matrix:)"
                .to_owned()
        }
        other => format!("of these alone: {}", why_not(other, &source.observed.units)),
    };
    let upper = all - lower;
    no(
        record,
        source,
        &format!(
            "checked: --check fits the lower {lower} of the {all} loads only, and holds the upper {upper} out; {why}"
        ),
    )
}

fn no(record: &RunRecord, source: &ObservedLoads, why: &str) -> Problem {
    let stages = source.stages.first().map(|stage| format!(" {stage}")).unwrap_or_default();
    let units = &source.observed.units;
    let others = OtherPrograms::of(&source.observed.others(), units);
    let others = if others.is_empty() {
        String::new()
    } else {
        let took = OtherPrograms::text(&others);
        format!("; other programs took {took} meanwhile: repeat the run while nothing else runs there")
    };
    let refused = Answer::left_out(&source.refused).map(|text| format!("; {text}")).unwrap_or_default();
    Problem::usage(format!("{}{stages}: cannot be {why}{others}{refused}", record.id))
}

fn check(record: &RunRecord, source: &ObservedLoads) -> Result<Checked, Problem> {
    let held = hold_out(&source.observed).map_err(|cannot| not_checked(record, source, &cannot))?;
    Ok(Checked::of(&record.id, source.observed.loads.len() - held.len(), &held))
}

fn answer(
    record: &RunRecord,
    source: &ObservedLoads,
    args: &PlanArgs,
    prices: Option<&Prices>,
) -> Result<Answer, Problem> {
    let units = &source.observed.units;
    let more = wish::more(&args.nodes, &args.units, units).map_err(Problem::usage)?;
    let mix = args.mix.as_deref().map(wish::mix).transpose().map_err(Problem::usage)?;
    let wrong =
        |flag: &str, (what, remedy): (String, String)| Problem::usage(format!("--{flag}: {what}; {remedy}"));
    let bytes = args.size.as_deref().map(parse_size).transpose().map_err(|why| wrong("size", why))?;
    #[expect(clippy::cast_precision_loss, reason = "sizes of objects")]
    let bytes_each = bytes.map(|bytes| bytes as f64);
    let rate = args.rate.as_deref().map(parse_rate).transpose().map_err(|why| wrong("rate", why))?;
    let (load, load_text) = load(source, args, rate)?;
    let planner = Planner::of(&source.observed).map_err(|cannot| refused(record, source, &cannot))?;
    let changes = more != More::default() || mix.is_some() || bytes_each.is_some();
    let wanted = Wanted { mix, bytes_each, load: load.clone(), more };
    let as_measured = Wanted { mix: None, bytes_each: None, load, more: More::default() };
    let counts = |more: &More| -> BTreeMap<String, usize> {
        let now = machines(units).into_iter().map(|(role, names)| (role.to_owned(), names.len()));
        now.chain(more.nodes.clone()).collect()
    };
    let outlook = |wanted: &Wanted| -> Result<Outlook, Problem> {
        let said: Prediction = planner.predict(wanted).map_err(|cannot| refused(record, source, &cannot))?;
        let machines = counts(&wanted.more);
        let cost = prices.map(|prices| {
            let per_hour = prices.per_hour(&machines, said.throughput_per_s.value, said.bytes_each);
            per_hour.map(|per_hour| (prices.currency.clone(), per_hour))
        });
        let cost = cost.transpose().map_err(Problem::usage)?;
        // What an operation of another mix or size draws nobody has measured.
        let is_alike = wanted.mix.is_none() && wanted.bytes_each.is_none();
        let drawn = if is_alike { source.drawn.as_slice() } else { &[] };
        let watts = energy::watts(drawn, &counts(&More::default()), &machines, said.throughput_per_s.value);
        Ok(Outlook::of(&said, units, machines, cost).drawing(watts))
    };
    let planned = changes.then(|| outlook(&wanted)).transpose()?;
    Ok(Answer {
        run: record.id.clone(),
        stages: source.stages.clone(),
        refused: source.refused.clone(),
        load: load_text,
        now: outlook(&as_measured)?,
        planned,
        misfit: planner.misfit,
        balance: planner.balance(),
        others: OtherPrograms::of(&planner.others, units),
    })
}

/// The load that is asked for, or the highest that was measured.
fn load(source: &ObservedLoads, args: &PlanArgs, rate: Option<f64>) -> Result<(Demanded, String), Problem> {
    if let Some(rate) = rate {
        return Ok((Demanded::Open(rate), format!("{}/s", crate::units::rate(rate))));
    }
    if let Some(text) = &args.workers_of {
        let workers = wish::workers_of(text).map_err(Problem::usage)?;
        let each = workers
            .iter()
            .map(|(kind, many)| format!("{} of {kind}", crate::units::count(u64::from(*many), "worker")));
        let text = each.collect::<Vec<_>>().join(" and ");
        return Ok((Demanded::Apart(workers, source.think_s), text));
    }
    match args.workers.unwrap_or(source.most_workers) {
        0 => Err(Problem::usage("this run's arrivals came by the clock: say --rate N/s, or --workers N")),
        workers => {
            let text = crate::units::count(u64::from(workers), "worker");
            Ok((Demanded::Closed(workers, source.think_s), text))
        }
    }
}
