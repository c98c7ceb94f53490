//! The command line, defined once; help, completions and the man page derive from it.

mod baseline;
mod certify;
mod controller;
mod datasets;
mod driver;
mod faults;
mod lbn;
mod plan;
mod results;
mod run;
mod shell;
mod study;
mod verify_data;

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::exit::Exit;
use crate::paint::When;
pub use baseline::BaselineArgs;
pub use certify::CertifyArgs;
use clap::{Args as ClapArgs, Parser, Subcommand};
pub use controller::{CancelArgs, ClientArgs, ControllerArgs, DriversArgs, LogsArgs, SubmitArgs};
pub use datasets::{DatasetCheckArgs, DatasetsArgs, DatasetsCommand};
pub use driver::{DriverArgs, ManyArgs, NatsArgs, NodeArgs, ReachArgs};
pub use faults::{FaultsArgs, FaultsCommand, GuardArgs, NoteArgs};
pub use lbn::LbnArgs;
pub use plan::PlanArgs;
pub use results::{
    AxisName, Bounds, CompareArgs, CompareFormat, ExportArgs, ImportArgs, LookArgs, PictureFormat, PlotArgs,
};
pub use run::{DemoArgs, LiveOptions, QuickArgs, RunArgs, RunOptions};
pub use shell::{CompletionsArgs, ManArgs};
pub use study::StudyArgs;
pub use verify_data::VerifyDataArgs;

/// First steps, and what the exit codes mean.
fn after_help() -> String {
    let mut text = String::from(
        "Start here:
  cosmark demo                                  a store, a workload and a result, with no configuration
  cosmark quick s3+http://KEY:SECRET@host:9000  one quick measurement of your store
  cosmark run workload.xml                      a COSBench workload, or a native YAML one

Exit codes:",
    );
    for (_, code, meaning) in Exit::TABLE {
        text.push_str(&format!("\n  {code}  {meaning}"));
    }
    text
}

/// Measures cloud object stores and says what it measured.
#[derive(Parser)]
#[command(
    name = "cosmark",
    version,
    about = "Measures cloud object stores: how fast, how far, and whether to believe it",
    after_help = after_help()
)]
pub struct Args {
    /// Colour: on a terminal unless NO_COLOR is set (auto), always, or never
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true
    )]
    pub color: When,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands, in the order of the help: load, results, promises, experiments, many people and machines, reference.
#[derive(Subcommand)]
pub enum Command {
    /// Run a small workload against a store inside this process; needs no configuration
    Demo(DemoArgs),
    /// Measure one store by its URL, without a workload file
    Quick(QuickArgs),
    /// Run a workload file (COSBench XML or native YAML)
    Run(RunArgs),
    /// Show every mistake in a workload, with line and hint; sends nothing
    Check(CheckArgs),
    /// Convert COSBench XML to native YAML and back, or an access log to recorded arrivals
    Convert(ConvertArgs),
    /// Start the embedded S3 store, or a simulated store with known behaviour
    Serve(ServeArgs),
    /// List the runs of an archive, or of a controller
    List(ListArgs),
    /// Show the results of a run again
    Show(ShowArgs),
    /// Watch a run while it lasts: rates, percentiles, errors, drivers, the verdict as it forms
    Watch(WatchArgs),
    /// Judge whether a run can be believed, also one that COSBench made
    Judge(JudgeArgs),
    /// Make the HTML report of a run: one file with charts that works offline
    Report(ReportArgs),
    /// Compare runs: what differs, how surely, and how small a difference could have been seen
    Compare(CompareArgs),
    /// Draw runs for papers: PDF, SVG, PNG and tables, from archives of Cosmark and of COSBench
    Plot(PlotArgs),
    /// Export a run for other programs: CSV, Prometheus, OpenTelemetry, InfluxDB, warp, ..
    Export(ExportArgs),
    /// Add tags to a run, remove them, or show them
    Tag(TagArgs),
    /// Write a note into the timeline of a run, while it runs or afterwards
    Note(NoteArgs),
    /// Check what a store promises and keeps: more than 200 questions to S3, fewer to others, each with its evidence
    Certify(CertifyArgs),
    /// Read back what a store acknowledged in a run: is all of it still there?
    VerifyData(VerifyDataArgs),
    /// List, check and remove the data sets that runs with `fill:` wrote
    Datasets(DatasetsArgs),
    /// Show and heal faults that runs made and did not heal
    Faults(FaultsArgs),
    /// Remove from the store what a run left there, and nothing else
    Clean(CleanArgs),
    /// Finish runs whose process was killed: put together, judge and archive what they measured
    Recover(RecoverArgs),
    /// Run a published comparison, or one of your own, and write its report; continues after a kill
    Study(StudyArgs),
    /// Predict what the measured store would do with more machines, another mix, size or load
    Plan(PlanArgs),
    /// Measure what a store's machines can do by themselves; or make a run the baseline of its workload
    Baseline(BaselineArgs),
    /// Import a result of fio into the archive, as a run
    Import(ImportArgs),
    /// Show how far apart successive requests of a disk lie, live or from a trace
    Lbn(LbnArgs),
    /// Start a controller: a queue of runs, REST, the web console
    Controller(ControllerArgs),
    /// Submit a workload to the queue of a controller
    Submit(SubmitArgs),
    /// Cancel a run of a controller
    Cancel(CancelArgs),
    /// Show the log of a controller's run
    Logs(LogsArgs),
    /// List the drivers of a controller
    Drivers(DriversArgs),
    /// Make load for controllers elsewhere: joins their NATS and waits for work
    Driver(DriverArgs),
    /// Read this machine's counters for runs of controllers elsewhere: joins their NATS and waits for requests
    Node(NodeArgs),
    /// List storage adaptors and auths, or the keys of one
    Adaptors(AdaptorsArgs),
    /// Print the JSON Schema of native workloads, for editors
    #[command(after_help = "Examples:
  cosmark schema > cosmark.schema.json

Editors with the YAML language server then complete and check a file that begins with
  # yaml-language-server: $schema=cosmark.schema.json
The schema of studies: `cosmark study schema`.")]
    Schema,
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Print the manual page, or write one for each subcommand
    Man(ManArgs),
}

/// `cosmark check`
#[derive(ClapArgs)]
#[command(after_help = "Examples:
  cosmark check workload-config.xml
  cosmark check workloads/mixed.yaml --target target.yaml --set main.workers=64
  cosmark check workload.yaml --json | jq -r '.mistakes[].message'

It shows each mistake with its line and a remedy, then what every stage would do, how long it takes, how much it writes, and what \
can be said about the verdict before any load. Exit codes: 0 it can be run, 2 it cannot, 7 with --strict as below.")]
pub struct CheckArgs {
    /// Workload file; - reads standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Change a field before checking, as in `cosmark run`
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// File with the auth and storage to use instead of the workload's
    #[arg(long, value_name = "FILE")]
    pub target: Option<PathBuf>,
    /// Load the plugin that the workload names, if it is below this directory, and check its own keys, too; its code runs
    #[arg(long, value_name = "DIR")]
    pub plugins: Option<PathBuf>,
    /// Exit code 7 when the verdict of a run would be FALSE by the workload alone
    #[arg(long)]
    pub strict: bool,
    /// Print mistakes with their places, and what can be said about the verdict, as JSON
    #[arg(long)]
    pub json: bool,
}

fn positive(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|value| value.is_finite() && *value > 0.0);
    value.ok_or_else(|| "give a number above 0, such as 10 or 0.5".to_owned())
}

/// `cosmark convert`
#[derive(ClapArgs)]
#[command(after_help = "Examples:
  cosmark convert workload-config.xml > workload.yaml
  cosmark convert workloads/mixed.yaml -o mixed.xml
  cosmark convert access.log --only read,write -o arrivals.csv

An access log (S3 server access log, Apache's or nginx's combined format, or lines of \
timestamp[,op,size]) is recognised by its first line and becomes a file for `rate: {shape: recorded, file: ..}`.")]
pub struct ConvertArgs {
    /// Workload file or access log; - reads standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// File with the auth and storage to write instead of the workload's own, which may be of a kind that Cosmark lacks
    #[arg(long, value_name = "FILE")]
    pub target: Option<PathBuf>,
    /// Format of the access log: s3, combined or plain; needed only for standard input
    #[arg(long, value_name = "FORMAT")]
    pub from: Option<String>,
    /// Access log: let time run this many times as fast
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = positive)]
    pub time_warp: f64,
    /// Access log: only these requests, of read, write, delete, head, list, other
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Access log: leave out lines that cannot be read, instead of failing
    #[arg(long)]
    pub skip_bad: bool,
    /// Write here instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// `cosmark serve`
#[derive(ClapArgs)]
#[command(after_help = "Examples:
  cosmark serve                                              an S3 store at 127.0.0.1:9000; prints its keys
  cosmark serve --behaviour crates/simstore/behaviours/stall.yaml   one that stands still for a while
  cosmark serve --directory /mnt/disk/objects --listen 127.0.0.1:9100

Runs until Ctrl-C. Without a directory the objects are deleted at the end. Behaviours to begin with are in \
crates/simstore/behaviours of the sources, and in share/cosmark/behaviours of the packages.")]
pub struct ServeArgs {
    /// Address to listen on
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:9000")]
    pub listen: SocketAddr,
    /// Accept an address that other machines can reach
    #[arg(long)]
    pub allow_remote: bool,
    /// Keep the objects in this directory
    #[arg(long, value_name = "DIR", conflicts_with = "behaviour")]
    pub directory: Option<PathBuf>,
    /// Access key; the secret key is read from COSMARK_SERVE_SECRET; both are random by default
    #[arg(long, value_name = "KEY", conflicts_with = "behaviour")]
    pub access_key: Option<String>,
    /// Be a simulated S3 and Swift store with the delays, errors and stalls of this file
    #[arg(long, value_name = "FILE")]
    pub behaviour: Option<PathBuf>,
}

/// `cosmark adaptors`
#[derive(ClapArgs)]
#[command(after_help = "Examples:
  cosmark adaptors              all storage types and auths, and what each can do
  cosmark adaptors s3           its keys, with values, defaults and meaning
  cosmark adaptors s3 --json    the same for programs")]
pub struct AdaptorsArgs {
    /// Storage or auth type, or with --plugins the file of a plugin
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// Load the named plugin, if it is below this directory; its code runs here
    #[arg(long, value_name = "DIR")]
    pub plugins: Option<PathBuf>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// `cosmark show`
#[derive(ClapArgs)]
#[command(after_help = "Examples:
  cosmark show last
  cosmark show w3 --json | jq .verdict.overall     the fields are in docs/reference/archive.md
  cosmark show /data/cosbench/archive/w3-mix       a run of COSBench

Runs that were killed are shown as far as they came. See also: list, judge, report, compare, plot, export.")]
pub struct ShowArgs {
    /// Run: a directory, its number (3 or w3), `last` or `baseline`
    #[arg(value_name = "RUN")]
    pub run: String,
    /// Archive to look for the run in
    #[arg(long, value_name = "DIR", default_value = "archive")]
    pub archive: PathBuf,
    /// Print run.json
    #[arg(long)]
    pub json: bool,
}

/// `cosmark recover`
#[derive(ClapArgs)]
#[command(after_help = "Examples:
  cosmark recover            every run of ./archive that was killed
  cosmark recover w3         one run; nothing changes if it is already over
  cosmark recover w3 --nats nats://host:4222  asks its agents first what became of the faults that they made

`show`, `report`, `judge` and `export` can read a killed run without this command. It writes COSBench's tables, the verdict and the \
report, and ends the run. Do not use it for a run over NATS that you want to continue (`cosmark run --take-over`).")]
pub struct RecoverArgs {
    /// Runs: a directory, a number (3 or w3) or `last`; default: all that were killed
    #[arg(value_name = "RUN")]
    pub runs: Vec<String>,
    /// Archive to look for the runs in
    #[arg(long, value_name = "DIR", default_value = "archive")]
    pub archive: PathBuf,
    /// Finish a run even if this machine cannot know that its process is gone (another machine or container)
    #[arg(long)]
    pub force: bool,
    /// Ask the agents of this NATS first what became of the faults that they made for these runs
    #[arg(long, value_name = "URL")]
    pub nats: Option<String>,
    /// State directory with the key that signs requests to agents (cluster.key); default: $XDG_STATE_HOME/cosmark or
    /// ~/.local/state/cosmark
    #[arg(long, value_name = "DIR", requires = "nats")]
    pub state_dir: Option<PathBuf>,
    #[command(flatten)]
    pub login: Box<NatsArgs>,
}

/// `cosmark clean`
#[derive(ClapArgs)]
#[command(after_help = "Examples:
  cosmark clean w7 --dry-run                    what would be removed
  cosmark clean w7 --target target.yaml         of a run that was killed, ended twice by Ctrl-C, or lost its driver

Looks in the run's containers for what the stages that had begun can have written; objects of other names stay, and are listed. With \
a whole operation log (--oplog) only what it has is removed; without one, objects that somebody else wrote under the same names into \
the same containers go, too: look with --dry-run first. A container that the run made is removed when it is empty, one that was there \
before never. The archive keeps no secrets: a store that asks for a login needs --target. May be stopped and started again at any time.")]
pub struct CleanArgs {
    /// Run: a directory, its number (7 or w7) or `last`
    #[arg(value_name = "RUN")]
    pub run: String,
    /// Archive to look for the run in
    #[arg(long, value_name = "DIR", default_value = "archive")]
    pub archive: PathBuf,
    /// File with the auth and storage that the run used
    #[arg(long, value_name = "FILE")]
    pub target: Option<PathBuf>,
    /// The target is another address of the store that the run wrote to
    #[arg(long)]
    pub another_address: bool,
    /// Only say what would be removed
    #[arg(long)]
    pub dry_run: bool,
    /// Also remove empty containers that the run's stages should have made, if it is not known who made them
    #[arg(long)]
    pub containers: bool,
    /// Print what was done as JSON
    #[arg(long)]
    pub json: bool,
}

/// `cosmark judge`
#[derive(ClapArgs)]
#[command(after_help = "Examples:
  cosmark judge w3                          every check on run w3 of ./archive, again, from its files
  cosmark judge w3 w4 w5 w6 w7              the same, and whether five runs of one workload agree
  cosmark judge /srv/cosbench/archive/w3-mix   what a reader must not believe of a run that COSBench made")]
pub struct JudgeArgs {
    /// Run: a directory, of Cosmark or of COSBench, its number (3 or w3), `last` or `baseline`; several are repetitions
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<String>,
    /// Archive to look for the runs in
    #[arg(long, value_name = "DIR", default_value = "archive")]
    pub archive: PathBuf,
    /// Print the verdicts as JSON
    #[arg(long)]
    pub json: bool,
    /// End with exit code 7 when a verdict is FALSE
    #[arg(long)]
    pub strict: bool,
}

/// `cosmark report`
#[derive(ClapArgs)]
#[command(after_help = "Examples:
  cosmark report w3                       writes archive/w3-NAME/report.html
  cosmark report last -o /tmp/last.html --open")]
pub struct ReportArgs {
    /// Run: a directory, its number (3 or w3), `last` or `baseline`
    #[arg(value_name = "RUN")]
    pub run: String,
    /// Archive to look for the run in
    #[arg(long, value_name = "DIR", default_value = "archive")]
    pub archive: PathBuf,
    /// Write here instead of report.html in the run's directory
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Show it in the browser
    #[arg(long, value_name = "YES|NO", default_value = "no", default_missing_value = "yes", num_args = 0..=1, require_equals = true, value_parser = clap::builder::BoolishValueParser::new(), hide_possible_values = true, action = clap::ArgAction::Set)]
    pub open: bool,
}

/// `cosmark list`
#[derive(ClapArgs)]
#[command(after_help = "Examples:
  cosmark list --limit 5 --tag nvme
  cosmark list --since 7d --state failed
  cosmark list --json --archive /srv/cosmark
  cosmark list --controller http://bench:19088

Newest first. op/s is of the stage with the highest rate, without what prepares and cleans up; p99 is the 99th \
percentile of the response time of its slowest operation. What does not fit the terminal is left out; --json has everything.")]
pub struct ListArgs {
    /// Archive: the directory of the results; default: archive
    #[arg(long, value_name = "DIR")]
    pub archive: Option<PathBuf>,
    /// Only runs with this text in their number, name or tags
    #[arg(long, value_name = "TEXT")]
    pub search: Option<String>,
    /// Only runs with this tag; several = all of them
    #[arg(long = "tag", value_name = "TAG")]
    pub tags: Vec<String>,
    /// Only runs in this state: finished, failed, terminated, cancelled, running, killed; of a controller, which says
    /// processing for running, also queuing, processing and active
    #[arg(long, value_name = "STATE", hide_possible_values = true, value_parser = ["finished", "failed", "terminated", "cancelled", "running", "killed", "queuing", "processing", "active"])]
    pub state: Option<String>,
    /// Only runs submitted since a day (2026-11-21), or not longer ago than this (90m, 12h, 7d)
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// Show at most this many, the newest; 0 = all. Default: 40 on a terminal, else all
    #[arg(long, short = 'n', value_name = "N")]
    pub limit: Option<usize>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub client: ClientArgs,
}

/// `cosmark watch`
#[derive(ClapArgs)]
#[command(after_help = "Examples:
  cosmark watch                        the newest run of ./archive, also one that another terminal or a controller makes
  cosmark watch w12 --archive /srv/cosmark
  cosmark watch w12 --controller http://bench:19088

It only watches: Ctrl-C ends the watching, not the run. Without a terminal it prints a line every 5 s. It ends \
with the run: with 0 when the run finished, 4 when a stage failed, 5 when it was cancelled, terminated or killed.")]
pub struct WatchArgs {
    /// Run: a directory, its number (12 or w12), or `last`
    #[arg(value_name = "RUN", default_value = "last")]
    pub run: String,
    /// Archive to look for the run in; default: archive
    #[arg(long, value_name = "DIR")]
    pub archive: Option<PathBuf>,
    #[command(flatten)]
    pub client: ClientArgs,
}

/// `cosmark tag`
#[derive(ClapArgs)]
#[command(after_help = "Examples:
  cosmark tag last +fast +nvme      adds two tags
  cosmark tag w12 -old              removes one
  cosmark tag 12                    shows them")]
pub struct TagArgs {
    /// Run: a directory, its number (12 or w12), `last` or `baseline`
    #[arg(value_name = "RUN")]
    pub run: String,
    /// +TAG adds, -TAG removes
    #[arg(value_name = "TAG", allow_hyphen_values = true)]
    pub changes: Vec<String>,
    /// Archive to look for the run in
    #[arg(long, value_name = "DIR", default_value = "archive")]
    pub archive: PathBuf,
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use clap::{CommandFactory, Parser};

    use super::Args;

    /// Calls `each` with every option of every command, and the command's name.
    fn each_option(command: &clap::Command, each: &mut impl FnMut(&str, &clap::Arg)) {
        command.get_arguments().for_each(|option| each(command.get_name(), option));
        command.get_subcommands().for_each(|below| each_option(below, each));
    }

    #[test]
    fn every_default_that_help_shows_is_a_value_that_help_names() {
        let (mut seen, mut wrong) = (0, Vec::new());
        each_option(&Args::command(), &mut |command, option| {
            let shown = !option.is_hide_possible_values_set() && option.get_action().takes_values();
            let named = if shown { option.get_possible_values() } else { Vec::new() };
            seen += usize::from(!named.is_empty());
            for default in option.get_default_values().iter().map(|default| default.to_string_lossy()) {
                if !named.is_empty() && !named.iter().any(|value| value.matches(&default, false)) {
                    wrong.push(format!("{command} {}: {default}", option.get_id()));
                }
            }
        });
        assert!(seen > 5 && wrong.is_empty(), "{seen} options: {wrong:?}");
    }

    /// A group of options leaves its heading to what follows it in the same command.
    #[test]
    fn a_heading_of_help_has_the_same_options_wherever_it_stands() {
        let mut headings: BTreeMap<String, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
        each_option(&Args::command(), &mut |command, option| {
            if let Some(heading) = option.get_help_heading() {
                assert_ne!(option.get_id(), "archive", "{command}: --archive stands under {heading}");
                let below = headings.entry(heading.to_owned()).or_default();
                below.entry(command.to_owned()).or_default().insert(option.get_id().to_string());
            }
        });
        assert!(headings.len() > 7 && headings["NATS"].len() > 3, "{headings:#?}");
        for (heading, commands) in &headings {
            let different: BTreeSet<_> = commands.values().collect();
            assert_eq!(different.len(), 1, "{heading}: {commands:#?}");
        }
        assert_eq!(headings["NATS"]["driver"].len(), 8, "{:?}", headings["NATS"]["driver"]);
    }

    #[test]
    fn a_state_directory_has_the_name_of_the_other_commands_too() {
        let calls = [
            &["controller", "--local"][..],
            &["driver", "--join", "nats://h:4222"],
            &["node", "--join", "nats://h:4222"],
        ];
        for call in calls {
            for option in ["--state", "--state-dir"] {
                let all = [&["cosmark"][..], call, &[option, "here"]].concat();
                assert!(Args::try_parse_from(&all).is_ok(), "{all:?}");
            }
        }
    }

    /// The call in a line of examples, without what a shell does with it; behind two blanks stands what it is for.
    fn call_in(line: &str) -> Option<Vec<String>> {
        let line = line.strip_prefix("  ").filter(|line| line.starts_with("cosmark "))?;
        let mut call = line.split("  ").next()?;
        for end in [" > ", " | ", " && "] {
            call = call.split(end).next()?;
        }
        let (mut words, mut quote) = (vec![String::new()], None);
        for sign in call.chars() {
            match (quote, sign) {
                (Some(open), _) if sign == open => quote = None,
                (None, '"' | '\'') => quote = Some(sign),
                (None, ' ') => words.push(String::new()),
                _ => words.last_mut()?.push(sign),
            }
        }
        Some(words)
    }

    #[test]
    fn every_command_begins_its_last_words_with_examples_and_takes_them() {
        let (mut seen, mut wrong) = (0, Vec::new());
        for command in Args::command().get_subcommands() {
            let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            if !text.starts_with("Examples:\n") {
                wrong.push(format!("{}: no examples", command.get_name()));
            }
            // Paragraphs are filled to the width of the terminal, and so have no breaks of their own.
            let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ');
            if text.lines().zip(text.lines().skip(1)).any(|(line, next)| is_prose(line) && is_prose(next)) {
                wrong.push(format!("{}: a paragraph is broken", command.get_name()));
            }
            for call in text.lines().filter_map(call_in) {
                seen += 1;
                if let Err(error) = Args::try_parse_from(&call) {
                    wrong.push(format!("{call:?}: {}", error.kind()));
                }
            }
        }
        assert!(seen > 100 && wrong.is_empty(), "{seen} examples: {wrong:#?}");
        assert_eq!(call_in("  cosmark tag 'a b' +c   why").map(|words| words.len()), Some(4));
        assert_eq!(call_in("  cosmark list --json | jq .").map(|words| words.len()), Some(3));
        assert!(Args::try_parse_from(["cosmark", "list", "--fast"]).is_err());
    }

    #[test]
    fn every_option_says_what_it_does() {
        let (mut seen, mut silent) = (0, Vec::new());
        each_option(&Args::command(), &mut |command, option| {
            seen += 1;
            if option.get_help().is_none_or(|help| help.to_string().len() < 5) {
                silent.push(format!("{command} {}", option.get_id()));
            }
        });
        assert!(seen > 100 && silent.is_empty(), "{silent:?}");
    }
}
