//! The shell of this machine as one that is reached over ssh, and sessions that are none.

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
    let wanted = ["eth0", "mac0", "v7"].map(|link| format!("{shown}/sys/class/net/{link}/speed")).join(" ");
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

/// A `tc` of the test whose classes have sent as many bytes as there were rounds.
#[test]
fn what_classes_have_sent_is_asked_for_as_often_as_the_queues() {
    let script = format!(
        "tc() {{ case $1 in (filter) return 0;; (-s) case $2 in (class) echo class htb 1:1 root; echo \" Sent $n bytes of $5\";; (*) \
         echo '[{{\"kind\":\"htb\"}}]';; esac;; (*) [ $4 = lo ] && echo class htb 1:1 root;; esac; }}; n=0; q=; k=; w=; while [ $n -lt 4 \
         ]; do {}echo $n; n=$((n + 1)); done",
        queues("")
    );
    let said = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
    let round = |n: u32, sent: u32| {
        let class = "class htb 1:1 root";
        let counted = format!("tc-counted-class lo:{class}\ntc-counted-class lo: Sent {sent} bytes of lo");
        format!("tc-qdisc:[{{\"kind\":\"htb\"}}]\ntc-class lo:{class}\n{counted}\n{n}\n")
    };
    let expected = [(0, 0), (1, 0), (2, 2), (3, 2)].map(|(n, sent)| round(n, sent)).concat();
    assert_eq!(String::from_utf8_lossy(&said.stdout), expected);
}

/// Each answers just within its own limit: so many of them would be more than a session may be silent.
#[test]
fn many_links_of_which_each_is_slow_hold_no_reading_up() {
    let root = std::env::temp_dir().join(format!("cosmark-slow-links-{}", std::process::id()));
    for link in 0..32 {
        std::fs::create_dir_all(root.join(format!("sys/class/net/eth{link}"))).unwrap();
    }
    let script = format!(
        "tc() {{ case $3 in (qdisc) echo '[{{\"kind\":\"htb\"}}]';; (dev) echo $4 >>{0}/asked; sleep 1; echo class htb of $4;; esac; }}; \
         n=0; q=; k=; w=; {1}",
        root.display(),
        queues(&root.display().to_string())
    );
    let said = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
    // Two questions to a link, of a second each; a link is begun while less than the time for all of them is over, in whole
    // seconds.
    let asked = std::fs::read_to_string(root.join("asked")).unwrap().lines().count();
    assert!((2..=CLASSES_S as usize + 2).contains(&asked), "{asked}");
    assert!(String::from_utf8_lossy(&said.stdout).starts_with("tc-qdisc:"), "{said:?}");
    std::fs::remove_dir_all(&root).unwrap();
}

/// The shell's words for file systems, with a `df` of the test.
#[test]
fn what_is_mounted_at_and_below_a_directory_is_asked_for_whatever_its_name_is() {
    let root = std::env::temp_dir().join(format!("cosmark-shell-mounts-{}", std::process::id()));
    std::fs::create_dir_all(root.join("proc/self")).unwrap();
    let mounts = "/dev/sda1 / ext4 rw 0 0\n/dev/sdb /srv/node/d1 xfs rw 0 0\n/dev/sdc /srv/node/d\\0402 xfs rw 0 0\n\
                  /dev/sdd /srv/nodes xfs rw 0 0\nauto /srv/node/auto autofs rw 0 0\n/dev/sde /a\\040b/* xfs rw 0 0\n";
    std::fs::write(root.join("proc/self/mounts"), mounts).unwrap();
    let shown = root.display().to_string();
    let said = |directories: &[&str]| {
        let directories: Vec<String> = directories.iter().map(|&one| one.to_owned()).collect();
        let script = format!(
            "df() {{ [ $1 = -kP ] && shift; for p in \"$@\"; do echo \"/dev/x 10 4 6 40% $p\"; done; }}; w=; n=0; while [ $n -lt 2 ]; do \
             if [ $n -eq 0 ]; then {}fi; {ROOMS}echo $n; n=$((n + 1)); done",
            places(&shown, &directories)
        );
        let said = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
        String::from_utf8_lossy(&said.stdout).replace(&shown, "")
    };
    let two = "df:/dev/x 10 4 6 40% /srv/node/d1\ndf:/dev/x 10 4 6 40% /srv/node/d 2\n";
    let third = "df:/dev/x 10 4 6 40% /a b/*\n";
    assert_eq!(said(&["/srv/node", "/a b"]), format!("{two}{third}0\n{two}{third}1\n"));
    assert_eq!(said(&["/srv/node/d1"]).lines().count(), 4);
    assert_eq!(said(&["/"]).lines().filter(|line| line.starts_with(filesystems::DF)).count(), 10);
    assert_eq!(said(&["/none"]), "0\n1\n");
    assert_eq!(places(&shown, &[]), "", "nobody looks where nobody asks");
    std::fs::remove_dir_all(&root).unwrap();
}

/// Three frames: two file systems, then one of another place, which is none, then the first again.
#[tokio::test]
async fn file_systems_are_read_with_the_rest_and_missed_beside_it() {
    let frame = |of_df: &str| {
        format!("echo /proc/stat:cpu0 1 0 0 0 0 0 0 0; printf '{of_df}'; echo =end=$(date +%s.%N)")
    };
    let (with, without) = (
        frame("df:/dev/b 10 4 6 40%% /srv/d1\\ndf:/dev/c 20 5 15 25%% /srv/d2\\n"),
        frame("df:/dev/a 90 9 81 10%% /\\n"),
    );
    let session = session(&format!("cat >/dev/null; {with}; {without}; {with}"), &[]);
    let session = session.with_filesystems(vec!["/srv".to_owned()]);
    let (to, mut from) = tokio::sync::mpsc::channel(64);
    let task = tokio::spawn(session.collect(to));
    let (mut readings, mut missing) = (Vec::new(), Vec::new());
    while let Some(news) = from.recv().await {
        match news {
            News::Reading(reading) => readings.push(reading),
            News::Missing(why) => missing.push(why),
            News::Lost(_) => break,
            News::Ahead(_) => {}
        }
    }
    drop(from);
    task.await.unwrap();
    let rooms = |at: usize| {
        let samples = readings[at].samples.iter().filter(|one| one.quantity.id.starts_with("store_"));
        samples.map(|one| (one.quantity.id, one.unit.as_str(), one.value / 1024.0)).collect::<Vec<_>>()
    };
    let both = [
        ("store_capacity_bytes", "/srv/d1", 10.0),
        ("store_free_bytes", "/srv/d1", 6.0),
        ("store_capacity_bytes", "/srv/d2", 20.0),
        ("store_free_bytes", "/srv/d2", 15.0),
    ];
    assert_eq!((rooms(0), rooms(1).len(), rooms(2)), (both.to_vec(), 0, both.to_vec()));
    assert_eq!(missing, [None, Some(filesystems::none_of(&["/srv".to_owned()])), None]);
}

#[tokio::test]
async fn queues_that_were_there_are_missed() {
    let frame =
        |queues: &str| format!("echo /proc/stat:cpu0 1 0 0 0 0 0 0 0; {queues} echo =end=$(date +%s.%N)");
    let (with, without) = (frame("echo 'tc-qdisc:[]';"), frame(""));
    let session = session(&format!("cat >/dev/null; {without}; {with}; {without}; {without}; {with}"), &[]);
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
    let news = first(session("echo 'user@host: Permission denied (publickey).' >&2; exit 255", &[])).await;
    let [News::Lost(why)] = news.as_slice() else { panic!("{news:?}") };
    assert!(why.contains("user@host") && why.contains("Permission denied"), "{why}");
    assert!(why.ends_with("give this login a key there, as ssh-copy-id does"), "{why}");
    // What it left running keeps its standard error open.
    let held = "echo 'user@host: Permission denied (publickey).' >&2; sleep 20 >/dev/null & exit 255";
    let news = first(session(held, &[])).await;
    assert!(matches!(news.as_slice(), [News::Lost(why)] if why.contains("Permission denied")), "{news:?}");
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
    // Longer than a busy machine takes for the first line.
    endless.patience = Duration::from_secs(6);
    let news = tokio::time::timeout(Duration::from_secs(120), first(endless)).await.unwrap();
    assert!(matches!(news.as_slice(), [News::Lost(why)] if why.contains("no reading came for")), "{news:?}");
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
