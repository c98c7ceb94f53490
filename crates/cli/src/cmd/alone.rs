//! The subcommands of a binary that was built without controllers, drivers and agents (`make demo`): they say how to have them.

use crate::exit::Problem;

fn missing(what: &str) -> Problem {
    Problem::usage(format!(
        "this binary was built without controllers, drivers and agents, which `{what}` needs; `make build` makes one with them: \
         target/release/cosmark"
    ))
}

macro_rules! alone {
    ($($name:ident: $args:ident, $what:literal;)*) => {$(
        pub mod $name {
            use crate::args::$args;
            use crate::exit::Outcome;

            /// Says what is missing.
            pub fn run(_: &$args) -> Outcome {
                Err(super::missing($what))
            }
        }
    )*};
}

alone! {
    cancel: CancelArgs, "cosmark cancel";
    controller: ControllerArgs, "cosmark controller";
    driver: DriverArgs, "cosmark driver";
    drivers: DriversArgs, "cosmark drivers";
    logs: LogsArgs, "cosmark logs";
    node: NodeArgs, "cosmark node";
    submit: SubmitArgs, "cosmark submit";
    watch: WatchArgs, "cosmark watch";
}

pub mod of_controller {
    use crate::args::ListArgs;
    use crate::exit::Outcome;

    /// Says what is missing.
    pub fn list(_: &ListArgs) -> Outcome {
        Err(super::missing("cosmark list --controller"))
    }
}

pub mod agents {
    use crate::args::NatsArgs;
    use crate::exit::Outcome;

    /// Says what is missing.
    pub fn list(_: &str, _: &NatsArgs, _: bool) -> Outcome {
        Err(super::missing("cosmark faults list --nats"))
    }
}

pub mod remote {
    //! As the module of this name with drivers: nothing connects, so nothing of it is ever called.

    use std::path::Path;
    use std::sync::Arc;

    use cosmark_archive::{DriversRecord, RunDir};
    use cosmark_controller::{Ended, FaultsPlayed, Observer, StopLevel};
    use cosmark_faults::Agents;
    use cosmark_nodes::watch::Agent;
    use cosmark_workload::Workload;
    use tokio::sync::watch;

    use crate::args::{ManyArgs, NatsArgs, RunOptions};
    use crate::exit::Problem;
    use crate::runs::Beside;

    /// There is none.
    pub enum Remote {}

    /// Says what is missing.
    ///
    /// # Errors
    /// Always.
    pub async fn agents_of(_: &str, _: &NatsArgs, _: Option<&Path>) -> Result<Arc<dyn Agents>, Problem> {
        Err(super::missing("cosmark recover --nats"))
    }

    impl Remote {
        /// Says what is missing.
        ///
        /// # Errors
        /// Always.
        pub async fn connect(_: &str, _: &ManyArgs, _: &Workload) -> Result<Self, Problem> {
            Err(super::missing("cosmark run --nats"))
        }

        pub async fn agents(&self, _: &str, _: &Workload) -> Vec<Agent> {
            match *self {}
        }

        pub fn faults(
            &self,
            _: &Workload,
            _: String,
            _: &Path,
        ) -> Result<Option<Box<dyn FaultsPlayed>>, Problem> {
            match *self {}
        }

        pub async fn heal_left(&self, _: &Path) -> Result<(), Problem> {
            match *self {}
        }

        pub fn record(&self) -> Option<DriversRecord> {
            match *self {}
        }

        #[expect(clippy::too_many_arguments, reason = "as where there are drivers")]
        pub async fn run(
            self,
            _: String,
            _: &Workload,
            _: RunDir,
            _: Beside,
            _: &RunOptions,
            _: watch::Receiver<StopLevel>,
            _: &dyn Fn(&str) -> String,
            _: &mut dyn Observer,
        ) -> Result<Ended, Problem> {
            match self {}
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use crate::args::{Args, Command};
    use crate::cmd;

    #[test]
    fn what_is_missing_says_how_to_have_it() {
        for words in [
            &["controller", "--local"][..],
            &["drivers"],
            &["faults", "list", "--nats", "nats://127.0.0.1:1"],
            &["list", "--controller", "http://127.0.0.1:1"],
            &["watch", "w1"],
        ] {
            let args = Args::try_parse_from(["cosmark"].iter().chain(words)).unwrap();
            let end = match &args.command {
                Command::Controller(args) => cmd::controller::run(args),
                Command::Drivers(args) => cmd::drivers::run(args),
                Command::Faults(args) => cmd::faults::run(args),
                Command::List(args) => cmd::list::run(args),
                Command::Watch(args) => cmd::watch::run(args),
                _ => continue,
            };
            let said = end.unwrap_err().to_string();
            assert!(said.contains(&format!("cosmark {}", words[0])) && said.contains("make build"), "{said}");
        }
    }

    /// The other part that the binary of `make demo` lacks.
    #[cfg(not(feature = "raster"))]
    #[test]
    fn a_picture_that_needs_the_renderer_says_how_to_have_it() {
        let run = concat!(env!("CARGO_MANIFEST_DIR"), "/../archive/tests/cosbench-runs/w3-mock-full");
        let plots = tempfile::tempdir().unwrap();
        let place = plots.path().to_str().unwrap();
        let said = |format: &str| {
            let words = ["cosmark", "plot", run, "--kind", "timeline", "--format", format, "--output", place];
            let args = Args::try_parse_from(words).unwrap();
            let Command::Plot(args) = &args.command else { panic!("it is another command") };
            cmd::plot::run(args).map_err(|problem| problem.to_string())
        };
        for format in ["png", "pdf"] {
            let why = said(format).unwrap_err();
            assert!(why.contains(&format!("without pictures as {}", format.to_uppercase())), "{why}");
            assert!(why.contains("make build") && why.contains("--format svg"), "{why}");
        }
        said("svg").unwrap();
    }
}
