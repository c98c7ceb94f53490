//! `cosmark demo`: an embedded store, a five-stage workload, a result.

use cosmark_archive::RunState;
use cosmark_embedded::{EmbeddedStore, Options};
use cosmark_workload::{Target, parse_target};

use crate::args::DemoArgs;
use crate::cmd::run::{execute, report};
use crate::exit::{Outcome, Problem};
use crate::load::load_for;
use crate::registry::CATALOG;
use crate::writable;

const WORKLOAD: &str = include_str!("../../../../workloads/demo.yaml");

/// What the demo is about: a few seconds of a store in memory that does nothing else.
const INTENT: &str = "sut_cache: intended, sut_window: short, sut_background: none";

/// Runs the subcommand.
pub fn run(args: &DemoArgs) -> Outcome {
    writable::check(&args.options.archive)?;
    let store = EmbeddedStore::start(Options::default()).map_err(|error| Problem::ours(error.to_string()))?;
    eprintln!("embedded S3 store at {}, objects in {}", store.endpoint(), store.directory().display());
    let settings = [format!("main.runtime={}s", args.runtime)];
    let loaded = load_for(
        &CATALOG,
        WORKLOAD.to_owned(),
        ("workloads/demo.yaml", "demo.yaml"),
        Some(target(&store)?),
        &settings,
        &args.options.archive,
    )?;
    let ended = execute(loaded, None, &args.options)?;
    let outcome = report(&ended, &args.options);
    match store.stop() {
        // A run that is ended early says how to remove what it left.
        Ok(()) if ended.record.state != RunState::Finished => {
            eprintln!(
                "cosmark: the demo's store is gone with everything in it: there is nothing to clean up"
            );
        }
        Ok(()) => {}
        Err(error) => eprintln!("cosmark: the embedded store did not stop cleanly: {error}"),
    }
    if !args.options.json {
        println!();
        println!("This store runs inside Cosmark and shares this machine's processors with it. Next:");
        println!("  cosmark show {} --archive {}", ended.record.id, args.options.archive.display());
        println!("  cosmark quick s3+http://KEY:SECRET@HOST:PORT         measure a store of yours");
        println!("  cosmark run workloads/mixed.yaml --target FILE       a whole workload against it");
        println!("  cosmark check YOUR-COSBENCH-WORKLOAD.xml             what Cosmark makes of your files");
    }
    outcome
}

fn target(store: &EmbeddedStore) -> Result<Target, Problem> {
    let text = format!(
        "storage: {{type: s3, endpoint: \"{}\", accesskey: \"{}\", secretkey: \"{}\", path_style_access: true, {INTENT}}}\n",
        store.endpoint(),
        store.access_key(),
        store.secret_key()
    );
    let (target, mistakes) = parse_target(&text);
    target.ok_or_else(|| Problem::ours(format!("the demo's own target is wrong: {mistakes:?}")))
}
