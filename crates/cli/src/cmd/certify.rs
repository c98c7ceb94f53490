//! `cosmark certify`: what a store answers to the questions that who builds on it takes for granted.

use std::future::Future;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use cosmark_archive::{ArchiveError, Timestamp, write_output};
use cosmark_certify::{
    Answer, Certificate, Certifying, Progress, QUESTIONS, Restart, Target, comparison_markdown, html,
    markdown,
};
use cosmark_driver::secrets::{Secrets, resolve_target};
use cosmark_driver::{Permit, open_target, read_target};
use cosmark_workload::diagnostics::nearest;
use cosmark_workload::logins::without_logins;
use cosmark_workload::model::{ConfigValue, TargetSpec};

use crate::args::CertifyArgs;
use crate::cmd::quick;
use crate::exit::{Exit, Outcome, Problem};
use crate::fit::{self, Column};
use crate::load::read_text;
use crate::out::verbatim;
use crate::paint::Ink;
use crate::registry::{CATALOG, READING};
use crate::screen::room;
use crate::secrets::Own;
use crate::{diagnose, host, signals};

/// The command that restarts the store has so long.
const MOST_OF_A_RESTART: Duration = Duration::from_secs(180);

/// What the probe did and saw: for Jepsen's checkers, and for Porcupine.
const HISTORIES: [&str; 2] = ["history.edn", "history.jsonl"];

/// Runs the subcommand.
pub fn run(args: &CertifyArgs) -> Outcome {
    match args.what.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["questions"] => questions(args),
        ["compare", first, second] => compare(first, second),
        ["compare", ..] => {
            Err(Problem::usage("compare takes two files: cosmark certify compare A.json B.json"))
        }
        [word, ..] if meant(word).is_some() => {
            let meant = meant(word).unwrap_or_default();
            Err(Problem::usage(format!(
                "{word}: no such target file; did you mean `cosmark certify {meant}`?"
            )))
        }
        [target] => certify(args, target),
        _ => Err(Problem::usage("give one target, or compare A.json B.json, or questions")),
    }
}

/// The word that a slip of the fingers stands for, where nothing is called so.
fn meant(word: &str) -> Option<&'static str> {
    nearest(word, ["compare", "questions"]).filter(|_| !Path::new(word).exists())
}

/// A table as wide as the terminal, or as a page where there is none; its first column is not broken.
fn framed(columns: &[Column], rows: &[Vec<String>]) -> String {
    fit::table_in(room().or(Some(120)), columns, rows, |_, _| Ink::Plain)
}

/// The table of what is asked.
fn questions(args: &CertifyArgs) -> Outcome {
    let wanted =
        |id: &str| args.only.is_empty() || args.only.iter().any(|begin| id.starts_with(begin.as_str()));
    let rows: Vec<_> = QUESTIONS.iter().copied().flatten().filter(|row| wanted(row.id)).collect();
    if rows.is_empty() {
        return Err(Problem::usage(
            "no question has a name that begins like this: `cosmark certify questions` lists all of them",
        ));
    }
    if args.json {
        let all: Vec<serde_json::Value> = rows
            .iter()
            .map(|row| {
                serde_json::json!({
                    "id": row.id,
                    "group": row.group.title(),
                    "asks": row.asks,
                    "right": row.right,
                    "source": row.source,
                    "is_slow": row.is_slow,
                })
            })
            .collect();
        verbatim!("{}", crate::output::json(&all)?);
        return Ok(Exit::Done);
    }
    const COLUMNS: &[Column] = &[
        Column::text("question"),
        Column::text("what is asked").wraps(20),
        Column::text("what is right").wraps(16),
    ];
    let cells = rows.into_iter().map(|row| {
        let slow = if row.is_slow { " (not with --quick)" } else { "" };
        vec![row.id.to_owned(), format!("{}{slow}", row.asks), row.right.to_owned()]
    });
    println!("{}", framed(COLUMNS, &cells.collect::<Vec<_>>()));
    Ok(Exit::Done)
}

fn compare(first: &str, second: &str) -> Outcome {
    let read = |path: &str| {
        let path = Path::new(path);
        // The directory of the pages stands for what is in it.
        let path = if path.is_dir() { path.join("certify.json") } else { path.to_owned() };
        let text = read_text(&path)?;
        Certificate::from_json(&text).map_err(|why| Problem::usage(format!("{}: {why}", path.display())))
    };
    verbatim(format_args!("{}", comparison_markdown(&read(first)?, &read(second)?)));
    Ok(Exit::Done)
}

/// A store, with its secrets.
struct Site {
    auth: TargetSpec,
    storage: TargetSpec,
    name: String,
    container: Option<String>,
}

impl Site {
    fn read(args: &CertifyArgs, given: &str) -> Result<Self, Problem> {
        let (text, name, container) = if given.contains("://") {
            let place = quick::target_of_url(given, args.insecure).map_err(Problem::usage)?;
            (place.yaml, place.host, place.container)
        } else {
            let path = Path::new(given);
            (read_text(path)?, name_of(path), None)
        };
        let (target, mistakes) = read_target(&READING, &text);
        // The text of a URL has its secrets in it.
        let (place, shown) = if given.contains("://") { (name.as_str(), "") } else { (given, text.as_str()) };
        diagnose::show(place, shown, &mistakes);
        let target = target.ok_or_else(|| {
            Problem::usage(format!("{place}: {}; nothing was sent", diagnose::count(&mistakes)))
        })?;
        let none =
            || TargetSpec { kind: "none".to_owned(), config: Default::default(), span: Default::default() };
        let mut auth = target.auth.unwrap_or_else(none);
        let mut storage = target.storage.ok_or_else(|| {
            Problem::usage(format!("{place}: no `storage:`; docs/guide/certify.md shows a target file"))
        })?;
        resolve_target(&CATALOG, &mut auth, &mut storage, &Own).map_err(Problem::usage)?;
        let name = args.name.clone().unwrap_or(name);
        Ok(Self { auth, storage, name, container: args.container.clone().or(container) })
    }

    /// What no page and no line may show.
    fn secrets(&self) -> Secrets {
        Secrets::of_target(&CATALOG, &self.auth, &self.storage)
    }

    /// Where it is, without a login.
    fn endpoint(&self) -> String {
        let keys = ["endpoint", "storage_url", "auth_url", "url", "directory", "pool"];
        let entries = || self.storage.config.entries.iter().chain(&self.auth.config.entries);
        let value = keys.iter().find_map(|key| entries().find(|entry| entry.key == *key));
        without_logins(&value.and_then(|entry| text_of(&entry.value)).unwrap_or_default())
    }
}

fn text_of(value: &ConfigValue) -> Option<String> {
    match value {
        ConfigValue::Text(text) => Some(text.clone()),
        _ => None,
    }
}

/// `testbeds/swift/s3.yaml` is `swift-s3`, `swift/target.yaml` is `swift`.
fn name_of(path: &Path) -> String {
    let word = |part: Option<&std::ffi::OsStr>| {
        part.map(|part| part.to_string_lossy().into_owned()).unwrap_or_default()
    };
    let (stem, parent) = (word(path.file_stem()), word(path.parent().and_then(Path::file_name)));
    match (stem.as_str(), parent.as_str()) {
        (_, "") => stem,
        ("target", _) => parent,
        _ => format!("{parent}-{stem}"),
    }
}

/// A name as a directory.
fn slug(name: &str) -> String {
    let sign =
        |sign: char| if sign.is_ascii_alphanumeric() || matches!(sign, '-' | '_') { sign } else { '-' };
    let text: String = name.chars().take(60).map(sign).collect();
    if text.is_empty() { "store".to_owned() } else { text }
}

fn certify(args: &CertifyArgs, given: &str) -> Outcome {
    let site = Site::read(args, given)?;
    let opened = open_target(&CATALOG, &Permit::here(), &site.auth, &site.storage).map_err(Problem::usage)?;
    let known = site.secrets();
    let runtime = host::runtime()?;
    let local = tokio::task::LocalSet::new();
    let login = async { tokio::time::timeout(opened.auth.timeout(), opened.auth.login()).await };
    let session = match local.block_on(&runtime, login) {
        Ok(Ok(session)) => session,
        Ok(Err(error)) => return Ok(unreachable(&known.hide(&error.to_string()))),
        Err(_) => return Ok(unreachable("the login has not answered in time")),
    };
    let began = Timestamp::now();
    let certifying = Certifying {
        adaptor: opened.adaptor,
        session: session.into(),
        target: Target {
            name: site.name.clone(),
            adaptor: site.storage.kind.clone(),
            endpoint: site.endpoint(),
            server: None,
        },
        container: site.container.clone(),
        id: own_word(),
        quick: args.quick,
        only: args.only.clone(),
        restart: args.restart.clone().map(|command| Rc::new(ByCommand { command }) as Rc<dyn Restart>),
        hidden: known.stars().clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        began: began.to_string(),
    };
    if certifying.questions().map_err(Problem::usage)?.is_empty() {
        return Err(Problem::usage(
            "no question has a name that begins like this: `cosmark certify questions` lists them",
        ));
    }
    let quiet = args.quiet;
    let mut report_to = |progress: Progress<'_>| {
        if !quiet {
            let last = progress.last;
            eprintln!(
                "[{:>3}/{}] {:<9} {}: {}",
                progress.done,
                progress.of,
                last.answer.word(),
                last.id,
                last.saw
            );
        }
    };
    let ended = async {
        signals::first().await;
        "ended by the user".to_owned()
    };
    let certificate = match local.block_on(&runtime, certifying.run(&mut report_to, ended)) {
        Ok(certificate) => certificate,
        Err(why) => return Ok(unreachable(&known.hide(&why))),
    };
    show(args, &site.name, &certificate)?;
    Ok(exit_of(args, &certificate))
}

fn unreachable(why: &str) -> Exit {
    eprintln!("cosmark: {why}; nothing was asked");
    Exit::Target
}

fn exit_of(args: &CertifyArgs, certificate: &Certificate) -> Exit {
    match &certificate.ended_early {
        Some(why) if why == "ended by the user" => Exit::Cancelled,
        Some(why) if why.starts_with("the store has not answered") => Exit::Target,
        _ if args.strict && certificate.counts.no > 0 => Exit::Missed,
        _ => Exit::Done,
    }
}

/// A word that no other certification has.
fn own_word() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    format!("{:x}-{:x}", now.as_micros() & 0xff_ffff_ffff, std::process::id())
}

fn show(args: &CertifyArgs, name: &str, certificate: &Certificate) -> Result<(), Problem> {
    let directory = args.output.clone().unwrap_or_else(|| PathBuf::from("certify").join(slug(name)));
    std::fs::create_dir_all(&directory).map_err(|cause| {
        let text = format!("cannot make {}: {cause}; give another --output", directory.display());
        Problem::place(text, &cause)
    })?;
    let json = crate::output::json(certificate)?;
    let mut files = vec![
        ("certify.json", format!("{json}\n")),
        ("certify.md", markdown(certificate)),
        ("certify.html", html(certificate)),
    ];
    if certificate.history.is_empty() {
        // What an earlier certification left there would be taken for this one's.
        HISTORIES.iter().for_each(|file| drop(std::fs::remove_file(directory.join(file))));
    } else {
        let [edn, lines] = HISTORIES;
        files.push((edn, certificate.history.jepsen()));
        files.push((lines, certificate.history.porcupine()));
    }
    for (file, text) in &files {
        write_output::<ArchiveError>(&directory.join(file), |out| {
            out.write_all(text.as_bytes())
                .map_err(|source| ArchiveError::Output { path: directory.join(file), source })
        })?;
    }
    if args.json {
        verbatim!("{json}");
        return Ok(());
    }
    if certificate.counts.no + certificate.counts.differs > 0 {
        println!("{}", table(certificate));
    }
    let counts = certificate.counts;
    println!(
        "{name}: {} yes, {} differ, {} no, {} not asked, in {:.0} s",
        counts.yes, counts.differs, counts.no, counts.not_asked, certificate.took_s
    );
    if counts.yes > 0 && counts.no + counts.differs == 0 {
        println!("nothing differs from what the protocol's documents say");
    }
    if let Some(why) = &certificate.ended_early {
        println!("ended early: {why}");
    }
    for what in &certificate.left_behind {
        println!("left behind: {what}");
    }
    println!("pages: {}", directory.join("certify.html").display());
    Ok(())
}

/// What is not as the documents say.
fn table(certificate: &Certificate) -> String {
    const COLUMNS: &[Column] = &[
        Column::text("answer"),
        Column::text("question").wraps(20),
        Column::text("seen").wraps(16),
        Column::text("right").wraps(16),
    ];
    let answered = [Answer::No, Answer::Differs].into_iter().flat_map(|answer| {
        certificate.answered(answer).map(move |one| {
            let asked = format!("{}\n{}", one.asks, one.id);
            vec![answer.word().to_owned(), asked, one.saw.clone(), one.right.clone()]
        })
    });
    framed(COLUMNS, &answered.collect::<Vec<_>>())
}

/// A command of this machine's user.
struct ByCommand {
    command: String,
}

impl Restart for ByCommand {
    fn restart(&self) -> Pin<Box<dyn Future<Output = Result<(), String>> + '_>> {
        Box::pin(async {
            let mut command = Command::new("sh");
            command
                .arg("-c")
                .arg(&self.command)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .process_group(0);
            let mut begun = Begun(command.spawn().map_err(|cause| format!("sh cannot be started: {cause}"))?);
            let began = Instant::now();
            loop {
                match begun.0.try_wait() {
                    Ok(Some(status)) if status.success() => return Ok(()),
                    Ok(Some(status)) => return Err(format!("it ended with {status}")),
                    Ok(None) if began.elapsed() < MOST_OF_A_RESTART => {}
                    Ok(None) => {
                        return Err(format!("it has not ended within {} s", MOST_OF_A_RESTART.as_secs()));
                    }
                    Err(cause) => return Err(cause.to_string()),
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        })
    }
}

/// A command that was begun. One that has not come to its end when nobody waits for it any more is ended with all that it
/// started; what one that has ended left running, as a store that it started, stays.
struct Begun(Child);

impl Drop for Begun {
    fn drop(&mut self) {
        if !matches!(self.0.try_wait(), Ok(None)) {
            return;
        }
        if let Ok(group) = libc::pid_t::try_from(self.0.id()) {
            // SAFETY: a plain system call; the group is that of a process that was started here and not waited for.
            unsafe { libc::killpg(group, libc::SIGKILL) };
        }
        drop(self.0.wait());
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn every_address_of_a_store_is_on_its_page_and_no_login_of_any() {
        let text = "storage:\n  type: s3\n  endpoint: 'http://u:w,rd@a:80,http://v:word@b:80'\n  secretkey: 'p\\ass'\n";
        let target = cosmark_workload::parse_target(text).0.unwrap();
        let auth =
            TargetSpec { kind: "none".to_owned(), config: Default::default(), span: Default::default() };
        let (storage, name) = (target.storage.unwrap(), "s".to_owned());
        let site = Site { auth, storage, name, container: None };
        assert_eq!(site.endpoint(), "http://a:80,http://b:80");
        let known = site.secrets();
        for secret in ["u:w,rd", "v:word", "p\\ass", "p%5Cass"] {
            assert_eq!(known.hide(&format!("no {secret} here: {secret}")), "no *** here: ***");
        }
    }

    /// A restart that starts something and writes its number into a file.
    fn starting(file: &Path, then: &str) -> ByCommand {
        let file = file.display();
        let command =
            format!("sleep 600 >/dev/null 2>&1 & echo $! > {file}.part && mv {file}.part {file}; {then}");
        ByCommand { command }
    }

    fn runs(number: &str) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{number}/stat"));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    }

    #[tokio::test]
    async fn a_restart_that_nobody_waits_for_is_ended_with_all_that_it_started() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("number");
        let own = starting(&file, "wait");
        let mut restart = own.restart();
        while !file.exists() {
            drop(tokio::time::timeout(Duration::from_millis(50), &mut restart).await);
        }
        let number = std::fs::read_to_string(&file).unwrap().trim().to_owned();
        assert!(runs(&number));
        drop(restart);
        let until = Instant::now() + Duration::from_secs(60);
        while runs(&number) && Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert!(!runs(&number));
    }

    #[tokio::test]
    async fn a_store_that_a_restart_has_started_goes_on() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("number");
        assert_eq!(starting(&file, "true").restart().await, Ok(()));
        let number = std::fs::read_to_string(&file).unwrap().trim().to_owned();
        assert!(runs(&number));
        // SAFETY: a signal to a process that this test has started; no memory is involved.
        unsafe { libc::kill(number.parse().unwrap(), libc::SIGKILL) };
    }
}
