//! Cells that are jobs of fio: on a file of this machine's disk, or on an image of Ceph through librbd. The file or image is
//! written whole before it is measured: what was never written reads as zeros at any speed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use cosmark_archive::FioJobRecord;
use cosmark_archive::fio::{Course, FioJob, FioOutput};
use cosmark_nodes::raw::shell::{Shell, quoted};
use cosmark_study::design::{Order, product, seconds};
use cosmark_study::journal::{Step, digest};
use cosmark_study::spec::{Block, FioTemplate, System, Text, Values};
use cosmark_study::template::fill;

use crate::host;
use crate::study::bed::data_of;

/// Name of the pool in which images are made.
const POOL: &str = "cosmark-study";
/// Name of the job, and of the run's stage and work.
const JOB: &str = "cell";
/// Before the log of rates in what is printed.
const LOG_MARK: &str = "=== rates";
/// A device that fills slower is given up.
const SLOWEST_BYTES_PER_S: u64 = 2 << 20;

/// What no other study has, also none of another machine that shares the disk or the Ceph.
fn mark_of(study: &Path) -> String {
    let place = std::fs::canonicalize(study).unwrap_or_else(|_| study.to_owned());
    digest(&format!("{} {}", host::record().hostname, place.display()))
}

/// Name of the file of the study in a directory.
fn file_of(study: &Path) -> String {
    format!(".cosmark-study-fio-{}.tmp", mark_of(study))
}

/// Name of the image of the study in the pool.
fn image_of(study: &Path) -> String {
    format!("cosmark-study-{}", mark_of(study))
}

/// A file as fio leaves it: a link, or whatever else has its name, is somebody else's.
fn is_left(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|found| found.is_file())
}

/// Removes the file that a killed call of the study left: from its directory, and from those that calls of its journal had as
/// `--disk`. Whoever calls holds the journal, so that nobody uses the file. Gives those that are gone.
pub fn remove_left(study: &Path, steps: &[Step]) -> Vec<PathBuf> {
    let file = file_of(study);
    let calls = steps.iter().filter_map(|step| match step {
        Step::Called { call } => Some(call),
        _ => None,
    });
    let disks = calls.filter_map(|call| Some(Path::new(&call.directory).join(disk_of(&call.arguments)?)));
    let places: BTreeSet<PathBuf> = std::iter::once(study.to_owned()).chain(disks).collect();
    let left = places.into_iter().map(|place| place.join(&file)).filter(|path| is_left(path));
    left.filter(|path| std::fs::remove_file(path).is_ok()).collect()
}

/// The directory that a call of `cosmark study` measured.
fn disk_of(arguments: &[String]) -> Option<&str> {
    let at = arguments.iter().position(|one| one == "--disk" || one.starts_with("--disk="))?;
    let own = arguments.get(at)?.strip_prefix("--disk=");
    own.or_else(|| arguments.get(at + 1).map(String::as_str))
}

/// Where fio reads and writes.
pub struct Device {
    /// Directory of the file.
    pub directory: PathBuf,
    /// Name of the file.
    file: String,
    /// Name of the image.
    image: String,
    /// Configuration of Ceph and the keyring of a user that may make pools.
    pub ceph: Option<(PathBuf, PathBuf)>,
    /// Systems whose file or image was made since they are up, by name, and how many bytes of it are written; those that share
    /// a bed have one each.
    filled: BTreeMap<String, (System, u64)>,
}

/// A job, filled in.
struct Job {
    rw: String,
    bs: u64,
    depth: u64,
    mix: Option<u8>,
    block: String,
    bytes: u64,
    ramp_s: f64,
    run_s: f64,
}

const PATTERNS: [&str; 6] = ["read", "write", "rw", "randread", "randwrite", "randrw"];

impl Job {
    fn of(template: &FioTemplate, values: &Values) -> Result<Self, String> {
        let mut all = values.clone();
        let mut put = |name: &str, text: &Text| {
            fill(&text.0, values).map(|text| drop(all.insert(format!("fio.{name}"), Text(text))))
        };
        put("bs", &template.bs)?;
        put("size", &template.size)?;
        put("iodepth", &template.iodepth)?;
        put("runtime", &template.runtime)?;
        for (name, text) in [("rampup", &template.rampup), ("mix", &template.rwmixread)] {
            if let Some(text) = text {
                put(name, text)?;
            }
        }
        let number = |name: &str| product(&[format!("fio.{name}")], &all);
        let rw = fill(&template.rw.0, values)?;
        if !PATTERNS.contains(&rw.as_str()) {
            return Err(format!("rw: {rw} is none of {}", PATTERNS.join(", ")));
        }
        let mix = template.rwmixread.is_some().then(|| number("mix")).transpose()?;
        let mix = mix.map(|percent| u8::try_from(percent).unwrap_or(u8::MAX));
        let job = Self {
            rw,
            bs: number("bs")?,
            depth: number("iodepth")?,
            mix,
            block: fill(&template.bs.0, values)?,
            bytes: number("size")?,
            ramp_s: seconds("fio.rampup", &all)?,
            run_s: seconds("fio.runtime", &all)?,
        };
        let good = (512..=64 << 20).contains(&job.bs)
            && (1..=1024).contains(&job.depth)
            && job.mix.unwrap_or(0) <= 100
            && (1 << 20..=1 << 40).contains(&job.bytes)
            && (1.0..=86_400.0).contains(&job.run_s)
            && (0.0..=86_400.0).contains(&job.ramp_s);
        if good {
            Ok(job)
        } else {
            Err("fio: bs is 512B to 64MiB, iodepth 1 to 1024, rwmixread 0 to 100, size 1MiB to 1TiB, runtime 1s to 24h".to_owned())
        }
    }

    /// What it is to do, before it does.
    fn planned(&self, engine: &str, target: String) -> FioJob {
        let facts = FioJobRecord {
            stage: JOB.to_owned(),
            work: JOB.to_owned(),
            engine: engine.to_owned(),
            target,
            pattern: self.rw.clone(),
            block: Some(self.block.clone()),
            depth: u32::try_from(self.depth).unwrap_or(1),
            direct: Some(true),
            size_bytes: Some(self.bytes),
            runtime_s: Some(self.run_s.round()),
            rampup_s: self.ramp_s.round(),
            ..FioJobRecord::default()
        };
        FioJob::planned(facts, self.bs, self.mix)
    }

    fn limit(&self) -> Duration {
        Duration::from_secs_f64(self.ramp_s + self.run_s + 120.0)
    }
}

/// Looks whether jobs of these systems can be run at all, before anything is begun.
///
/// # Errors
/// What is missing, and what installs it.
pub fn check(systems: &[&System], ceph: Option<&(PathBuf, PathBuf)>) -> Result<(), String> {
    for system in systems {
        let (engine, package) = match system.block {
            Some(Block::Rbd) => ("rbd", "apt-get install fio librbd1"),
            _ => ("libaio", "apt-get install fio"),
        };
        let name = &system.name;
        // A bed installs what it needs, with it the library of fio's engine, and writes its configuration when it starts.
        let by_bed = system.block == Some(Block::Rbd) && system.bed.is_some();
        match answers("fio", &format!("--enghelp={engine}")) {
            None => {
                return Err(format!("{name} is measured by fio, which is not there: apt-get install fio"));
            }
            Some(false) if by_bed => {}
            Some(false) => return Err(format!("fio has no engine {engine}, which {name} needs: {package}")),
            Some(true) => {}
        }
        if system.block != Some(Block::Rbd) || by_bed {
            continue;
        }
        if let Some(missing) = ["rbd", "ceph"].iter().find(|program| answers(program, "--version").is_none())
        {
            return Err(format!("{name} needs {missing}, which is not there: apt-get install ceph-common"));
        }
        let is_known = ceph.is_some_and(|(conf, keyring)| conf.is_file() && keyring.is_file());
        if !is_known {
            return Err(format!(
                "{name} needs a Ceph: CEPH_CONF and CEPH_KEYRING of a user that may make pools"
            ));
        }
    }
    Ok(())
}

/// Whether a program ends well; `None` where it is not there.
fn answers(program: &str, argument: &str) -> Option<bool> {
    let mut command = Command::new(program);
    let quiet = command.arg(argument).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().ok().map(|status| status.success())
}

/// Configuration and key of a variant of the bed that has data of its own; `None` for any other system.
fn variant_of_the_bed(system: &System) -> Option<(PathBuf, PathBuf)> {
    if !system.environment.contains_key("CEPH_BED") {
        return None;
    }
    let data = data_of(system)?;
    Some((data.join("ceph.conf"), data.join("keys/client.admin")))
}

/// Whether the file or image of a system lies in the data of its bed.
fn is_of_the_bed(system: &System) -> bool {
    match system.block {
        Some(Block::Rbd) => variant_of_the_bed(system).is_some(),
        _ => system.bed.is_some() && system.place.is_some(),
    }
}

impl Device {
    /// For the study in a directory: on a directory, and a Ceph if one is known.
    #[must_use]
    pub fn new(study: &Path, directory: PathBuf, ceph: Option<(PathBuf, PathBuf)>) -> Self {
        Self { directory, file: file_of(study), image: image_of(study), ceph, filled: BTreeMap::new() }
    }

    /// What was written may be gone.
    pub fn forget(&mut self) {
        self.filled.clear();
    }

    /// The job of a cell as it will be run.
    ///
    /// # Errors
    /// What of it cannot be.
    pub fn planned(&self, order: &Order<'_>) -> Result<FioJob, String> {
        let template = order.design.spec.fio.as_ref().ok_or("this study has no job of fio")?;
        let system = &order.design.spec.systems[order.cell.system];
        let job = Job::of(template, &order.cell.values)?;
        Ok(match system.block {
            Some(Block::Rbd) => job.planned("rbd", format!("{POOL}/{}", self.image)),
            _ => job.planned("libaio", self.place(system)?.join(&self.file).display().to_string()),
        })
    }

    /// Makes the file or image of a cell and writes it whole, where it is not there yet.
    ///
    /// # Errors
    /// What fio, or making its file, said.
    pub async fn prepare(&mut self, order: &Order<'_>) -> Result<(), String> {
        let template = order.design.spec.fio.as_ref().ok_or("this study has no job of fio")?;
        let system = &order.design.spec.systems[order.cell.system];
        let job = Job::of(template, &order.cell.values)?;
        let engine = self.engine(system)?;
        if self.filled.get(&system.name).is_none_or(|(_, bytes)| *bytes != job.bytes) {
            // From here on there is something to remove, also where this is cut off.
            self.filled.insert(system.name.clone(), (system.clone(), 0));
            self.make(system, &engine, &job).await?;
            self.filled.insert(system.name.clone(), (system.clone(), job.bytes));
        }
        Ok(())
    }

    /// Runs the job of a cell; gives what fio printed, and its rates over time.
    ///
    /// # Errors
    /// What fio said.
    pub async fn run(&self, order: &Order<'_>) -> Result<(FioOutput, Option<Course>), String> {
        let template = order.design.spec.fio.as_ref().ok_or("this study has no job of fio")?;
        let system = &order.design.spec.systems[order.cell.system];
        let job = Job::of(template, &order.cell.values)?;
        let engine = self.engine(system)?;
        let mix = job.mix.map_or_else(String::new, |mix| format!(" --rwmixread={mix}"));
        let script = format!(
            "{engine}logs=$(mktemp -d) || exit 94\nclean() {{ rm -rf -- \"$logs\"; }}\n\
             run timeout -k 5 {limit} fio --name={JOB} --direct=1 --randrepeat=0 --refill_buffers=1 --eta=never \
             --output-format=json+ --write_iops_log=\"$logs/job\" --log_avg_msec=1000 --rw={rw} --bs={bs} \
             --iodepth={depth}{mix} --size={bytes} --time_based=1 --ramp_time={ramp}s --runtime={run}s $place || exit\n\
             printf '\\n%s\\n' '{LOG_MARK}'\ncat \"$logs\"/job_iops*.log 2>/dev/null || :\n",
            limit = job.limit().as_secs(),
            rw = job.rw,
            bs = job.bs,
            depth = job.depth,
            bytes = job.bytes,
            ramp = job.ramp_s.round(),
            run = job.run_s.round(),
        );
        let said = Shell::local().run(&script, job.limit() + Duration::from_secs(20)).await?;
        let (printed, log) = said.split_once(LOG_MARK).unwrap_or((said.as_str(), ""));
        let output = FioOutput::read(printed.trim()).map_err(|why| format!("fio's JSON: {why}"))?;
        // A course that cannot be read is none: the figures stand without it, and the verdict says that it is missing.
        let course = Course::read(log.trim()).ok().filter(|course| !course.steps().is_empty());
        Ok((output, course))
    }

    /// Where the file of a system lies: in a directory of its bed's data, or where the user has said.
    fn place(&self, system: &System) -> Result<PathBuf, String> {
        match &system.place {
            None => Ok(self.directory.clone()),
            Some(place) => {
                let data = data_of(system).ok_or("neither COSMARK_TESTBED_DIR nor HOME is set")?;
                Ok(data.join(place))
            }
        }
    }

    /// The beginning of a script: sets `place`.
    fn engine(&self, system: &System) -> Result<String, String> {
        let there =
            "command -v fio >/dev/null || { echo 'fio is not there: apt-get install fio' >&2; exit 90; }\n";
        if system.block == Some(Block::File) {
            let directory = quoted(&self.place(system)?.display().to_string());
            return Ok(format!(
                "{there}cd -- {directory} || exit 91\nplace='--ioengine=libaio --filename={file}'\n",
                file = self.file
            ));
        }
        let own = variant_of_the_bed(system);
        let (conf, keyring) = own.as_ref().or(self.ceph.as_ref()).ok_or_else(|| {
            format!(
                "{} needs a Ceph: its bed, or CEPH_CONF and CEPH_KEYRING of a user that may make pools",
                system.name
            )
        })?;
        let word = |path: &Path| quoted(&path.display().to_string());
        // fio's rbd engine reads its configuration from the environment alone.
        Ok(format!(
            "{there}command -v rbd >/dev/null || {{ echo 'rbd is not there: apt-get install ceph-common' >&2; exit 90; }}\n\
             export CEPH_CONF={conf}\nkeyring={keyring}\nexport CEPH_ARGS=\"--keyring $keyring --rbd_cache=false\"\n\
             place='--ioengine=rbd --clientname=admin --pool={POOL} --rbdname={image}'\n",
            image = self.image,
            conf = word(conf),
            keyring = word(keyring),
        ))
    }

    /// Makes the file or image and writes it whole.
    async fn make(&self, system: &System, engine: &str, job: &Job) -> Result<(), String> {
        let bytes = job.bytes;
        let image = if system.block == Some(Block::Rbd) {
            format!(
                "ask() {{ timeout -k 5 60 \"$@\" </dev/null >/dev/null; }}\n\
                 ask ceph osd pool get {POOL} size 2>/dev/null || {{ ask ceph osd pool create {POOL} 32 32 && ask rbd pool init {POOL}; }} || exit 92\n\
                 ask rbd info {POOL}/{image} 2>/dev/null && {{ ask rbd rm --no-progress {POOL}/{image} || exit 92; }}\n\
                 ask rbd create --size {bytes}B {POOL}/{image} || exit 92\n",
                image = self.image
            )
        } else {
            // Only a file of its own goes, and what fio opens was made here, by nobody else in between: one that is
            // smaller than its job fio removes, and makes it anew.
            format!(
                "if [ -h {file} ] || {{ [ -e {file} ] && [ ! -f {file} ]; }}; then\n\
                 echo 'something is in the way of {file}: move it' >&2; exit 92\nfi\n\
                 rm -f -- {file} || exit 92\nroom=$(df -Pk . | awk 'NR == 2 {{ print $4 }}')\n\
                 [ \"${{room:-0}}\" -ge {need} ] || {{ echo \"$room KiB are free there, {need} KiB are needed\" >&2; exit 92; }}\n\
                 (set -C; umask 077; : > {file}) || exit 92\n\
                 fallocate -l {bytes} -- {file} 2>/dev/null || truncate -s {bytes} -- {file} || exit 92\n",
                file = self.file,
                need = bytes / 1024 + (1 << 20)
            )
        };
        let limit = 60 + bytes / SLOWEST_BYTES_PER_S;
        let script = format!(
            "{engine}{image}run timeout -k 5 {limit} fio --name=fill --direct=1 --rw=write --bs=1M --iodepth=16 --refill_buffers=1 \
             --eta=never --size={bytes} $place >/dev/null\n"
        );
        Shell::local().run(&script, Duration::from_secs(limit + 200)).await.map(drop)
    }

    /// A system goes: what a call that was killed may have made in it is removed, too. An image in Ceph outlives its
    /// bed, as a file in the data of one that is not wiped does.
    pub fn adopt(&mut self, system: &System) {
        if system.block == Some(Block::Rbd) || (system.block == Some(Block::File) && system.place.is_some()) {
            self.filled.entry(system.name.clone()).or_insert_with(|| (system.clone(), 0));
        }
    }

    /// Removes what was made for the systems that are up; where their bed is about to be wiped, what goes with its data is left
    /// to that, for a slow disk may take minutes to delete it.
    ///
    /// # Errors
    /// When something stays; what can go goes in any case.
    pub async fn remove(&mut self, is_bed_wiped: bool) -> Result<(), String> {
        let mut all = Ok(());
        for (system, bytes) in std::mem::take(&mut self.filled).into_values() {
            if is_bed_wiped && is_of_the_bed(&system) {
                continue;
            }
            all = all.and(self.remove_of(&system, bytes).await);
        }
        all
    }

    async fn remove_of(&self, system: &System, bytes: u64) -> Result<(), String> {
        if system.block == Some(Block::File) {
            let path = match self.place(system) {
                // It is not known that there ever was one.
                Err(_) if bytes == 0 => return Ok(()),
                place => place?.join(&self.file),
            };
            if !is_left(&path) {
                return Ok(());
            }
            return match std::fs::remove_file(&path) {
                Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => {
                    Err(format!("{}: {cause}", self.file))
                }
                _ => Ok(()),
            };
        }
        let engine = match self.engine(system) {
            // It is not known that there ever was one.
            Err(_) if bytes == 0 => return Ok(()),
            engine => engine?,
        };
        let script = format!(
            "{engine}timeout -k 5 60 rbd rm --no-progress {POOL}/{} </dev/null >/dev/null\n",
            self.image
        );
        let done = Shell::local().run(&script, Duration::from_secs(90)).await.map(drop);
        // Where making it was cut off there may be no image.
        if bytes == 0 { Ok(()) } else { done }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use cosmark_study::journal::Call;

    #[test]
    fn what_goes_with_a_bed_that_is_wiped_is_left_to_that_and_nothing_else() {
        let system = |more: serde_json::Value| -> System {
            let mut text =
                serde_json::json!({"name": "one", "bed": "ceph", "environment": {"CEPH_BED": "slow"}});
            text.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            serde_json::from_value(text).unwrap()
        };
        let all = [
            (serde_json::json!({"block": "file", "place": "images"}), true),
            (serde_json::json!({"block": "rbd"}), true),
            // On the disk of the user, and on a Ceph that the environment names.
            (serde_json::json!({"block": "file"}), false),
            (serde_json::json!({"block": "rbd", "environment": {"CEPH_STORE": "xfs"}}), false),
        ];
        let study = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for (more, goes) in all {
            let system = system(more);
            assert_eq!(is_of_the_bed(&system), goes, "{system:?}");
            if system.block != Some(Block::File) || system.place.is_some() {
                continue;
            }
            let mut device = Device::new(study.path(), study.path().to_owned(), None);
            let file = study.path().join(file_of(study.path()));
            std::fs::write(&file, "x").unwrap();
            device.filled.insert(system.name.clone(), (system, 1));
            runtime.block_on(device.remove(true)).unwrap();
            assert!(!file.exists(), "a bed's wipe does not reach it");
        }
    }

    #[test]
    fn a_file_that_a_killed_call_left_goes_and_no_other_does() {
        let home = tempfile::tempdir().unwrap();
        let [study, other, disk] = ["study", "other", "disk"].map(|name| home.path().join(name));
        for place in [&study, &other, &disk] {
            std::fs::create_dir(place).unwrap();
        }
        let (own, foreign) = (file_of(&study), file_of(&other));
        assert_ne!(own, foreign, "two studies on one disk");
        let call = |arguments: &[&str]| {
            let arguments = arguments.iter().map(|one| (*one).to_owned()).collect();
            let directory = home.path().display().to_string();
            Step::Called { call: Call { arguments, directory, ..Call::default() } }
        };
        let left = [study.join(&own), disk.join(&own), disk.join(&foreign), disk.join("journal")];
        let plant = || left.iter().for_each(|path| std::fs::write(path, "x").unwrap());
        plant();
        assert_eq!(remove_left(&study, &[]), [study.join(&own)], "what no call names is not looked at");
        plant();
        for given in [&["study", "x", "--disk", "disk"][..], &["study", "--disk=disk", "x"], &["--disk"]] {
            plant();
            let gone = remove_left(&study, &[call(given)]);
            assert_eq!(gone.len(), if given.len() > 1 { 2 } else { 1 }, "{given:?}: {gone:?}");
            assert!(left[2..].iter().all(|path| path.is_file()), "{given:?}");
        }
        // A link is somebody else's.
        std::fs::remove_file(&left[1]).unwrap();
        std::os::unix::fs::symlink(&left[3], &left[1]).unwrap();
        remove_left(&study, &[call(&["--disk", "disk"])]);
        assert!(left[1].is_symlink() && left[3].is_file());
    }

    #[tokio::test]
    async fn what_stands_in_the_way_of_its_file_is_neither_written_nor_removed() {
        let home = tempfile::tempdir().unwrap();
        let (study, precious) = (home.path().join("study"), home.path().join("precious"));
        std::fs::create_dir(&study).unwrap();
        std::fs::write(&precious, "precious").unwrap();
        let system: System =
            serde_json::from_value(serde_json::json!({"name": "one", "block": "file"})).unwrap();
        let mut device = Device::new(&study, study.clone(), None);
        let path = study.join(&device.file);
        let engine = format!("cd -- {} || exit 91\nplace=\n", quoted(&study.display().to_string()));
        let job = Job {
            rw: "read".to_owned(),
            bs: 4096,
            depth: 1,
            mix: None,
            block: "4k".to_owned(),
            bytes: 1 << 20,
            ramp_s: 0.0,
            run_s: 1.0,
        };
        type Plant = fn(&Path, &Path);
        let plants: [(&str, Plant); 2] = [
            ("a link", |path, precious| std::os::unix::fs::symlink(precious, path).unwrap()),
            ("a directory", |path, _| std::fs::create_dir(path).unwrap()),
        ];
        for (what, plant) in plants {
            plant(&path, &precious);
            let why = device.make(&system, &engine, &job).await.unwrap_err();
            assert!(why.starts_with("something is in the way of .cosmark-study-fio-"), "{what}: {why}");
            // As a cell leaves it that could not begin.
            device.filled.insert("one".to_owned(), (system.clone(), 0));
            device.remove(false).await.unwrap();
            assert!(std::fs::symlink_metadata(&path).is_ok(), "{what} is gone");
            std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir(&path)).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&precious).unwrap(), "precious");
    }

    #[tokio::test]
    async fn an_image_that_a_killed_call_may_have_left_is_looked_for_and_is_no_trouble_where_it_is_not() {
        let home = tempfile::tempdir().unwrap();
        let system = |block: &str| -> System {
            serde_json::from_value(serde_json::json!({"name": block, "block": block})).unwrap()
        };
        let mut device = Device::new(home.path(), home.path().to_owned(), None);
        device.adopt(&system("file"));
        assert!(device.filled.is_empty(), "a file is found by the journal");
        device.adopt(&system("rbd"));
        assert_eq!(device.filled.get("rbd").map(|(_, bytes)| *bytes), Some(0));
        assert_ne!(image_of(home.path()), image_of(&home.path().join("other")), "two studies on one Ceph");
        let mut there = system("file");
        (there.name, there.place) = ("there".to_owned(), Some("images".to_owned()));
        device.adopt(&there);
        assert!(device.filled.remove("there").is_some(), "no journal names the data of a bed");
        // Without a Ceph nothing can be removed, which matters only where something was made.
        assert_eq!(device.remove(false).await, Ok(()));
        device.filled.insert("rbd".to_owned(), (system("rbd"), 1 << 20));
        device.adopt(&system("rbd"));
        assert!(device.remove(false).await.is_err(), "what was made stays");
        assert!(device.filled.is_empty());
    }
}
