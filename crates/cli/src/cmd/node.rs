//! `cosmark node`: reads this machine for runs of controllers elsewhere, and makes the faults that its operator has
//! named.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cosmark_archive::check_strict_modes;
use cosmark_cluster::agent::{AgentOptions, heal_left, injector_of, serve};
use cosmark_cluster::driver::{Leave, Talk};
use cosmark_cluster::nats::Bus;
use cosmark_nodes::collect::check_daemons;
use cosmark_nodes::filesystems::checked;
use cosmark_workload::diagnostics::LineIndex;
use cosmark_workload::model::faults::AllowedFault;
use cosmark_workload::model::nodes::links;
use cosmark_workload::parse_allowed_faults;
use tokio::sync::watch;

use crate::args::NodeArgs;
use crate::cmd::driver;
use crate::exit::{Exit, Outcome, Problem};
use crate::{faults, host, nats, signals};

/// Runs the subcommand.
pub fn run(args: &NodeArgs) -> Outcome {
    let talk: Talk = Arc::new(|text: &str| eprintln!("cosmark: {text}"));
    let name = args.name.clone().unwrap_or_else(driver::name_of_host);
    let state = host::state_directory(args.state.as_deref())?;
    let options = options(args, name.clone(), state.clone()).inspect_err(|_| {
        // What an earlier start has left is healed, whatever keeps this one from starting.
        if let Err(error) = heal_left(&state, &name, &talk) {
            eprintln!("cosmark: {error}");
        }
    })?;
    // Also while NATS is away.
    let injector = injector_of(&options, &talk).map_err(|error| driver::problem(&error))?;
    host::runtime()?.block_on(async {
        let (level, leave) = watch::channel(Leave::Stay);
        tokio::spawn(signals::three_times(
            level,
            [(Leave::Politely, "leaving"), (Leave::AtOnce, "leaving at once")],
        ));
        let nats = nats::options(&args.join, &args.login);
        let bus = Bus::join_as_agent(&nats, &options.name).await;
        let bus = bus.map_err(|error| nats::problem(&error))?;
        serve(bus, options, injector, leave, talk).await.map_err(|error| driver::problem(&error))
    })?;
    Ok(Exit::Done)
}

fn options(args: &NodeArgs, name: String, state: PathBuf) -> Result<AgentOptions, Problem> {
    check_daemons(&args.daemons).map_err(|why| Problem::usage(format!("--daemons: {why}")))?;
    driver::check_keys(&args.trust)?;
    if args.faults.is_some() && args.trust.is_empty() {
        return Err(Problem::usage(
            "--faults: a controller may make this machine fail only if you trust its key, not because it is the first one that \
             this NATS has: say whose by --trust KEY; a controller prints its key when it starts, and so does a run over NATS \
             that misses this agent",
        ));
    }
    let links = links(&args.links).map_err(|why| Problem::usage(format!("--links: {why}")))?;
    let filesystems =
        checked(&args.filesystems).map_err(|why| Problem::usage(format!("--filesystems: {why}")))?;
    let ceph_sockets = args.ceph_sockets.as_ref().map(|directory| {
        let directory = directory.to_str().map(str::to_owned);
        directory.ok_or_else(|| Problem::usage("--ceph-sockets: the directory's name is not valid UTF-8"))
    });
    Ok(AgentOptions {
        name,
        role: args.role.clone(),
        daemons: args.daemons.clone(),
        filesystems,
        links,
        requests: args.requests,
        ceph_sockets: ceph_sockets.transpose()?,
        state,
        trust: args.trust.clone(),
        faults: args.faults.as_deref().map_or(Ok(Vec::new()), allowed)?,
        guardian: faults::guardian(),
        host: host::hostname(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    })
}

/// No file of faults is larger.
const MOST_BYTES: u64 = 1 << 20;

/// The faults of a file, which only this user or the administrator can have written.
fn allowed(path: &Path) -> Result<Vec<AllowedFault>, Problem> {
    let shown = path.display();
    let cannot = |cause: std::io::Error| Problem::usage(format!("--faults {shown}: {cause}"));
    let meta = std::fs::metadata(path).map_err(cannot)?;
    check_strict_modes(path)
        .map_err(|why| Problem::usage(format!("--faults {shown}: its commands would run here, and {why}")))?;
    if !meta.is_file() || meta.len() > MOST_BYTES {
        return Err(Problem::usage(format!(
            "--faults {shown}: this is not a file, or it is larger than 1 MiB"
        )));
    }
    let text = std::fs::read_to_string(path).map_err(cannot)?;
    let (faults, mistakes) = parse_allowed_faults(&text);
    let index = LineIndex::new(&text);
    let all: Vec<String> = mistakes
        .iter()
        .map(|one| {
            let hint = one.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
            format!("line {}: {}{hint}", index.position(one.span.start).line, one.message)
        })
        .collect();
    match all.is_empty() {
        true if faults.is_empty() => Err(Problem::usage(format!("--faults {shown}: it names no faults"))),
        true => Ok(faults),
        false => Err(Problem::usage(format!("--faults {shown}: {}", all.join("\n  ")))),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_file_that_others_may_write_allows_no_fault_and_mistakes_are_named_with_their_lines() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("faults.yaml");
        let good = "faults:\n- {name: hangs, type: signal, signal: STOP, process: x, longest: 1m}\n";
        fs::write(&path, good).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let read = || allowed(&path).map_err(|problem| problem.to_string());
        assert_eq!(read().unwrap()[0].name, "hangs");
        for mode in [0o666, 0o664] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert!(read().unwrap_err().contains("others may write it"));
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        // Who may write the directory may put another file there.
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(read().unwrap_err().contains("others may write it"));
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(&path, good.replace("STOP", "HUP")).unwrap();
        let why = read().unwrap_err();
        assert!(why.contains("line 2: ") && why.contains("no signal of a fault"), "{why}");
        fs::write(&path, "\n").unwrap();
        assert!(read().unwrap_err().contains("the file is empty; write faults:"));
        fs::write(&path, "faults: []\n").unwrap();
        assert!(read().unwrap_err().contains("names no faults"));
        assert!(allowed(Path::new("/nowhere/faults.yaml")).is_err());
    }
}
