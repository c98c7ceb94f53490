//! What is run on another machine: scripts of the POSIX shell. Before a fault is made there, a watcher is started there, in a session
//! of its own, which heals it when its time is over whatever has become of everybody else; whoever heals it before takes away
//! its directory, and it ends. One heals at a time. Source: sh(1p), setsid(1), timeout(1), proc(5).

use std::time::Duration;

use crate::act::process::Process;

/// Where a fault's directory is made; only its owner may look into it.
const PLACE: &str = "/tmp/cosmark-fault-";
/// So long after `hold` and `within` a fault is healed by its own machine.
const BEYOND: Duration = Duration::from_secs(30);
/// Seconds for which is seen what the watcher did; then nothing is left.
const SEEN_S: u32 = 3600;
/// The watcher tries to heal so often.
const TRIES: u32 = 3;
/// What a command prints is passed on up to here, bytes.
const MOST_BYTES: u32 = 4096;

/// What makes, proves and heals a fault over there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Steps {
    /// Makes it; its exit code says whether it did.
    pub inject: String,
    /// Ends with 0 while it is there.
    pub proof: String,
    /// Heals it, and ends with 0 when that is proved.
    pub heal: String,
}

/// Text as one word of the shell.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Whole seconds, at least one.
fn seconds(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0 || time.is_zero())
}

/// What has to be there, and is said by name where it is not.
pub fn needs() -> String {
    "for p in setsid timeout mktemp sleep head grep; do command -v $p >/dev/null || { echo \"$p is not there: install coreutils, \
     util-linux and grep, or busybox\"; exit 3; }; done; [ -r /proc/uptime ] || { echo 'there is no /proc'; exit 3; }"
        .to_owned()
}

/// A command of the user with a time limit over there, whose output does not hold the session open.
pub fn limited(command: &str, within: Duration) -> String {
    format!(
        "o=$(mktemp) || exit 3; timeout -s KILL {} sh -c {} >\"$o\" 2>&1 </dev/null; c=$?; head -c {MOST_BYTES} \"$o\"; rm -f \"$o\"; \
         exit $c",
        seconds(within),
        quoted(command)
    )
}

/// `state NUMBER:START`: the kernel's letter of a process that still is what it was, or nothing.
const STATE: &str = "state() { n=${1%%:*}; { read -r l </proc/$n/stat; } 2>/dev/null || return 0; w=${1#*:}; l=${l##*) }; set -- $l; \
                     [ \"${20}\" = \"$w\" ] || return 0; case $1 in Z|X) ;; *) echo $1;; esac; }";

fn list(processes: &[Process]) -> String {
    processes.iter().map(|(number, started)| format!("{number}:{started}")).collect::<Vec<_>>().join(" ")
}

/// `SIGSTOP`, proved and healed by the processes' states.
pub fn stop(processes: &[Process]) -> Steps {
    let (all, count) = (list(processes), processes.len());
    let each = |signal: &str| {
        format!(
            "for p in {all}; do [ -z \"$(state $p)\" ] || kill -{signal} ${{p%%:*}} || b=1; done; [ -z \"$b\" ] || exit 1"
        )
    };
    Steps {
        inject: format!("{STATE}\nb=; {}", each("STOP")),
        proof: format!(
            "{STATE}\nn=0; for q in {all}; do case $(state $q) in T|t) n=$((n+1));; esac; done\n[ $n -eq {count} ] && echo \"$n of \
             {count} processes stand still (state T)\""
        ),
        heal: format!(
            "{STATE}\nb=; {}\nn=0; for q in {all}; do case $(state $q) in T|t) echo \"process ${{q%%:*}} still stands still\"; exit \
             1;; '') ;; *) n=$((n+1));; esac; done; echo \"$n of {count} processes run again\"",
            each("CONT")
        ),
    }
}

/// `SIGKILL`, healed by a command, and proved by `again`: a script that ends with 0 when they run again.
pub fn kill(processes: &[Process], heal: &str, again: &str, within: Duration) -> Steps {
    let (all, count) = (list(processes), processes.len());
    Steps {
        inject: format!(
            "{STATE}\nb=; for p in {all}; do [ -z \"$(state $p)\" ] || kill -KILL ${{p%%:*}} || b=1; done; [ -z \"$b\" ] || exit 1"
        ),
        proof: format!(
            "{STATE}\nfor q in {all}; do [ -z \"$(state $q)\" ] || exit 1; done; echo '{count} of {count} processes are gone'"
        ),
        heal: format!(
            "( {again} ) >/dev/null 2>&1 && {{ echo 'it runs already'; exit 0; }}\n( {} ) || exit $?\n{}",
            limited(heal, within),
            until(&format!("( {again} )"), "what was killed does not run again", within)
        ),
    }
}

/// Ends with 0 where a process of this file runs; prints its number.
pub fn runs_by_file(file: &str) -> String {
    format!(
        "{{ read -r n r <{0}; }} 2>/dev/null; case $n in ''|*[!0-9]*) exit 1;; esac; {{ read -r l </proc/$n/stat; }} 2>/dev/null || exit \
         1; case ${{l##*) }} in Z*|X*) exit 1;; esac; echo \"process $n runs\"",
        quoted(file)
    )
}

/// Ends with 0 where a process of this name runs; prints its number.
pub fn runs_by_name(name: &str) -> String {
    let short: String = name.chars().take(15).collect();
    format!(
        "for p in /proc/[0-9]*; do {{ read -r c <$p/comm; }} 2>/dev/null || continue; f=$(tr '\\0' '\\n' 2>/dev/null <$p/cmdline | head -n \
         1); [ -n \"$f\" ] || continue; if [ \"${{f##*/}}\" = {0} ] || {{ [ \"$c\" = {1} ] && [ {2} -lt 15 ]; }}; then echo \
         \"process ${{p#/proc/}} runs\"; exit 0; fi; done; exit 1",
        quoted(name),
        quoted(&short),
        name.len()
    )
}

/// Commands of the user, healed when `proof` does not end with 0 any more.
pub fn commands(inject: &str, proof: &str, heal: &str, within: Duration) -> Steps {
    let proof = limited(proof, within);
    Steps {
        inject: limited(inject, within),
        heal: format!(
            "( {} ) || exit $?\n{}",
            limited(heal, within),
            until(&format!("! ( {proof} ) >/dev/null 2>&1"), "it is still there after it was healed", within)
        ),
        proof,
    }
}

/// Waits until a condition holds, once a second, for so long at most.
fn until(condition: &str, otherwise: &str, within: Duration) -> String {
    format!(
        "{NOW}\ne=$(($(now) + {})); while :; do {condition} && exit 0; [ $(now) -lt $e ] || break; sleep 1; done; echo {}; exit 1",
        seconds(within.min(Duration::from_secs(30))),
        quoted(otherwise)
    )
}

/// Seconds since that machine was started: nobody sets this clock.
const NOW: &str = "now() { read -r u r </proc/uptime; echo ${u%%.*}; }";

/// So long a fault lasts over there at most, in whole seconds.
pub fn limit(hold: Duration, within: Duration) -> Duration {
    Duration::from_secs(seconds(hold.saturating_add(within).saturating_add(BEYOND)))
}

/// A fault over there: its name, which nobody else has, and how long it may last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Far {
    pub name: String,
    pub steps: Steps,
    /// From when its watcher is started to when that heals it.
    pub limit: Duration,
    pub within: Duration,
}

impl Far {
    fn directory(&self) -> String {
        format!("{PLACE}{}", self.name)
    }

    /// Starts the watcher, and makes the fault when that is ready.
    pub fn inject(&self) -> String {
        let (d, end) = (self.directory(), format!("=={}==", self.name));
        format!(
            "umask 077; mkdir {d} || exit 3\ncat >{d}/heal <<'{end}'\n{}\n{end}\ncat >{d}/watch <<'{end}'\n{}\n{end}\nsetsid sh {d}/watch \
             </dev/null >/dev/null 2>&1 &\nn=0; until [ -e {d}/watching ]; do n=$((n+1)); [ $n -le 60 ] || {{ echo 'its own limit \
             there does not start'; rm -rf {d}; exit 3; }}; sleep 0.1 2>/dev/null || sleep 1; done\n( {}\n)",
            self.steps.heal,
            self.watcher(),
            self.steps.inject
        )
    }

    /// Heals it when its time is over; ends when somebody else has.
    fn watcher(&self) -> String {
        let d = self.directory();
        // With a handler, and not ignored: what is ignored would be so in the programs that healing starts.
        format!(
            "trap : HUP INT TERM\nd={d}\n{NOW}\ne=$(($(now) + {}))\n: >$d/watching\nwhile [ -d $d ] && [ $(now) -lt $e ]; do sleep 1; \
             done\n{}\n[ -d $d ] || exit 0\nt=0; c=1; while [ $t -lt {TRIES} ]; do t=$((t+1)); sh $d/heal >$d/said 2>&1; c=$?; [ $c -ne 0 ] || break; sleep 1; \
             done\nif [ $c -eq 0 ]; then mv $d/said $d/healed; else mv $d/said $d/failed; rmdir $d/claim; fi\nn=0; while [ -d $d ] && [ $n \
             -lt {SEEN_S} ]; do sleep 5; n=$((n+5)); done\n[ -e $d/failed ] || rm -rf $d",
            seconds(self.limit),
            self.claim("[ -d $d ] || exit 0")
        )
    }

    /// Waits for its turn to heal; who holds it and does not end is passed over: better healed twice than not at all.
    fn claim(&self, look: &str) -> String {
        format!(
            "n=0; until mkdir $d/claim 2>/dev/null; do {look}; n=$((n+1)); [ $n -le {} ] || break; sleep 1; done",
            seconds(self.within).saturating_add(20)
        )
    }

    /// Heals it, whoever has made it, and takes the watcher away; what was done.
    pub fn heal(&self) -> String {
        let d = self.directory();
        let done = "[ -e $d/healed ] && { echo 'its own limit on that machine has healed it:'; cat $d/healed; rm -rf $d; exit 0; }";
        format!(
            "d={d}\nif [ -d $d ]; then {done}\n{}\n{done}\nfi\n( {}\n); c=$?\nif [ $c -eq 0 ]; then rm -rf $d; else rmdir $d/claim \
             2>/dev/null; fi\nexit $c",
            self.claim(&format!("{done}; [ -d $d ] || {{ echo 'somebody else has healed it'; exit 0; }}")),
            self.steps.heal
        )
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::symlink;
    use std::path::{Path, PathBuf};
    use std::process::{Child, Command, Stdio};
    use std::time::Instant;

    use super::*;
    use crate::act::process::Seen;

    const WITHIN: Duration = Duration::from_secs(30);

    /// A place for a test, and the shell that it tries.
    struct Tried {
        home: tempfile::TempDir,
        path: String,
    }

    /// With each shell of this machine in turn as `sh`.
    fn each_shell(test: impl Fn(&Tried)) {
        let mut count = 0;
        let path = std::env::var("PATH").unwrap();
        for (shell, programs) in [
            ("dash", &["sh"][..]),
            ("bash", &["sh"]),
            (
                "busybox",
                &["sh", "setsid", "timeout", "mktemp", "sleep", "head", "grep", "tr", "cat", "mv", "rm"],
            ),
        ] {
            let found: Option<PathBuf> =
                std::env::split_paths(&path).map(|place| place.join(shell)).find(|file| file.exists());
            let Some(found) = found else { continue };
            let home = tempfile::tempdir().unwrap();
            let programs_of = home.path().join("bin");
            fs::create_dir(&programs_of).unwrap();
            for program in programs {
                symlink(&found, programs_of.join(program)).unwrap();
            }
            let path = format!("{}:{path}", programs_of.display());
            test(&Tried { home, path });
            count += 1;
        }
        assert!(count > 0, "no shell");
    }

    impl Tried {
        fn begin(&self, script: &str) -> Child {
            let mut command = Command::new(self.home.path().join("bin/sh"));
            command.arg("-s").env("PATH", &self.path).current_dir(self.home.path());
            let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            let text = format!("(\n{script}\n) </dev/null 2>&1\n");
            child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
            child
        }

        fn run(&self, script: &str) -> (Option<i32>, String) {
            ended(self.begin(script))
        }

        fn has(&self, file: &str) -> bool {
            self.home.path().join(file).exists()
        }

        fn lines(&self, file: &str) -> usize {
            fs::read_to_string(self.home.path().join(file)).unwrap_or_default().lines().count()
        }

        fn far(&self, steps: Steps, limit: Duration) -> Far {
            let name = self.home.path().file_name().unwrap().to_string_lossy().replace('.', "");
            Far { name: format!("test-{name}"), steps, limit, within: WITHIN }
        }
    }

    fn ended(child: Child) -> (Option<i32>, String) {
        let output = child.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    fn until(what: &str, mut good: impl FnMut() -> bool) {
        let end = Instant::now() + Duration::from_secs(60);
        while !good() {
            assert!(Instant::now() < end, "{what} did not happen");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn seen(number: u32) -> Seen {
        Seen::of(&fs::read_to_string(format!("/proc/{number}/stat")).unwrap()).unwrap()
    }

    fn file_fault(heal: &str) -> Steps {
        commands(
            "touch there",
            "test -e there && echo 'it'\\''s there'",
            &format!("echo x >>heals; {heal}"),
            WITHIN,
        )
    }

    #[test]
    fn processes_are_stopped_proved_and_go_on_and_nothing_is_left() {
        each_shell(|tried| {
            assert_eq!(tried.run(&needs()), (Some(0), String::new()));
            let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
            let far = tried.far(stop(&[seen(child.id()).process()]), Duration::from_secs(600));
            assert_ne!(tried.run(&far.steps.proof).0, Some(0));
            assert_eq!(tried.run(&far.inject()), (Some(0), String::new()));
            let proved = tried.run(&far.steps.proof);
            assert_eq!(proved, (Some(0), "1 of 1 processes stand still (state T)".to_owned()));
            assert_eq!(seen(child.id()).state, 'T');
            assert!(Path::new(&far.directory()).exists());
            for _ in 0..2 {
                let healed = tried.run(&far.heal());
                assert_eq!(healed, (Some(0), "1 of 1 processes run again".to_owned()));
                assert_ne!(seen(child.id()).state, 'T');
                assert!(!Path::new(&far.directory()).exists());
            }
            child.kill().unwrap();
            child.wait().unwrap();
            // Another process may have its number by now: it is not the one that was meant.
            assert_eq!(tried.run(&far.heal()), (Some(0), "0 of 1 processes run again".to_owned()));
        });
    }

    #[test]
    fn what_was_killed_is_proved_to_be_gone_and_to_run_again() {
        each_shell(|tried| {
            let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
            let file = tried.home.path().join("its pid");
            fs::write(&file, format!("{} x\n", child.id())).unwrap();
            let again = runs_by_file(&file.display().to_string());
            assert_eq!(tried.run(&again), (Some(0), format!("process {} runs", child.id())));
            let steps =
                kill(&[seen(child.id()).process()], "sleep 1000 & echo $! >'its pid'", &again, WITHIN);
            let far = tried.far(steps, Duration::from_secs(600));
            assert_eq!(tried.run(&far.inject()).0, Some(0));
            until("the kill", || tried.run(&far.steps.proof).0 == Some(0));
            child.wait().unwrap();
            assert_ne!(tried.run(&again).0, Some(0));
            let (code, text) = tried.run(&far.heal());
            let number: u32 = fs::read_to_string(&file).unwrap().trim().parse().unwrap();
            assert_eq!((code, seen(number).state != 'Z'), (Some(0), true), "{text}");
            assert!(text.ends_with(&format!("process {number} runs")), "{text}");
            assert_eq!(tried.run(&runs_by_name("sleep")).0, Some(0));
            assert_ne!(tried.run(&runs_by_name("nothing like it")).0, Some(0));
            assert_eq!(tried.run(&format!("kill {number}")).0, Some(0));
        });
    }

    #[test]
    fn what_nobody_heals_is_healed_there_in_its_time_once_and_who_comes_later_is_told_so() {
        each_shell(|tried| {
            let far = tried.far(file_fault("sleep 2; rm there"), Duration::from_secs(4));
            assert_eq!(tried.run(&far.inject()).0, Some(0));
            assert_eq!(tried.run(&far.steps.proof), (Some(0), "it's there".to_owned()));
            until("the watcher's healing", || tried.has("heals"));
            // While it heals.
            let (code, text) = tried.run(&far.heal());
            assert!(
                code == Some(0) && text.starts_with("its own limit on that machine has healed it:"),
                "{text}"
            );
            assert!(!tried.has("there") && !Path::new(&far.directory()).exists());
            assert_eq!(tried.lines("heals"), 1);
        });
    }

    #[test]
    fn two_that_heal_at_once_heal_once_and_what_cannot_be_healed_is_said_and_tried_again() {
        each_shell(|tried| {
            let far = tried.far(file_fault("sleep 1; rm there"), Duration::from_secs(600));
            assert_eq!(tried.run(&far.inject()).0, Some(0));
            let both = [tried.begin(&far.heal()), tried.begin(&far.heal())].map(ended);
            assert!(both.iter().all(|(code, _)| *code == Some(0)), "{both:?}");
            assert_eq!((tried.lines("heals"), tried.has("there")), (1, false), "{both:?}");

            let far = tried.far(file_fault("test -e mended && rm there"), Duration::from_secs(600));
            assert_eq!(tried.run(&far.inject()).0, Some(0));
            assert_eq!(tried.run(&far.heal()).0, Some(1));
            fs::write(tried.home.path().join("mended"), "").unwrap();
            assert_eq!(tried.run(&far.heal()).0, Some(0));
            assert!(!tried.has("there") && !Path::new(&far.directory()).exists());
        });
    }

    #[test]
    fn a_command_that_does_not_end_is_ended_there() {
        each_shell(|tried| {
            let (code, text) = tried.run(&limited("echo begun; sleep 1000", Duration::from_secs(1)));
            // A shell may say first that it was killed.
            assert!(code == Some(137) && text.lines().any(|line| line == "begun"), "{code:?} {text}");
        });
    }
}
