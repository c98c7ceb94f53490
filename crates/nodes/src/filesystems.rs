//! The file systems of a machine that hold what a store stores, and how full they are, whoever reads that. Which ones
//! these are, only a user can say.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, sync_channel};
use std::thread;
use std::time::Duration;

use crate::quantity as q;
use crate::reading::Reading;

/// One that is mounted.
#[derive(Debug, Clone, PartialEq)]
pub struct FileSystem {
    /// What it lies on; of one that has nothing, such as a tmpfs, a word.
    pub device: String,
    /// Where it is mounted.
    pub place: String,
    /// Its kind, as `xfs`; empty where the source does not say it.
    pub kind: String,
    /// Bytes that there is room for.
    pub size: f64,
    /// Bytes of them that are free, what is reserved for the administrator with them.
    pub free: f64,
}

/// The directories that a user names, each in its shortest form.
///
/// # Errors
/// For what is no directory, and what a shell could take for something else.
pub fn checked(directories: &[String]) -> Result<Vec<String>, String> {
    let short = |directory: &String| {
        let parts = || Path::new(directory).components();
        let is_one = directory.starts_with('/')
            && !directory.contains('\'')
            && !directory.chars().any(char::is_control)
            && !parts().any(|part| part == Component::ParentDir);
        let short = is_one.then(|| parts().collect::<PathBuf>());
        short.and_then(|short| short.to_str().map(str::to_owned)).ok_or_else(|| {
            format!("`{directory}` is no directory: give paths from / on, where `df` shows that something is mounted")
        })
    };
    directories.iter().map(short).collect()
}

/// Two that are looked at one after the other are one where so much of its size was written or freed meanwhile, at most.
const SAME_FREE: f64 = 0.001;

impl FileSystem {
    /// The pool of ZFS of which it is a part: these are named `pool/dataset`, and the first of a pool like the pool.
    fn pool(&self) -> Option<&str> {
        let is_name = |pool: &str| {
            pool.starts_with(|c: char| c.is_ascii_alphabetic()) && !pool.contains(['@', '=', ':'])
        };
        match self.device.split_once('/') {
            Some((pool, _)) if matches!(&*self.kind, "" | "zfs") && is_name(pool) => Some(pool),
            None if self.kind == "zfs" => Some(&self.device),
            _ => None,
        }
    }

    /// What a snapshot of ZFS shows is in the file system that it is of.
    fn is_snapshot(&self) -> bool {
        self.device.contains('@') && self.pool().is_some()
    }

    /// It says of itself what the file system says on which its upper directory lies.
    fn is_overlay(&self) -> bool {
        self.kind == "overlay" || self.kind.is_empty() && matches!(&*self.device, "overlay" | "overlayfs")
    }

    /// Takes another one of its pool in: each has what it holds, and what is free is free for both.
    fn take_in(&mut self, other: &Self, pool: &str) {
        let used = self.size - self.free + other.size - other.free;
        self.free = self.free.max(other.free);
        self.size = used + self.free;
        pool.clone_into(&mut self.place);
    }
}

/// Adds how large and how full the file systems are that are mounted at these directories or below. One that is mounted
/// twice counts once, and so does what those of one pool of ZFS have free together. `names`: what the source calls the two
/// numbers. Gives how many there are.
pub fn add(
    mounted: impl IntoIterator<Item = FileSystem>,
    directories: &[String],
    names: (&'static str, &'static str),
    reading: &mut Reading,
) -> usize {
    let is_one = |one: &FileSystem| {
        let has_numbers = one.size > 0.0 && one.size.is_finite() && one.free.is_finite();
        has_numbers && is_below(&one.place, directories) && !one.is_snapshot()
    };
    let within = |one: FileSystem| FileSystem { free: one.free.clamp(0.0, one.size), ..one };
    let counted = each_once(mounted.into_iter().filter(is_one).map(within).collect());
    for FileSystem { place, size, free, .. } in &counted {
        reading.add_named(&q::STORE_CAPACITY, place, names.0, *size);
        reading.add_named(&q::STORE_FREE, place, names.1, *free);
    }
    counted.len()
}

/// Each device once, each pool once, and overlays only where they lie on none of these.
fn each_once(all: Vec<FileSystem>) -> Vec<FileSystem> {
    let pools: BTreeSet<String> = all.iter().filter_map(FileSystem::pool).map(str::to_owned).collect();
    let (overlays, others): (Vec<_>, Vec<_>) = all.into_iter().partition(FileSystem::is_overlay);
    let mut rooms: BTreeSet<(u64, u64)> = others.iter().map(|one| in_order(one.size, one.free)).collect();
    let (mut seen, mut of_pool) = (BTreeSet::new(), BTreeMap::<String, usize>::new());
    let mut counted: Vec<FileSystem> = Vec::new();
    for one in others {
        // The first of a pool has its name, of whatever kind that is.
        let pool = one.pool().or_else(|| pools.get(&one.device).map(String::as_str)).map(str::to_owned);
        // What has no device of its own, such as a tmpfs, has the name of its kind there; what is a server's, `host:/path`.
        let is_device = one.device.starts_with('/') || one.device.contains(":/") || pool.is_some();
        let own = if is_device { one.device.clone() } else { one.place.clone() };
        if !seen.insert(own) {
            continue;
        }
        let Some(pool) = pool else {
            counted.push(one);
            continue;
        };
        match of_pool.get(&pool).and_then(|at| counted.get_mut(*at)) {
            Some(whole) => whole.take_in(&one, &pool),
            None => {
                of_pool.insert(pool, counted.len());
                counted.push(one);
            }
        }
    }
    for one in overlays {
        let near = SAME_FREE * one.size;
        let least = in_order(one.size, (one.free - near).max(0.0));
        if rooms.range(least..=in_order(one.size, one.free + near)).next().is_none() {
            rooms.insert(in_order(one.size, one.free));
            counted.push(one);
        }
    }
    counted
}

/// A size and what is free of it, in the order of these numbers: none of them is below 0.
fn in_order(size: f64, free: f64) -> (u64, u64) {
    (size.abs().to_bits(), free.abs().to_bits())
}

/// Why a machine of which file systems are wanted says nothing of any.
#[must_use]
pub fn none_of(directories: &[String]) -> String {
    format!(
        "no file system is mounted at or below {}: give `filesystems` as `df` shows where they are mounted there",
        directories.join(", ")
    )
}

/// Whether something that is mounted there is at one of these directories or below.
#[must_use]
pub fn is_below(place: &str, directories: &[String]) -> bool {
    directories.iter().any(|directory| Path::new(place).starts_with(directory))
}

/// The name under which what `df` says stands among files.
pub const DF: &str = "df";

/// A line of `df -kP`: what it lies on, kilobytes, how many are used and to be had, the share, where it is mounted.
#[must_use]
pub fn of_df(line: &str) -> Option<FileSystem> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<f64>().ok());
    // The first and the last of them may be of several words.
    let is_share =
        |at: &usize| words[*at].ends_with('%') && number(at - 3).is_some() && number(at - 2).is_some();
    let at = (4..words.len()).find(is_share)?;
    let (kilobytes, used) = (number(at - 3)?, number(at - 2)?);
    let (device, place) = (words[..at - 3].join(" "), words[at + 1..].join(" "));
    let (size, free) = (kilobytes * 1024.0, (kilobytes - used) * 1024.0);
    Some(FileSystem { device, place, kind: String::new(), size, free })
}

/// The file systems of this machine at and below some directories.
#[derive(Debug, Default)]
pub struct Mounted {
    directories: Vec<String>,
    /// From where an answer is still to come.
    asked: Option<Receiver<Vec<FileSystem>>>,
    /// Why nothing is known of them now.
    missing: Option<String>,
}

/// The kernel answers within microseconds, except of what another machine has.
const PATIENCE: Duration = Duration::from_secs(1);

impl Mounted {
    /// Those at and below these; of none without any.
    #[must_use]
    pub fn at(directories: Vec<String>) -> Self {
        Self { directories, ..Self::default() }
    }

    /// Why nothing is known of them, where there should be some.
    #[must_use]
    pub fn missing(&self) -> Option<String> {
        self.missing.clone()
    }

    /// Adds what those say now that are mounted below `root`, before everything else. Nobody waits for long: one that
    /// hangs is not asked again before it has answered.
    pub fn add_to(&mut self, root: &Path, reading: &mut Reading) {
        let hangs = |asked: &Receiver<Vec<FileSystem>>| matches!(asked.try_recv(), Err(TryRecvError::Empty));
        if self.directories.is_empty() || self.asked.as_ref().is_some_and(hangs) {
            return;
        }
        let asked = ask(root, &self.directories);
        let answer = asked.recv_timeout(PATIENCE);
        self.asked = None;
        self.missing = match answer {
            Ok(mounted) => {
                let mut own = Reading::default();
                let found = add(mounted, &self.directories, ("", ""), &mut own);
                reading.samples.splice(0..0, own.samples);
                (found == 0).then(|| none_of(&self.directories))
            }
            Err(RecvTimeoutError::Timeout) => {
                self.asked = Some(asked);
                Some(format!("what is mounted at {} does not answer", self.directories.join(", ")))
            }
            Err(RecvTimeoutError::Disconnected) => {
                Some("file systems cannot be looked at: no thread".to_owned())
            }
        };
    }
}

/// Has somebody look who may wait for ever.
fn ask(root: &Path, directories: &[String]) -> Receiver<Vec<FileSystem>> {
    let (to, from) = sync_channel(1);
    let (root, directories) = (root.to_owned(), directories.to_vec());
    // Nobody listens any more where it took too long.
    let look = move || drop(to.send(below(&root, &directories)));
    // Where there is no thread nothing comes.
    drop(thread::Builder::new().name("filesystems".to_owned()).spawn(look));
    from
}

/// Those of this machine that are mounted at these directories or below, as files below `root` have them.
fn below(root: &Path, directories: &[String]) -> Vec<FileSystem> {
    let path = |place: &str| root.join(place.trim_start_matches('/'));
    let text = fs::read(path("/proc/self/mounts")).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    // What is mounted over another hides that.
    let mut places: BTreeMap<String, (String, String)> = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split(' ');
        let (Some(device), Some(place), Some(kind)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        let place = plain(place);
        // What is mounted when somebody asks for it would be mounted by this.
        if kind != "autofs" && is_below(&place, directories) {
            places.insert(place, (plain(device), kind.to_owned()));
        }
    }
    let one = |(place, (device, kind)): (String, (String, String))| {
        let (size, free) = room(&path(&place))?;
        Some(FileSystem { device, place, kind, size, free })
    };
    places.into_iter().filter_map(one).collect()
}

/// The kernel writes blanks and backslashes of names as `\040`.
fn plain(word: &str) -> String {
    let mut parts = word.split('\\');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let sign = part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match sign {
            Some(sign) => {
                bytes.push(sign);
                bytes.extend(&part.as_bytes()[3..]);
            }
            None => {
                bytes.push(b'\\');
                bytes.extend(part.as_bytes());
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Bytes of a file system, and how many are free.
#[expect(clippy::cast_precision_loss, reason = "bytes of a file system")]
fn room(path: &Path) -> Option<(f64, f64)> {
    let path = CString::new(path.as_os_str().as_bytes()).ok()?;
    // SAFETY: these are numbers, of which 0 is one.
    let mut said: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: the path ends with a zero, and both outlive the call.
    let code = unsafe { libc::statvfs(path.as_ptr(), &raw mut said) };
    if code != 0 {
        return None;
    }
    let block = said.f_frsize as f64;
    Some((said.f_blocks as f64 * block, said.f_bfree as f64 * block))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::float_cmp, reason = "a test may stop at the first surprise")]
mod tests;
