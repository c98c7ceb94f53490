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
use crate::{groups, links};

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
        let (host, interval_s) = (host.to_owned(), interval_s.max(1));
        Ok(Self { program, host, interval_s, daemons, patience: PATIENCE, first_pause: FIRST_PAUSE })
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
        let (mut queues, mut missing) = (false, None);
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
                let reading = whole.read(at_ns);
                if *frames == 0 && reading.samples.is_empty() {
                    return Some(NO_FILES.to_owned());
                }
                names = whole.names;
                (size, due) = (0, Instant::now() + patience);
                said.clear();
                *frames += 1;
                let tells = whole.files.contains_key(links::QUEUES);
                queues |= tells;
                let gone = (queues && !tells).then(|| QUEUES_GONE.to_owned());
                let changed = queues && missing.as_ref() != Some(&gone);
                missing = Some(gone.clone());
                let ahead = ahead_ns.map(News::Ahead);
                let missing = changed.then_some(News::Missing(gone));
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

    /// POSIX shell; one process a reading for the files, one for the clock and one for the pause.
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
             {}{find_threads}{EACH_ONCE}fi; ",
            groups::script(),
            speeds("")
        );
        format!(
            "{{ n=0; t=; h=; s=; q=; k=; w=; command -v timeout >/dev/null && w='timeout 2'; while [ $n -lt {LONGEST_S} ]; do {find}{}grep '' {files} $l /sys/class/powercap/*/energy_uj /sys/class/powercap/*/name $s $t; echo \"{END}$(date \
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
/// where it is not their turn.
fn queues(root: &str) -> String {
    let (every, classes_every) = (links::EVERY, links::CLASSES_EVERY);
    let (queues, classes, filters, most) =
        (links::QUEUES, links::CLASSES, links::FILTERS, links::MOST_LOOKED_AT);
    format!(
        "if [ $((n % {every})) -eq 0 ]; then q=$(PATH=$PATH:/usr/sbin:/sbin; $w tc -s -j qdisc show); fi; if [ $((n % {classes_every})) \
         -eq 0 ]; then k=; case $q in (*'\"htb\"'*|*'\"ingress\"'*|*'\"clsact\"'*) k=$(PATH=$PATH:/usr/sbin:/sbin; i=0; \
         b=0; read -r b c </proc/uptime; for d in {root}/sys/class/net/*; do e=0; read -r e c </proc/uptime; [ $((${{e%.*}} - ${{b%.*}})) -lt \
         {CLASSES_S} ] || break; d=${{d##*/}}; c=$($w tc class show dev \"$d\"); case $c in (*'class htb'*) printf '%s\\n' \"$c\" | sed \
         \"s/^/{classes}$d:/\";; esac; c=$($w tc filter show dev \"$d\" ingress); case $c in (*police*) printf '%s\\n' \"$c\" | sed \
         \"s/^/{filters}$d:/\";; esac; i=$((i + 1)); [ $i -lt {most} ] || break; done);; esac; fi; case $q in (?*) printf \
         '{queues}:%s\\n' \"$q\"; case $k in (?*) printf '%s\\n' \"$k\";; esac;; esac; "
    )
}

/// Another system answers the shell, and has nothing to read.
const NO_FILES: &str = "it has none of the files of /proc that are read: only Linux has them";

/// Who spoke of queues once is missed.
const QUEUES_GONE: &str = "tc says nothing of the queues of links any more; the rest is read";

/// Whether a line is one of a file, or of what `tc` says.
fn is_of_a_frame(line: &str) -> bool {
    let starts = ["/", links::QUEUES, links::CLASSES, links::FILTERS];
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
    let mut text = String::new();
    if let Some(errors) = child.stderr.take() {
        let mut errors = errors.take(4096);
        let read = errors.read_to_string(&mut text);
        // A program that keeps its standard error open says nothing more that matters.
        let _ = tokio::time::timeout(Duration::from_secs(2), read).await;
    }
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
mod tests {
    use super::*;

    /// A session whose program is a shell of this machine: what comes behind `--` is what ssh would run there.
    fn session(script: &str, daemons: &[&str]) -> SshSession {
        let daemons = daemons.iter().map(|&name| name.to_owned()).collect();
        let mut session = SshSession::to("user@host", 1, daemons).unwrap();
        session.program = ["sh", "-c", script].map(str::to_owned).into();
        session
    }

    async fn first(session: SshSession) -> Vec<News> {
        let (to, mut from) = tokio::sync::mpsc::channel(16);
        let task = tokio::spawn(session.collect(to));
        let mut news = Vec::new();
        while let Some(one) = from.recv().await {
            let is_reading = matches!(one, News::Ahead(_));
            news.push(one);
            if is_reading {
                break;
            }
        }
        drop(from);
        task.await.unwrap();
        news
    }

    #[tokio::test]
    async fn the_loop_reads_a_machine_its_threads_and_its_clock() {
        let me = std::fs::read_to_string("/proc/self/comm").unwrap();
        let news = first(session("shift; exec \"$@\"", &[me.trim()])).await;
        let [News::Reading(reading), News::Ahead(ahead)] = news.as_slice() else { panic!("{news:?}") };
        for id in ["cpu_busy_s", "memory_total_bytes", "network_received_bytes", "thread_busy_s"] {
            assert!(reading.samples.iter().any(|sample| sample.quantity.id == id), "{id}");
        }
        // The same clock: what differs is the way.
        assert!((-5_000_000_000..=0).contains(ahead), "{ahead}");
    }

    #[test]
    fn the_shell_asks_no_pair_and_no_tunnel_for_its_speed() {
        let root = std::env::temp_dir().join(format!("cosmark-shell-speeds-{}", std::process::id()));
        let shown = root.display().to_string();
        for (link, kind) in [
            ("eth0", "INTERFACE=eth0"),
            ("mac0", "DEVTYPE=macvlan"),
            ("v7", "DEVTYPE=vlan\nINTERFACE=v7"),
            ("veth1", "INTERFACE=veth1"),
        ] {
            let place = root.join("sys/class/net").join(link);
            std::fs::create_dir_all(&place).unwrap();
            std::fs::write(place.join("uevent"), format!("{kind}\n")).unwrap();
        }
        std::fs::create_dir_all(root.join("sys/class/net/eth0/device")).unwrap();
        std::fs::create_dir_all(root.join("sys/class/net/tun0")).unwrap();
        let script = format!("{}echo $l", speeds(&shown));
        let said = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
        let wanted =
            ["eth0", "mac0", "v7"].map(|link| format!("{shown}/sys/class/net/{link}/speed")).join(" ");
        let wanted = format!("{wanted}\n");
        assert_eq!(String::from_utf8_lossy(&said.stdout), wanted);
        std::fs::remove_dir_all(&root).unwrap();
    }

    /// The shell's words for the queues, with a `tc` of the test that has classes, and is gone in the third round.
    #[test]
    fn queues_and_their_classes_are_printed_as_files_and_again_where_it_is_not_their_turn() {
        let script = format!(
            "tc() {{ case $1 in (filter) [ $4 = lo ] && echo filter protocol all && echo ' police 0x1'; return 0;; esac; case $3 in (qdisc) [ $n -lt 2 ] && echo '[{{\"kind\":\"htb\"}}]';; (*) [ $4 = lo ] && echo class htb 1:1 root && \
             echo class htb 1:2;; esac; }}; n=0; q=; k=; w=; while [ $n -lt 3 ]; do {}echo $n; n=$((n + 1)); done",
            queues("")
        );
        let said = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
        let once = "tc-qdisc:[{\"kind\":\"htb\"}]\ntc-class lo:class htb 1:1 root\ntc-class lo:class htb 1:2\ntc-filter lo:filter protocol all\ntc-filter \
                    lo: police 0x1\n";
        assert_eq!(String::from_utf8_lossy(&said.stdout), format!("{once}0\n{once}1\n2\n"));
    }

    /// Each answers just within its own limit: so many of them would be more than a session may be silent.
    #[test]
    fn many_links_of_which_each_is_slow_hold_no_reading_up() {
        let root = std::env::temp_dir().join(format!("cosmark-slow-links-{}", std::process::id()));
        for link in 0..32 {
            std::fs::create_dir_all(root.join(format!("sys/class/net/eth{link}"))).unwrap();
        }
        let script = format!(
            "tc() {{ case $3 in (qdisc) echo '[{{\"kind\":\"htb\"}}]';; (dev) sleep 1; echo class htb of $4;; esac; }}; n=0; q=; k=; w=; {}",
            queues(&root.display().to_string())
        );
        let began = std::time::Instant::now();
        let said = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
        assert!(began.elapsed() < Duration::from_secs(12), "{:?}", began.elapsed());
        assert!(String::from_utf8_lossy(&said.stdout).starts_with("tc-qdisc:"), "{said:?}");
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[tokio::test]
    async fn queues_that_were_there_are_missed() {
        let frame =
            |queues: &str| format!("echo /proc/stat:cpu0 1 0 0 0 0 0 0 0; {queues} echo =end=$(date +%s.%N)");
        let (with, without) = (frame("echo 'tc-qdisc:[]';"), frame(""));
        let session =
            session(&format!("cat >/dev/null; {without}; {with}; {without}; {without}; {with}"), &[]);
        let (to, mut from) = tokio::sync::mpsc::channel(64);
        let task = tokio::spawn(session.collect(to));
        let mut said = Vec::new();
        while let Some(news) = from.recv().await {
            match news {
                News::Missing(missing) => said.push(missing),
                News::Lost(_) => break,
                _ => {}
            }
        }
        drop(from);
        task.await.unwrap();
        assert_eq!(said, [Some(QUEUES_GONE.to_owned()), None]);
    }

    #[test]
    fn a_file_that_many_processes_name_is_asked_for_once() {
        let script =
            format!("t='/a/cpu.max /proc/*/stat /a/cpu.max /b/cpu.max /a/cpu.max'; {EACH_ONCE}echo \"$t\"");
        let said = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&said.stdout).trim(), "/a/cpu.max /proc/*/stat /b/cpu.max");
    }

    #[tokio::test]
    async fn a_session_that_ends_says_what_ssh_said() {
        let news =
            first(session("echo 'user@host: Permission denied (publickey).' >&2; exit 255", &[])).await;
        let [News::Lost(why)] = news.as_slice() else { panic!("{news:?}") };
        assert!(why.contains("user@host") && why.contains("Permission denied"), "{why}");
        assert!(why.ends_with("give this login a key there, as ssh-copy-id does"), "{why}");
        let mut absent = session("", &[]);
        absent.program = vec!["/nonexistent/ssh".to_owned()];
        assert!(matches!(first(absent).await.as_slice(), [News::Lost(why)] if why.contains("cannot start")));
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_that_is_silent_is_lost() {
        let news = first(session("cat >/dev/null; exec sleep 600", &[])).await;
        assert!(matches!(news.as_slice(), [News::Lost(why)] if why.contains("nothing came for")), "{news:?}");
    }

    /// As an account that may not log in, which says so where files are awaited, and as a system without `/proc`.
    #[tokio::test]
    async fn who_answers_with_no_file_is_quoted() {
        for (script, words) in [
            ("echo; echo 'This account is currently not available.'; exit 1", "currently not available"),
            ("cat >/dev/null; echo 'Welcome to s1'; echo =end=$(date +%s.%N); sleep 600", "only Linux"),
        ] {
            let news = first(session(script, &[])).await;
            assert!(matches!(news.as_slice(), [News::Lost(why)] if why.contains(words)), "{news:?}");
        }
    }

    /// A line now and then held a session open for as long as there were lines.
    #[tokio::test]
    async fn whoever_talks_for_ever_without_a_reading_is_lost() {
        let mut endless = session("cat >/dev/null; while :; do echo motd; sleep 0.1; done", &[]);
        endless.patience = Duration::from_millis(200);
        let news = tokio::time::timeout(Duration::from_secs(120), first(endless)).await.unwrap();
        assert!(
            matches!(news.as_slice(), [News::Lost(why)] if why.contains("no reading came for")),
            "{news:?}"
        );
    }

    #[tokio::test]
    async fn whoever_sends_something_else_is_left() {
        let news = first(session("cat >/dev/null; yes x:$(head -c 5000 /dev/zero | tr '\\0' a)", &[])).await;
        assert!(matches!(news.as_slice(), [News::Lost(why)] if why.contains("something else")), "{news:?}");
    }

    #[test]
    fn a_clock_is_ahead_by_what_its_stamps_are_and_the_shortest_way_counts() {
        let mut clock = NodeClock::default();
        assert_eq!(clock.place("100.000000000", 99_000_000_000), (99_000_000_000, Some(1_000_000_000)));
        assert_eq!(clock.place("101.000000000", 100_500_000_000), (100_000_000_000, Some(1_000_000_000)));
        assert_eq!(clock.place("102.000000000", 100_900_000_000).1, Some(1_100_000_000));
        assert_eq!(clock.place("103.N", 7), (7, None));
    }

    #[test]
    fn a_clock_that_is_set_loses_no_reading() {
        let mut clock = NodeClock::default();
        assert_eq!(clock.place("5000.000000000", 5_000_000_000_000).0, 5_000_000_000_000);
        // An hour back, then half a second less than it was.
        assert_eq!(clock.place("1401.000000000", 5_001_000_000_000).0, 5_001_000_000_000);
        let half: Vec<u64> = (2..20_u64)
            .map(|at| clock.place(&format!("{}.500000000", 1399 + at), (5_000 + at) * 1_000_000_000).0)
            .collect();
        assert_eq!(half[17], 5_019_000_000_000, "{half:?}");
    }

    #[tokio::test]
    async fn a_session_that_drops_is_opened_again() {
        let script = "cat >/dev/null; printf '/proc/stat:cpu0 100 0 0 0 0 0 0 0\\n/proc/x:\\303\\n'; echo =end=$(date +%s.%N)";
        let mut session = session(script, &[]);
        session.first_pause = Duration::from_millis(20);
        let (to, mut from) = tokio::sync::mpsc::channel(16);
        let task = tokio::spawn(session.collect(to));
        let mut news = Vec::new();
        for _ in 0..5 {
            news.push(from.recv().await.unwrap());
        }
        assert!(
            matches!(
                news.as_slice(),
                [News::Reading(first), News::Ahead(_), News::Lost(why), News::Reading(_), News::Ahead(_)]
                    if why.contains("the session ended") && !first.samples.is_empty()
            ),
            "{news:?}"
        );
        drop(from);
        task.await.unwrap();
    }

    #[tokio::test]
    async fn a_line_without_an_end_is_left() {
        let news = first(session("cat >/dev/null; tr '\\0' a </dev/zero", &[])).await;
        assert!(matches!(news.as_slice(), [News::Lost(why)] if why.contains("something else")), "{news:?}");
    }

    #[test]
    fn what_a_shell_or_ssh_could_misread_is_refused() {
        for host in ["", "-oProxyCommand=x", "a b", "a;b", "$(x)", "a'b"] {
            assert!(SshSession::to(host, 1, Vec::new()).is_err(), "{host}");
        }
        for daemon in ["", "a*", "a b", "a;b", "$(x)", "a|b", "a)"] {
            assert!(SshSession::to("h", 1, vec![daemon.to_owned()]).is_err(), "{daemon}");
        }
    }
}
