//! The binary `cosmark`: the only place that names concrete adaptors, prints, reads the environment and exits.
#![cfg_attr(not(feature = "fleet"), allow(dead_code, reason = "controllers, drivers and agents use it"))]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this is the program that talks to people")]

#[macro_use]
mod out;

mod address;
mod args;
#[cfg(feature = "fleet")]
mod client;
mod cmd;
mod consistency;
mod diagnose;
mod exit;
mod faults;
mod fill;
mod fio;
mod fit;
mod goals;
mod host;
mod live;
mod load;
mod mistyped;
#[cfg(feature = "fleet")]
mod nats;
mod nodes;
mod output;
mod paint;
mod plan;
mod progress;
mod raw;
mod readback;
mod registry;
mod runs;
mod screen;
mod secrets;
mod signals;
mod study;
mod table;
mod times;
mod units;
mod verdict;
mod wrap;
mod writable;

use clap::{CommandFactory, Parser};

use args::{Args, Command};
use exit::Exit;

fn main() -> std::process::ExitCode {
    signals::prepare();
    screen::prepare();
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return out::arguments(&meant(error)),
    };
    paint::choose(args.color);
    let result = match args.command {
        Command::Demo(demo) => cmd::demo::run(&demo),
        Command::Run(run) => cmd::run::run(&run),
        Command::Quick(quick) => cmd::quick::run(&quick),
        Command::Check(check) => cmd::check::run(&check),
        Command::Convert(convert) => cmd::convert::run(&convert),
        Command::Serve(serve) => cmd::serve::run(&serve),
        Command::Driver(driver) => cmd::driver::run(&driver),
        Command::Node(node) => cmd::node::run(&node),
        Command::Adaptors(adaptors) => cmd::adaptors::run(&adaptors),
        Command::Show(show) => cmd::show::run(&show),
        Command::Import(import) => cmd::import::run(&import),
        Command::Judge(judge) => cmd::judge::run(&judge),
        Command::Report(report) => cmd::report::run(&report),
        Command::Clean(clean) => cmd::clean::run(&clean),
        Command::VerifyData(verify) => cmd::verify_data::run(&verify),
        Command::Recover(recover) => cmd::recover::run(&recover),
        Command::List(list) => cmd::list::run(&list),
        Command::Controller(controller) => cmd::controller::run(&controller),
        Command::Submit(submit) => cmd::submit::run(&submit),
        Command::Cancel(cancel) => cmd::cancel::run(&cancel),
        Command::Logs(logs) => cmd::logs::run(&logs),
        Command::Drivers(drivers) => cmd::drivers::run(&drivers),
        Command::Tag(tag) => cmd::tag::run(&tag),
        Command::Note(note) => cmd::note::run(&note),
        Command::Faults(faults) => cmd::faults::run(&faults),
        Command::Datasets(datasets) => cmd::datasets::run(&datasets),
        Command::Baseline(baseline) => cmd::baseline::run(&baseline),
        Command::Export(export) => cmd::export::run(&export),
        Command::Plan(plan) => cmd::plan::run(&plan),
        Command::Certify(certify) => cmd::certify::run(&certify),
        Command::Lbn(lbn) => cmd::lbn::run(&lbn),
        Command::Study(study) => cmd::study::run(&study),
        Command::Plot(plot) => cmd::plot::run(&plot),
        Command::Compare(compare) => cmd::compare::run(&compare),
        Command::Schema => cmd::schema::run(),
        Command::Completions(completions) => cmd::shell::completions(&completions),
        Command::Man(man) => cmd::shell::man(&man),
        Command::Watch(watch) => cmd::watch::run(&watch),
    };
    out::end(result).into()
}

/// The error of the parser, with what was probably meant.
fn meant(error: clap::Error) -> clap::Error {
    let given: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    mistyped::explained(error, &Args::command(), &given)
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
