//! What makes the faults of an agent, and heals those that an earlier start of it has left: before and without any NATS.

use std::ffi::OsString;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use cosmark_archive::FaultJournal;
use cosmark_faults::{Injector, Patience};
use cosmark_workload::model::faults::AllowedFault;

use super::AgentOptions;
use crate::driver::{DriverError, Talk};
use crate::nats::names;

/// The directory of an agent's state, which is made.
pub(super) fn directory_of(state: &Path, name: &str) -> Result<PathBuf, DriverError> {
    if !names::is_token(name) {
        return Err(DriverError::Name(format!(
            "--name {name}: up to 64 of A to Z, a to z, 0 to 9, - and _; give another one"
        )));
    }
    let directory = state.join("agents").join(name);
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory);
    made.map_err(|cause| DriverError::State { path: directory.display().to_string(), cause })?;
    Ok(directory)
}

/// What makes the faults of an agent, and heals from now on what an earlier start has left in force, also where the
/// operator allows no faults any more; `None` where there is neither.
///
/// # Errors
/// When its name is none, its state cannot be written, or there is no thread for it.
pub fn injector_of(options: &AgentOptions, talk: &Talk) -> Result<Option<Injector>, DriverError> {
    let directory = directory_of(&options.state, &options.name)?;
    // What cannot be read is said by it.
    let is_clean = FaultJournal::of(&directory).all().is_ok_and(|left| left.is_empty());
    if options.faults.is_empty() && is_clean {
        return Ok(None);
    }
    begin(options.faults.clone(), &directory, options.guardian.clone(), talk).map(Some)
}

/// Heals what an earlier start of an agent of this name has left in force, and is over when that is.
///
/// # Errors
/// When its name is none, its state cannot be written, or there is no thread for it; what could not be healed is said.
pub fn heal_left(state: &Path, name: &str, talk: &Talk) -> Result<(), DriverError> {
    let directory = directory_of(state, name)?;
    if FaultJournal::of(&directory).all().is_ok_and(|left| left.is_empty()) {
        return Ok(());
    }
    begin(Vec::new(), &directory, Vec::new(), talk).map(|injector| injector.end())
}

fn begin(
    allowed: Vec<AllowedFault>,
    directory: &Path,
    guardian: Vec<OsString>,
    talk: &Talk,
) -> Result<Injector, DriverError> {
    let talk = Arc::clone(talk);
    let begun = Injector::begin(allowed, directory, guardian, Patience::default(), move |text| talk(text));
    begun.map_err(|cause| DriverError::State {
        path: directory.display().to_string(),
        cause: io::Error::other(cause),
    })
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use cosmark_archive::{FaultInForce, Heal};

    use super::*;

    #[test]
    fn what_an_agent_has_left_is_healed_by_the_next_one_that_may_make_no_faults() {
        let directory = tempfile::tempdir().unwrap();
        let state = directory.path();
        let options = AgentOptions {
            name: "s1".to_owned(),
            role: "storage".to_owned(),
            daemons: Vec::new(),
            filesystems: Vec::new(),
            links: Vec::new(),
            requests: false,
            ceph_sockets: None,
            state: state.to_owned(),
            trust: Vec::new(),
            faults: Vec::new(),
            guardian: Vec::new(),
            host: String::new(),
            version: String::new(),
        };
        let talk: Talk = Arc::new(|_: &str| {});
        assert!(injector_of(&options, &talk).unwrap().is_none());
        let own = directory_of(state, "s1").unwrap();
        let there = state.join("there");
        std::fs::write(&there, "").unwrap();
        let heal = Heal::Command {
            words: ["rm", "there"].map(str::to_owned).to_vec(),
            directory: state.to_owned(),
            within: Duration::from_secs(30),
            proof: None,
        };
        let mut left = FaultInForce::made_here("w1", "s1-main", "gone 1", "x", heal);
        left.process.started_ticks = left.process.started_ticks.map(|ticks| ticks + 1);
        FaultJournal::of(&own).note(&left).unwrap();
        let injector = injector_of(&options, &talk).unwrap().unwrap();
        assert!(injector.allowed().is_empty());
        let until = Instant::now() + Duration::from_secs(60);
        while there.exists() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
        drop(injector);
        assert!(!there.exists() && FaultJournal::of(&own).all().unwrap().is_empty());
        // Also by one that does not start.
        std::fs::write(&there, "").unwrap();
        FaultJournal::of(&own).note(&left).unwrap();
        heal_left(state, "s2", &talk).unwrap();
        assert!(there.exists(), "another agent's");
        heal_left(state, "s1", &talk).unwrap();
        assert!(!there.exists() && FaultJournal::of(&own).all().unwrap().is_empty());
        assert!(matches!(heal_left(state, "../s1", &talk), Err(DriverError::Name(_))));
    }
}
