//! Another machine over one held ssh session, with nothing installed there: a loop of the shell prints the files of `/proc`
//! once an interval. It ends with the session, and by itself after a while. A session that has brought readings is opened again
//! when it drops.

use std::collections::VecDeque;
use std::process::Stdio;
use std::time::Duration;

use cosmark_metrics::STAND_FOR_DEVICES;
use cosmark_workload::units::shown;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, timeout_at};

use super::{News, check_daemons, kept, now_ns};
use crate::frame::{FILES, Frame, ThreadNames};
use crate::{filesystems, groups, links};

/// How to reach a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshSession {
    /// The program, and what to give it: all but the host. `ssh` and options that ask nobody anything.
    pub program: Vec<String>,
    /// `host` or `user@host`.
    pub host: String,
    /// Whole seconds between two readings, at least one.
    pub interval_s: u32,
    /// Daemons whose threads are looked at.
    pub daemons: Vec<String>,
    /// Directories at or below which is mounted what holds what the store stores, as [`filesystems::checked`] gives them.
    pub filesystems: Vec<String>,
    /// A machine of which no whole reading comes for so long, beyond its interval, is lost, whatever else it says.
    pub patience: Duration,
    /// A session that drops is opened again after this; after twice as long each time that brings nothing, up to a minute.
    pub first_pause: Duration,
}

/// The options with which a session never waits for a person, and ends when the other side is silent.
const OPTIONS: &[&str] = &[
    "ssh",
    "-T",
    "-oBatchMode=yes",
    "-oConnectTimeout=10",
    "-oServerAliveInterval=5",
    "-oServerAliveCountMax=3",
    "-oStrictHostKeyChecking=yes",
];

/// A loop that nobody stops ends after a day.
const LONGEST_S: u32 = 86_400;
/// How long a machine may say nothing.
const PATIENCE: Duration = Duration::from_secs(20);
/// Between a session that dropped and the next one.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// How long the last words of a session that ended are waited for.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// A machine to which so many sessions in a row bring nothing is given up.
const MOST_ATTEMPTS: u32 = 60;
/// Longer lines and frames are no files of `/proc`.
const LONGEST_FRAME: usize = 16 << 20;

impl SshSession {
    /// By the `ssh` of this machine, with its user's configuration and keys.
    ///
    /// # Errors
    /// For a host that ssh would take for an option, and names of daemons that are none.
    pub fn to(host: &str, interval_s: u32, daemons: Vec<String>) -> Result<Self, String> {
        let of_a_host = |byte: u8| byte.is_ascii_alphanumeric() || b"._-@:[]%".contains(&byte);
        if host.is_empty() || host.starts_with('-') || !host.bytes().all(of_a_host) {
            return Err(format!("`{host}` is no host for ssh: give HOST or USER@HOST"));
        }
        check_daemons(&daemons)?;
        let program = OPTIONS.iter().map(|&word| word.to_owned()).collect();
        let (host, interval_s, filesystems) = (host.to_owned(), interval_s.max(1), Vec::new());
        let (patience, first_pause) = (PATIENCE, FIRST_PAUSE);
        Ok(Self { program, host, interval_s, daemons, filesystems, patience, first_pause })
    }

    /// The same, and the file systems that are mounted at these directories or below are the store's.
    #[must_use]
    pub fn with_filesystems(self, filesystems: Vec<String>) -> Self {
        Self { filesystems, ..self }
    }

    /// Brings readings until nobody listens or the machine is lost for good. A session that never brought any is not tried again:
    /// a login that is refused may not be repeated for hours.
    pub async fn collect(self, to: Sender<News>) {
        let (mut pause, mut attempts, mut last_trouble) = (self.first_pause, 0, None);
        let mut ever = false;
        loop {
            let mut frames = 0;
            let why = match self.start() {
                Ok(child) => self.follow(child, &to, &mut frames).await,
                Err(why) => Some(why),
            };
            let Some(why) = why else { return };
            if frames > 0 {
                (pause, attempts, last_trouble, ever) = (self.first_pause, 0, None, true);
            }
            if last_trouble.as_ref() != Some(&why) {
                last_trouble = Some(why.clone());
                if to.send(News::Lost(format!("{}: {why}", self.host))).await.is_err() {
                    return;
                }
            }
            attempts += 1;
            if !ever || attempts > MOST_ATTEMPTS {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = to.closed() => return,
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn start(&self) -> Result<Child, String> {
        let (program, options) = self.program.split_first().ok_or("no program to reach it with")?;
        Command::new(program)
            .args(options)
            .args(["--", &self.host, "sh", "-s"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|cause| format!("cannot start {program}: {cause}"))
    }

    /// Reads and counts frames; gives why the session ended, `None` if nobody listens any more.
    async fn follow(&self, mut child: Child, to: &Sender<News>, frames: &mut u64) -> Option<String> {
        let script = self.script();
        let (mut input, output) = (child.stdin.take()?, child.stdout.take()?);
        // Who takes no script may have said why.
        let refused = input.write_all(script.as_bytes()).await.err().and_then(that_says_more);
        // The shell reads its script to the end before the loop begins.
        drop(input);
        let (mut output, mut bytes) = (BufReader::new(output), Vec::new());
        let mut clock = NodeClock::default();
        let (mut frame, mut size) = (Frame { ticks_per_s: 100.0, ..Frame::default() }, 0);
        let mut names = ThreadNames::new();
        let mut silent = Silent::default();
        let patience = self.patience + Duration::from_secs(u64::from(self.interval_s));
        let (mut due, mut said) = (Instant::now() + patience, String::new());
        loop {
            let next = next_line(&mut output, &mut bytes, LONGEST_FRAME - size);
            match timeout_at(due, next).await {
                Err(_) => return Some(silence(patience, &said)),
                Ok(Err(cause)) => return Some(format!("what came cannot be read: {cause}")),
                Ok(Ok(0)) => {
                    let words = last_words(&mut child, &said).await;
                    return Some(match refused {
                        Some(cause) => format!("{words} ({cause})"),
                        None => words,
                    });
                }
                Ok(Ok(_)) => {}
            }
            // A name that the kernel cut within a sign is one all the same.
            let line = String::from_utf8_lossy(&bytes);
            let line = line.trim_end_matches(['\n', '\r']);
            if let Some(stamp) = line.strip_prefix(END) {
                let arrived_ns = now_ns();
                let (at_ns, ahead_ns) = clock.place(stamp, arrived_ns);
                let mut whole = std::mem::take(&mut frame);
                let found = whole.names_of_threads();
                whole.names = if found.is_empty() { std::mem::take(&mut names) } else { found };
                let mut reading = whole.read(at_ns);
                if *frames == 0 && reading.samples.is_empty() {
                    return Some(NO_FILES.to_owned());
                }
                names = whole.names;
                (size, due) = (0, Instant::now() + patience);
                said.clear();
                *frames += 1;
                let mounted = whole.files.get(filesystems::DF).map_or("", String::as_str);
                let mounted = mounted.lines().filter_map(filesystems::of_df);
                let there = filesystems::add(mounted, &self.filesystems, ("", ""), &mut reading);
                let queues = whole.files.contains_key(links::QUEUES);
                let missing = silent.news(queues, &self.filesystems, there);
                let ahead = ahead_ns.map(News::Ahead);
                for news in std::iter::once(News::Reading(reading)).chain(ahead).chain(missing) {
                    if to.send(news).await.is_err() {
                        return None;
                    }
                }
                continue;
            }
            size += bytes.len();
            if size > LONGEST_FRAME {
                return Some("it sends something else than the files of /proc".to_owned());
            }
            if !line.trim().is_empty() && !is_of_a_frame(line) {
                said = shown(line.trim());
            }
            frame.add_line(line);
        }
    }

    /// POSIX shell; one process a reading for the files, one for the clock and one for the pause; two for file systems, where
    /// some are wanted.
    fn script(&self) -> String {
        let files = FILES.join(" ");
        let daemons =
            self.daemons.iter().map(|name| format!("{}*", kept(name))).collect::<Vec<_>>().join("|");
        let find_threads = if daemons.is_empty() {
            String::new()
        } else {
            // The names of threads are in `stat`, and are asked for when processes are looked for, or where there is nothing else.
            format!(
                "for p in /proc/[0-9]*; do c=; read -r c <$p/comm; case $c in {daemons}) \
                 s=\"$s $p/task/*/stat\"; t=\"$t $p/task/*/schedstat\"; [ -r $p/schedstat ] || t=\"$t $p/task/*/stat\"; while read -r \
                 g; do case $g in 0::/?*) t=\"$t /sys/fs/cgroup${{g#0::}}/cpu.stat /sys/fs/cgroup${{g#0::}}/cpu.max\";; esac; done \
                 <$p/cgroup;; esac; done; "
            )
        };
        let find = format!(
            "s=; if [ $((n % 10)) -eq 0 ]; then if [ $((n % {GROUPS_EVERY})) -eq 0 ]; then t=; {}h=$t; fi; t=$h; \
             {}{find_threads}{EACH_ONCE}{}fi; ",
            groups::script(),
            speeds(""),
            places("", &self.filesystems)
        );
        let rooms = if self.filesystems.is_empty() { "" } else { ROOMS };
        format!(
            "{{ n=0; t=; h=; s=; q=; k=; y=; z=; w=; command -v timeout >/dev/null && w='timeout 2'; while [ $n -lt {LONGEST_S} ]; do {find}{}{rooms}grep '' {files} $l /sys/class/powercap/*/energy_uj /sys/class/powercap/*/name $s $t; echo \"{END}$(date \
             +%s.%N)\" || exit; n=$((n + 1)); sleep {}; done; }} 2>/dev/null\nexit\n",
            queues(""),
            self.interval_s
        )
    }
}

/// Limited groups are looked for once in so many readings, a multiple of the ten of all else: there may be hundreds.
const GROUPS_EVERY: u32 = 30;

/// Leaves each file once in `$t`: processes of one group name its files again and again, and `grep` would print them as often.
const EACH_ONCE: &str =
    "set -f; u=; for f in $t; do case \" $u \" in *\" $f \"*) ;; *) u=\"$u $f\";; esac; done; t=$u; set +f; ";

/// So many mounted file systems of a store are looked at.
const MOST_PLACES: u32 = 256;

/// Leaves the places below a directory at which something is mounted, of these directories and below them, as the words of the
/// loop (`$1` and so on). The kernel writes a blank of a name as `\040`, which is how `printf` reads it.
fn places(root: &str, directories: &[String]) -> String {
    if directories.is_empty() {
        return String::new();
    }
    let pattern = |directory: &String| {
        let name = directory.trim_end_matches('/').replace('\\', "\\134").replace(' ', "\\040");
        format!("'{name}'|'{name}'/*")
    };
    let patterns = directories.iter().map(pattern).collect::<Vec<_>>().join("|");
    format!(
        "set --; while read -r a b c; do case $b in {patterns}) case $c in autofs*) continue;; esac; case $b in *%*) ;; *\\\\*) b=$(printf \
         \"$b\");; esac; [ $# -lt {MOST_PLACES} ] && set -- \"$@\" \"{root}$b\";; esac; done <{root}/proc/self/mounts; "
    )
}

/// Prints what `df` says of them, each line as one of a file.
const ROOMS: &str = "[ $# -eq 0 ] || $w df -kP \"$@\" | while read -r b; do printf 'df:%s\\n' \"$b\"; done; ";

/// Leaves in `$l` where the links below a directory say their speeds, of those that have one ([`cosmark_metrics::has_a_speed`]):
/// words of the shell alone, since another program for each link would cost more than the reading.
fn speeds(root: &str) -> String {
    let kinds = STAND_FOR_DEVICES.map(|kind| format!("DEVTYPE={kind}")).join("|");
    format!(
        "l=; for d in {root}/sys/class/net/*; do u=; if [ -e \"$d/device\" ]; then u=y; elif [ -r \"$d/uevent\" ]; then while read -r \
         e; do case $e in {kinds}) u=y;; esac; done <\"$d/uevent\"; fi; case $u in y) l=\"$l $d/speed\";; esac; done; "
    )
}

/// Seconds after which classes and policers of further links are left out: each `tc` has its limit, and so have all together, which
/// has to be less than [`PATIENCE`].
const CLASSES_S: u32 = 3;

/// Prints what the queues of links say, and their classes and policers where those below a directory have some; what they said last
/// where it is not their turn. What its classes have sent is asked of the first link that has some (`y`), as often as the queues.
fn queues(root: &str) -> String {
    let (every, classes_every) = (links::EVERY, links::CLASSES_EVERY);
    let (queues, classes, counted, filters, most) =
        (links::QUEUES, links::CLASSES, links::COUNTED, links::FILTERS, links::MOST_LOOKED_AT);
    format!(
        "if [ $((n % {every})) -eq 0 ]; then q=$(PATH=$PATH:/usr/sbin:/sbin; $w tc -s -j qdisc show); fi; if [ $((n % {classes_every})) \
         -eq 0 ]; then k=; case $q in (*'\"htb\"'*|*'\"ingress\"'*|*'\"clsact\"'*) k=$(PATH=$PATH:/usr/sbin:/sbin; i=0; \
         b=0; read -r b c </proc/uptime; for d in {root}/sys/class/net/*; do e=0; read -r e c </proc/uptime; [ $((${{e%.*}} - ${{b%.*}})) -lt \
         {CLASSES_S} ] || break; d=${{d##*/}}; c=$($w tc class show dev \"$d\"); case $c in (*'class htb'*) printf '%s\\n' \"$c\" | sed \
         \"s/^/{classes}$d:/\";; esac; c=$($w tc filter show dev \"$d\" ingress); case $c in (*police*) printf '%s\\n' \"$c\" | sed \
         \"s/^/{filters}$d:/\";; esac; i=$((i + 1)); [ $i -lt {most} ] || break; done);; esac; y=; case $k in \
         (*'{classes}'*) y=${{k#*{classes}}}; y=${{y%%:*}};; esac; fi; if [ $((n % {every})) -eq 0 ]; then z=; case $y in (?*) \
         z=$(PATH=$PATH:/usr/sbin:/sbin; $w tc -s class show dev \"$y\" | sed \"s/^/{counted}$y:/\");; esac; fi; case $q in (?*) printf \
         '{queues}:%s\\n' \"$q\"; case $k in (?*) printf '%s\\n' \"$k\";; esac; case $z in (?*) printf '%s\\n' \"$z\";; esac;; esac; "
    )
}

/// Another system answers the shell, and has nothing to read.
const NO_FILES: &str = "it has none of the files of /proc that are read: only Linux has them";

/// Who spoke of queues once is missed.
const QUEUES_GONE: &str = "tc says nothing of the queues of links any more; the rest is read";

/// What of a machine says nothing while the rest does.
#[derive(Debug, Default)]
struct Silent {
    /// Queues were spoken of once.
    queues: bool,
    /// A frame has come.
    has_frame: bool,
    /// What was missing in the last one.
    missing: Option<String>,
}

impl Silent {
    /// What is to be said of a frame that speaks of queues or not, and of so many of the file systems that are wanted; nothing
    /// where that is as before.
    fn news(&mut self, queues: bool, wanted: &[String], there: usize) -> Option<News> {
        self.queues |= queues;
        let gone = (self.queues && !queues).then(|| QUEUES_GONE.to_owned());
        let none = (!wanted.is_empty() && there == 0).then(|| filesystems::none_of(wanted));
        let all: Vec<String> = gone.into_iter().chain(none).collect();
        let missing = (!all.is_empty()).then(|| all.join("; "));
        let is_new = !self.has_frame || self.missing != missing;
        self.has_frame = true;
        self.missing.clone_from(&missing);
        (is_new && (self.queues || !wanted.is_empty())).then_some(News::Missing(missing))
    }
}

/// Whether a line is one of a file, or of what `tc` or `df` says.
fn is_of_a_frame(line: &str) -> bool {
    let starts = ["/", links::QUEUES, links::CLASSES, links::COUNTED, links::FILTERS, filesystems::DF];
    starts.iter().any(|start| line.starts_with(start))
}

/// What ends a frame; no path begins so.
const END: &str = "=end=";

/// The next line, or as much of it as is more than `room` bytes; how many bytes it has, 0 at the end.
async fn next_line(
    from: &mut BufReader<ChildStdout>,
    into: &mut Vec<u8>,
    room: usize,
) -> std::io::Result<usize> {
    into.clear();
    from.take(room as u64 + 1).read_until(b'\n', into).await
}

/// The other machine's clock against this one's.
#[derive(Debug, Default)]
struct NodeClock {
    /// By how much the last frames arrived after their stamps; negative where the other clock is ahead.
    later_ns: VecDeque<i64>,
    last_stamp_ns: u64,
}

/// Clocks are set and drift: so many frames are compared.
const COMPARED: usize = 12;

impl NodeClock {
    /// When a frame was true by this machine's clock, and by how much the other one is ahead.
    fn place(&mut self, stamp: &str, arrived_ns: u64) -> (u64, Option<i64>) {
        let Some(stamp_ns) = nanoseconds(stamp) else { return (arrived_ns, None) };
        let later = i64::try_from(i128::from(arrived_ns) - i128::from(stamp_ns)).unwrap_or(0);
        // It was set back: what was compared before was another clock.
        if stamp_ns < self.last_stamp_ns {
            self.later_ns.clear();
        }
        self.last_stamp_ns = stamp_ns;
        self.later_ns.push_back(later);
        if self.later_ns.len() > COMPARED {
            self.later_ns.pop_front();
        }
        let least = self.later_ns.iter().copied().min().unwrap_or(later);
        (stamp_ns.saturating_add_signed(least), Some(least.saturating_neg()))
    }
}

/// `1700000000.123456789`; a `date` without nanoseconds prints `%N` or nothing, which is no good to anybody.
fn nanoseconds(stamp: &str) -> Option<u64> {
    let (whole, rest) = stamp.trim().split_once('.')?;
    let (whole, rest): (u64, u64) = (whole.parse().ok()?, (rest.len() == 9).then(|| rest.parse().ok())??);
    whole.checked_mul(1_000_000_000)?.checked_add(rest)
}

/// What the words of ssh mean to whoever named the machine.
const HINTS: &[(&str, &str)] = &[
    ("Host key verification failed", "; log in there once by hand, so that its key is known"),
    (
        "Permission denied",
        "; nobody is asked for a password: give this login a key there, as ssh-copy-id does",
    ),
    ("Could not resolve hostname", "; give a name that `ssh` knows from this machine"),
];

/// Why a machine is lost that is still there, and what it said last that was no file.
fn silence(patience: Duration, said: &str) -> String {
    let seconds = patience.as_secs();
    if said.is_empty() {
        return format!("nothing came for {seconds} s");
    }
    format!("no reading came for {seconds} s, but something else: `{said}`")
}

/// What ssh said before it ended; else what came instead of files (`said`): who may not log in is sent that.
async fn last_words(child: &mut Child, said: &str) -> String {
    let mut bytes = Vec::new();
    if let Some(errors) = child.stderr.take() {
        let mut errors = errors.take(4096);
        // A program that keeps its standard error open says nothing more that matters; what came before counts.
        let until = Instant::now() + LAST_WORDS;
        while let Ok(Ok(1..)) = timeout_at(until, errors.read_buf(&mut bytes)).await {}
    }
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or(said);
    let hint = HINTS.iter().find(|(sign, _)| line.contains(sign)).map_or("", |(_, hint)| hint);
    if line.is_empty() { "the session ended".to_owned() } else { format!("the session ended: {line}{hint}") }
}

/// That the pipe broke is what one sees of a session that ended.
fn that_says_more(cause: std::io::Error) -> Option<std::io::Error> {
    (cause.kind() != std::io::ErrorKind::BrokenPipe).then_some(cause)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]
mod tests;
