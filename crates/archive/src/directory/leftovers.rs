//! Files under temporary names that a process left in the directory of a run when it was killed: nobody will ever give them their
//! place, nothing can be read of a table that was not closed, and a part of an operation log can be large.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::ProcessRecord;
use crate::directory::process::is_there;

/// What names a table that is not whole.
const TABLE: &str = ".parquet.tmp-";

/// A file that nobody has written for so long nobody gives its place any more, on whatever machine: one is written in moments.
const LEFT_AFTER: Duration = Duration::from_secs(600);

/// Removes what was left by `writer`, which is gone, and by other processes that are gone from this machine; of tables, which only
/// the writer of a run writes, all. For whoever alone goes on with the run in `dir`. What cannot be removed costs room and nothing
/// else.
pub fn remove(dir: &Path, writer: Option<&ProcessRecord>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let Some(pid) = pid_of(&name) else { continue };
        let is_of_writer = writer.is_some_and(|writer| writer.pid == pid) || name.contains(TABLE);
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_file && (is_of_writer || !is_there(pid) && is_old(&entry)) {
            drop(fs::remove_file(entry.path()));
        }
    }
}

fn is_old(entry: &fs::DirEntry) -> bool {
    let modified = entry.metadata().ok().and_then(|meta| meta.modified().ok());
    modified.and_then(|modified| modified.elapsed().ok()).is_some_and(|age| age >= LEFT_AFTER)
}

/// 7 of `.run.json.tmp-7-0` and of `.operations.part-00001.parquet.tmp-7`.
fn pid_of(name: &str) -> Option<u32> {
    let (_, of) = name.strip_prefix('.')?.rsplit_once(".tmp-")?;
    let (pid, number) = of.split_once('-').unwrap_or((of, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(pid) && is_number(number)).then(|| pid.parse().ok())?
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn only_temporary_files_of_processes_that_are_gone_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let own = std::process::id();
        // No process has so great a number.
        let kept = [
            format!(".run.json.tmp-{own}-3"),
            "run.json.tmp-4194999".to_owned(),
            ".run.json.tmp-4194999-".to_owned(),
            ".run.json.tmp-x".to_owned(),
            ".reserve".to_owned(),
        ];
        let table = format!(".operations.part-00001.parquet.tmp-{own}");
        let gone =
            [table.as_str(), ".nodes.parquet.tmp-4194999", ".run.json.tmp-4194999-0", ".a.tmp-4194999"];
        for name in kept.iter().map(String::as_str).chain(gone) {
            fs::write(dir.path().join(name), "").unwrap();
        }
        // Another machine may be writing one of a process that is not here.
        let (aged, fresh) = ([".run.json.tmp-4194999-0", ".a.tmp-4194999"], ".report.html.tmp-4194999-1");
        let long_ago = std::time::SystemTime::now() - LEFT_AFTER;
        for name in aged {
            File::options().write(true).open(dir.path().join(name)).unwrap().set_modified(long_ago).unwrap();
        }
        fs::write(dir.path().join(fresh), "").unwrap();
        let names = || {
            let mut names: Vec<String> = fs::read_dir(dir.path())
                .unwrap()
                .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
                .collect();
            names.sort();
            names
        };
        let mut expected = kept.to_vec();
        expected.push(fresh.to_owned());
        expected.sort();
        remove(dir.path(), None);
        assert_eq!(names(), expected);
        // Whoever wrote the run is gone, whoever has its number now.
        let writer = ProcessRecord { pid: own, ..ProcessRecord::default() };
        remove(dir.path(), Some(&writer));
        assert_eq!(names(), expected.iter().filter(|name| **name != kept[0]).cloned().collect::<Vec<_>>());
    }
}
