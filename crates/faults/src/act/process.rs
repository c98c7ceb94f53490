//! Processes of this machine. One is known by its number and when it started, so that no other one is hit that got its number
//! since. Source: proc(5).

use std::collections::BTreeMap;
use std::fs;

use cosmark_workload::model::faults::{FaultProcess, FaultProcesses};

/// More processes are not touched: the name is too common.
const MOST: usize = 200;

/// A process: number, and start in clock ticks since boot.
pub type Process = (u32, u64);

/// Who is meant, with those that they have started where that is asked for; never nobody.
///
/// # Errors
/// When there is none, there are too many, or it would be this process or the system's first one.
pub fn find(who: &FaultProcesses) -> Result<Vec<Process>, String> {
    let of_file = match &who.process {
        FaultProcess::Named(_) => None,
        FaultProcess::PidFile(file) => {
            Some(fs::read_to_string(file).map_err(|cause| format!("{file}: {cause}"))?)
        }
    };
    let all: Vec<Seen> = numbers()?.filter_map(look_closely).collect();
    choose(who, of_file.as_deref(), &all, &[std::process::id()])
}

/// Who is meant of those that were seen on a machine; `of_file` is what stands in the file with their number, `spared` are those that
/// must not be hit.
///
/// # Errors
/// As [`find`].
pub fn choose(
    who: &FaultProcesses,
    of_file: Option<&str>,
    all: &[Seen],
    spared: &[u32],
) -> Result<Vec<Process>, String> {
    let mut found = match &who.process {
        FaultProcess::Named(name) => {
            let found: Vec<Process> =
                all.iter().filter(|one| one.is_called(name)).map(Seen::process).collect();
            if found.is_empty() { Err(format!("no process is called {name}")) } else { Ok(found) }?
        }
        FaultProcess::PidFile(file) => {
            let number = of_file.unwrap_or_default().split_whitespace().next().unwrap_or_default().parse();
            let number: u32 =
                number.map_err(|_| format!("{file} does not begin with the number of a process"))?;
            let found = all.iter().find(|one| one.number == number);
            vec![found.ok_or_else(|| format!("the process {number} of {file} does not run"))?.process()]
        }
    };
    if who.children {
        add_children(&mut found, all);
    }
    if found.len() > MOST {
        return Err(format!(
            "{} processes are called {}: too many to be meant",
            found.len(),
            who.process.text()
        ));
    }
    if found.iter().any(|process| spared.contains(&process.0) || process.0 <= 1) {
        return Err(
            "it would hit cosmark itself, the session over which it is healed, or the system's first process"
                .to_owned(),
        );
    }
    Ok(found)
}

fn numbers() -> Result<impl Iterator<Item = u32>, String> {
    let entries = fs::read_dir("/proc").map_err(|cause| format!("/proc: {cause}"))?;
    Ok(entries.flatten().filter_map(|entry| entry.file_name().to_string_lossy().parse::<u32>().ok()))
}

/// Adds those that they have started, and what these have started, whoever it is.
fn add_children(found: &mut Vec<Process>, all: &[Seen]) {
    let mut of_parent: BTreeMap<u32, Vec<Process>> = BTreeMap::new();
    for one in all {
        of_parent.entry(one.parent).or_default().push(one.process());
    }
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        // Each number is one's child at most: what is taken out ends the walk.
        let children = of_parent.remove(&parent.0).unwrap_or_default();
        found.extend(children.into_iter().filter(|child| child.0 != parent.0));
        next += 1;
    }
    found.sort_unstable();
    found.dedup();
}

/// A process as its machine shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub number: u32,
    /// Of its state the kernel's letter.
    pub state: char,
    pub parent: u32,
    /// In clock ticks since boot.
    pub started: u64,
    /// Its command's name, of which the kernel keeps 15 bytes.
    pub short: String,
    /// The first word of its command line; empty where it has none.
    pub first: String,
}

impl Seen {
    /// From its line in `/proc/N/stat`; `None` when it is gone, but for its entry.
    pub fn of(line: &str) -> Option<Self> {
        let (head, rest) = line.rsplit_once(')')?;
        let (number, short) = head.split_once(" (")?;
        let mut fields = rest.split_whitespace();
        let state = fields.next()?.chars().next()?;
        let parent = fields.next()?.parse().ok()?;
        let started = fields.nth(17)?.parse().ok()?;
        let number = number.trim().parse().ok()?;
        let (short, first) = (short.to_owned(), String::new());
        (!matches!(state, 'Z' | 'X')).then_some(Self { number, state, parent, started, short, first })
    }

    pub fn process(&self) -> Process {
        (self.number, self.started)
    }

    /// By its command's name or the last part of its first word.
    fn is_called(&self, name: &str) -> bool {
        let last = self.first.rsplit('/').next().unwrap_or_default();
        last == name || (self.short == name && (name.len() < 15 || last.starts_with(name)))
    }
}

fn look(number: u32) -> Option<Seen> {
    Seen::of(&fs::read_to_string(format!("/proc/{number}/stat")).ok()?)
}

fn look_closely(number: u32) -> Option<Seen> {
    let line = fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
    let first = line.split(|byte| *byte == 0).next().unwrap_or_default();
    Some(Seen { first: String::from_utf8_lossy(first).into_owned(), ..look(number)? })
}

/// The one that has this number now.
pub fn running(number: u32) -> Option<Process> {
    look(number).map(|found| found.process())
}

/// The state of one that still is what it was.
pub fn state_of((number, started): Process) -> Option<char> {
    look(number).filter(|found| found.started == started).map(|found| found.state)
}

/// It stands still.
pub fn is_stopped(process: Process) -> bool {
    matches!(state_of(process), Some('T' | 't'))
}

/// For the lock that says who makes it fail.
pub fn key(process: Process) -> String {
    format!("process {} {}", process.0, process.1)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn who_is_meant_by_a_file_is_that_process_and_where_it_is_asked_for_what_it_has_started() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("x.pid");
        let mut parent = Command::new("sh")
            .args(["-c", "sleep 600 & sleep 600 & echo ready; wait"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = std::io::BufReader::new(parent.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut out, &mut line).unwrap();
        // As the records of the test beds are: the number is the first word.
        fs::write(&file, format!("{} 17 boot /bin/sh\n", parent.id())).unwrap();
        let who = |children| FaultProcesses {
            process: FaultProcess::PidFile(file.to_string_lossy().into_owned()),
            children,
        };
        let alone = find(&who(false)).unwrap();
        let all = find(&who(true)).unwrap();
        assert_eq!(alone.iter().map(|one| one.0).collect::<Vec<_>>(), [parent.id()]);
        assert_eq!(all.len(), 3, "{all:?}");
        assert!(all.contains(&alone[0]));
        for (number, _) in all {
            // SAFETY: a signal to a process that this test has started.
            unsafe { libc::kill(libc::pid_t::try_from(number).unwrap(), libc::SIGKILL) };
        }
        parent.wait().unwrap();
        let until = Instant::now() + Duration::from_secs(60);
        while state_of(alone[0]).is_some() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(find(&who(false)).unwrap_err().contains("does not run"));
        fs::write(&file, "none\n").unwrap();
        assert!(find(&who(false)).unwrap_err().contains("number of a process"));
        fs::write(&file, format!("{}\n", std::process::id())).unwrap();
        assert!(find(&who(false)).unwrap_err().contains("cosmark itself"));
    }
}
