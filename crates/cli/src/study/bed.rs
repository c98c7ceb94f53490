//! A test bed as a system of a study: its own scripts, each with a time limit.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use cosmark_study::design::Rows;
use cosmark_study::spec::System;
use tokio::process::{Child, Command};

use crate::host::data_of_beds;
use crate::study::room;

/// The first start installs programs.
const UP_LIMIT: Duration = Duration::from_secs(900);
const OTHER_LIMIT: Duration = Duration::from_secs(120);
/// A million rows take half a minute for each copy.
const PREFILL_LIMIT: Duration = Duration::from_secs(3600);
/// A script that is not waited for any more has so long to leave its bed in order.
const TO_END: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// More is no output of a bed.
const MOST_OUTPUT: u64 = 1 << 20;

/// The scripts of a bed.
pub struct Bed {
    directory: PathBuf,
    name: String,
}

/// A bed that this study has.
pub struct Hold {
    name: String,
    _file: std::fs::File,
}

impl Hold {
    /// Whether it is of this bed.
    #[must_use]
    pub fn is_of(&self, bed: &Bed) -> bool {
        self.name == bed.name
    }
}

impl Bed {
    /// The bed of a system below the directory of all beds.
    ///
    /// # Errors
    /// When it is not there.
    pub fn of(beds: &Path, system: &System) -> Result<Option<Self>, String> {
        let Some(name) = &system.bed else { return Ok(None) };
        let directory = beds.join(name);
        if directory.join("up").is_file() {
            let directory =
                directory.canonicalize().map_err(|cause| format!("{}: {cause}", directory.display()))?;
            return Ok(Some(Self { directory, name: name.clone() }));
        }
        Err(format!(
            "no test bed {name} in {}: run it in Cosmark's repository, name the directory with --testbeds, or give your own \
             store with --system {}=target.yaml",
            beds.display(),
            system.name
        ))
    }

    /// The target file of a system.
    #[must_use]
    pub fn target(&self, system: &System) -> PathBuf {
        self.directory.join(system.target.as_deref().unwrap_or("target.yaml"))
    }

    /// Takes the bed for this study, until what is given is dropped, also by a kill. Variants share the ports.
    ///
    /// # Errors
    /// When another study has it.
    pub fn hold(&self) -> Result<Hold, String> {
        let beds = data_of_beds()?;
        let path = beds.join(format!(".{}.study", self.name));
        let failed = |cause: std::io::Error| format!("{}: {cause}", path.display());
        std::fs::create_dir_all(&beds).map_err(failed)?;
        let file = std::fs::OpenOptions::new().create(true).append(true).open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Hold { name: self.name.clone(), _file: file }),
            Err(std::fs::TryLockError::WouldBlock) => {
                Err(format!("another study uses the test bed {}; wait for it", self.name))
            }
            Err(std::fs::TryLockError::Error(cause)) => Err(failed(cause)),
        }
    }

    /// True when all of it runs.
    ///
    /// # Errors
    /// When its script cannot be run.
    pub async fn is_up(&self, system: &System) -> Result<bool, String> {
        let (code, _) = self.script("status", &["--quiet"], &variant(system), OTHER_LIMIT).await?;
        match code {
            0 => Ok(true),
            3 => Ok(false),
            _ => Err(format!(
                "a part of the bed {0} does not run, a fault is in force, or what stood for hardware is gone: testbeds/{0}/down, \
                 and again",
                self.name
            )),
        }
    }

    /// Why this machine cannot be a variant; `None` where it can, or where its bed has no script for that.
    pub async fn cannot_be(&self, system: &System) -> Option<String> {
        if !self.directory.join("possible").is_file() {
            return None;
        }
        self.done("possible", &[], &variant(system), OTHER_LIMIT).await.err()
    }

    /// Starts it in a variant.
    ///
    /// # Errors
    /// What its script says.
    pub async fn up(&self, system: &System) -> Result<(), String> {
        self.done("up", &[], &variant(system), UP_LIMIT).await.map(drop)
    }

    /// Stops it; what a variant had written goes, because the next start may be of another.
    ///
    /// # Errors
    /// What its script says.
    pub async fn down(&self, system: &System) -> Result<(), String> {
        let arguments: &[&str] = if wipes(system) { &["--wipe"] } else { &[] };
        self.done("down", arguments, &variant(system), OTHER_LIMIT).await.map(drop)
    }

    /// Writes rows without objects into the databases of containers.
    ///
    /// # Errors
    /// When the bed has no script for it, or what the script says.
    pub async fn prefill(&self, system: &System, rows: &Rows) -> Result<(), String> {
        if !self.directory.join("prefill").is_file() {
            return Err(format!(
                "the test bed {} cannot write rows without objects: it has no script prefill",
                self.name
            ));
        }
        let (containers, each) = (rows.containers.to_string(), rows.rows.to_string());
        let arguments = [rows.prefix.as_str(), &containers, &each];
        self.done("prefill", &arguments, &variant(system), PREFILL_LIMIT).await.map(drop)
    }

    /// Version, processes and variant, a line each.
    ///
    /// # Errors
    /// What its script says.
    pub async fn found(&self, system: &System) -> Result<Vec<String>, String> {
        let said = self.done("status", &[], &variant(system), OTHER_LIMIT).await?;
        let start = format!("{}: ", self.instance(system));
        let mut lines: Vec<String> = said
            .lines()
            .filter_map(|line| line.strip_prefix(&start))
            .map(|line| line.trim().to_owned())
            .collect();
        let variant: Vec<String> =
            system.environment.iter().map(|(key, value)| format!("{key}={value}")).collect();
        lines.push(format!(
            "test bed {}{}",
            self.name,
            if variant.is_empty() {
                ", default variant".to_owned()
            } else {
                format!(": {}", variant.join(" "))
            }
        ));
        Ok(lines)
    }

    /// The name of its data: a variant may have its own.
    fn instance(&self, system: &System) -> String {
        instance(&self.name, system)
    }

    /// The disk below a directory of the bed's data, as `major,minor`.
    ///
    /// # Errors
    /// When the directory is not there.
    pub fn disk_below(&self, system: &System, directory: &str) -> Result<String, String> {
        let path = data_of_beds()?.join(self.instance(system)).join(directory);
        let about = std::fs::metadata(&path).map_err(|cause| format!("{}: {cause}", path.display()))?;
        let number = about.dev();
        Ok(format!("{},{}", libc::major(number), libc::minor(number)))
    }

    /// Why the disk below the bed's data has no room for so many bytes more.
    #[must_use]
    pub fn lacks_room(&self, system: &System, bytes: u64) -> Option<String> {
        // The bed's folder is made by its first start.
        let beds = data_of_beds().ok()?;
        let data = beds.join(self.instance(system));
        let why = room::lacks(if data.is_dir() { &data } else { &beds }, bytes)?;
        Some(format!("{why}; testbeds/{}/down --wipe gives back what earlier cells left there", self.name))
    }

    async fn done(
        &self,
        script: &str,
        arguments: &[&str],
        variant: &[(&str, &str)],
        limit: Duration,
    ) -> Result<String, String> {
        let (code, said) = self.script(script, arguments, variant, limit).await?;
        if code == 0 {
            return Ok(said);
        }
        let words: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let last = words.last().copied().unwrap_or("it said nothing");
        Err(format!("testbeds/{}/{script} ended with {code}: {last}", self.name))
    }

    /// Runs a script. Its output goes to a file, because what it starts may hold on to a pipe.
    async fn script(
        &self,
        script: &str,
        arguments: &[&str],
        variant: &[(&str, &str)],
        limit: Duration,
    ) -> Result<(i32, String), String> {
        let path = self.directory.join(script);
        let failed = |cause: std::io::Error| format!("{}: {cause}", path.display());
        let (output, errors) = (scratch(&self.name).map_err(failed)?, scratch(&self.name).map_err(failed)?);
        let child = Command::new(&path)
            .args(arguments)
            .envs(variant.iter().copied())
            .stdin(Stdio::null())
            .stdout(output.try_clone().map_err(failed)?)
            .stderr(errors.try_clone().map_err(failed)?)
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(failed)?;
        let mut running = Running(child);
        let Ok(status) = tokio::time::timeout(limit, running.0.wait()).await else {
            drop(running);
            return Err(format!("testbeds/{}/{script} did not end within {} s", self.name, limit.as_secs()));
        };
        let mut said = String::new();
        for file in [output, errors] {
            said.push_str(&text_of(file).map_err(failed)?);
        }
        Ok((status.map_err(failed)?.code().unwrap_or(-1), said))
    }
}

/// A script that runs. One that is not waited for any more is asked to end, with the programs that it waits for itself,
/// and ended if it does not; the servers of a bed have sessions of their own and stay.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // None of one that was waited for.
        let Some(id) = self.0.id() else { return };
        let Ok(group) = libc::pid_t::try_from(id) else { return };
        // SAFETY: a signal to the group of a process that was started here and not waited for: it still has its number.
        unsafe { libc::killpg(group, libc::SIGTERM) };
        let until = Instant::now() + TO_END;
        while !has_ended(id) && Instant::now() < until {
            std::thread::sleep(LOOK_EVERY);
        }
        // SAFETY: as before.
        unsafe { libc::killpg(group, libc::SIGKILL) };
    }
}

/// Whether a child has ended, which stays to be waited for.
fn has_ended(id: u32) -> bool {
    let how = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: the kernel fills the zeroed structure, whose number of a process stays 0 as long as the child runs.
    unsafe {
        let mut about: libc::siginfo_t = std::mem::zeroed();
        libc::waitid(libc::P_PID, id, &raw mut about, how) != 0 || about.si_pid() != 0
    }
}

/// Whether the data of a system go with it when its bed is stopped.
#[must_use]
pub fn wipes(system: &System) -> bool {
    !system.environment.is_empty()
}

/// The name of the data of a bed in the variant of a system, such as `ceph-journal`.
fn instance(bed: &str, system: &System) -> String {
    let knob = format!("{}_BED", bed.to_ascii_uppercase().replace('-', "_"));
    match system.environment.get(&knob) {
        Some(own) if !own.0.is_empty() => format!("{bed}-{}", own.0),
        _ => bed.to_owned(),
    }
}

/// Where the bed of a system has its data, whether they are there or not; `None` without a bed.
#[must_use]
pub fn data_of(system: &System) -> Option<PathBuf> {
    Some(data_of_beds().ok()?.join(instance(system.bed.as_deref()?, system)))
}

/// How much room there is for the data of test beds, a line.
pub fn free_room() -> Option<String> {
    let beds = data_of_beds().ok()?;
    #[expect(clippy::cast_precision_loss, reason = "a size for people")]
    let free = room::free_bytes(&beds)? as f64;
    Some(format!("test beds have {} free in {}", crate::units::bytes(free), beds.display()))
}

fn variant(system: &System) -> Vec<(&str, &str)> {
    system.environment.iter().map(|(key, value)| (key.as_str(), value.0.as_str())).collect()
}

/// A file without a name.
fn scratch(name: &str) -> std::io::Result<std::fs::File> {
    let path =
        std::env::temp_dir().join(format!("cosmark-study-{name}-{}-{:x}", std::process::id(), unique()));
    let file = std::fs::OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

/// A number that nobody else draws.
#[must_use]
pub fn unique() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}

fn text_of(mut file: std::fs::File) -> std::io::Result<String> {
    use std::io::{Read, Seek};
    file.rewind()?;
    let mut bytes = Vec::new();
    file.take(MOST_OUTPUT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn the_data_of_a_variant_lie_beside_those_of_its_bed() {
        let system = |environment: serde_json::Value| -> System {
            let text = serde_json::json!({"name": "one", "bed": "ceph", "environment": environment});
            serde_json::from_value(text).unwrap()
        };
        let name = |environment| data_of(&system(environment)).unwrap().file_name().unwrap().to_owned();
        assert_eq!(name(serde_json::json!({})), "ceph");
        assert_eq!(name(serde_json::json!({"CEPH_BED": "", "CEPH_STORE": "filestore"})), "ceph");
        assert_eq!(name(serde_json::json!({"CEPH_BED": "journal"})), "ceph-journal");
        // The knob of another bed says nothing of this one.
        assert_eq!(name(serde_json::json!({"SWIFT_BED": "ec"})), "ceph");
        let without: System = serde_json::from_value(serde_json::json!({"name": "own"})).unwrap();
        assert_eq!(data_of(&without), None);
    }
    #[tokio::test]
    async fn a_script_that_nobody_waits_for_ends_in_order_and_takes_what_it_waits_for_with_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let place = tempfile::tempdir().unwrap();
        let (bed, number) = (place.path().join("one"), place.path().join("number"));
        std::fs::create_dir(&bed).unwrap();
        let shown = place.path().display();
        let status = format!(
            "#!/bin/sh\ntrap ': > {shown}/ended; exit 1' TERM\nsleep 600 &\necho $! > {shown}/part\nmv {shown}/part \
             {shown}/number\nwait\n"
        );
        for (name, script) in [("up", "#!/bin/sh\n"), ("status", &status)] {
            std::fs::write(bed.join(name), script).unwrap();
            std::fs::set_permissions(bed.join(name), std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let system: System = serde_json::from_value(serde_json::json!({"name": "s", "bed": "one"})).unwrap();
        let bed = Bed::of(place.path(), &system).unwrap().unwrap();
        let mut asked = Box::pin(bed.is_up(&system));
        while !number.exists() {
            drop(tokio::time::timeout(Duration::from_millis(50), &mut asked).await);
        }
        drop(asked);
        assert!(place.path().join("ended").exists());
        let number = std::fs::read_to_string(&number).unwrap();
        let stat = || std::fs::read_to_string(format!("/proc/{}/stat", number.trim()));
        let until = Instant::now() + Duration::from_secs(60);
        while stat().is_ok_and(|stat| !stat.contains(") Z ")) && Instant::now() < until {
            tokio::time::sleep(LOOK_EVERY).await;
        }
        assert!(!stat().is_ok_and(|stat| !stat.contains(") Z ")));
    }
}
