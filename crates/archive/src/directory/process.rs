//! Who writes a run, and whether it still does. Source: proc(5), `/proc/<pid>/stat`.

use std::fs;

use crate::ProcessRecord;

/// This process.
pub fn this_process() -> ProcessRecord {
    let pid = std::process::id();
    ProcessRecord { pid, hostname: hostname(), started_ticks: started_ticks(pid), boot_id: boot_id() }
}

/// True when this very process, and not one before it, is meant.
#[must_use]
pub fn is_this_process(process: &ProcessRecord) -> bool {
    *process == this_process()
}

/// False when the process is certainly gone; true when it runs, or when this machine cannot tell.
pub fn may_be_alive(process: &ProcessRecord) -> bool {
    let (Some(started), Some(boot)) = (process.started_ticks, &process.boot_id) else { return true };
    if hostname() != process.hostname {
        return true;
    }
    let Some(now) = boot_id() else { return true };
    // Another boot of the same machine: whatever ran before is gone.
    now == *boot && started_ticks(process.pid) == Some(started)
}

/// True also where this machine cannot tell.
pub fn is_there(pid: u32) -> bool {
    let processes = std::path::Path::new("/proc");
    processes.join(pid.to_string()).exists() || !processes.join("self").exists()
}

/// The machine's name, as the kernel says.
fn hostname() -> Option<String> {
    fs::read_to_string("/proc/sys/kernel/hostname").ok().map(|name| name.trim().to_owned())
}

fn boot_id() -> Option<String> {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").ok().map(|id| id.trim().to_owned())
}

fn started_ticks(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Field 2 is the program's name in parentheses and may hold blanks and parentheses itself; field 3 is the state.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    if matches!(fields.next(), Some("Z" | "X")) {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_more_than_its_id() {
        let me = this_process();
        assert!(me.started_ticks.is_some() && me.boot_id.is_some() && me.hostname.is_some());
        assert!(may_be_alive(&me));
        let recycled = ProcessRecord { started_ticks: me.started_ticks.map(|ticks| ticks + 1), ..me.clone() };
        assert!(!may_be_alive(&recycled));
        let before_reboot = ProcessRecord { boot_id: Some("another".into()), ..me };
        assert!(!may_be_alive(&before_reboot));
    }

    #[test]
    fn another_machine_is_not_judged_from_here() {
        let gone = ProcessRecord { pid: u32::MAX, started_ticks: Some(1), ..this_process() };
        assert!(!may_be_alive(&gone));
        let elsewhere = ProcessRecord { hostname: Some("elsewhere.example".into()), ..gone };
        assert!(may_be_alive(&elsewhere));
    }
}
