//! `cosmark lbn`: how far apart on a disk successive requests lie, from a trace or while it happens.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cosmark_nodes::lbn::by_time::ByTime;
use cosmark_nodes::lbn::{Distances, Trace};
use cosmark_nodes::requests::{PAUSE, Requests, TRACING};

use crate::args::LbnArgs;
use crate::exit::{Exit, Outcome, Problem};
use crate::{host, signals, units};

/// Runs the subcommand.
pub fn run(args: &LbnArgs) -> Outcome {
    let only = args.device.as_deref().map(number_of).transpose()?;
    let trace = match &args.file {
        Some(file) => offline(file)?,
        None => live(args.seconds)?,
    };
    let disks = chosen(&trace, only.as_deref());
    if disks.is_empty() {
        let place =
            args.file.as_ref().map_or_else(|| "the time".to_owned(), |file| file.display().to_string());
        if let Some((program, remedy)) = args.file.as_deref().and_then(written_by) {
            return Err(Problem::usage(format!("{place} is what {program} writes: {remedy}")));
        }
        return Err(Problem::usage(format!(
            "no request in {place}: a trace has lines of block_rq_issue (tracefs, perf script, trace-cmd) or of blkparse \
             with action D"
        )));
    }
    if args.json {
        verbatim!("{}", crate::output::json(&disks)?);
    } else {
        let parts: Vec<String> = disks.iter().map(|(disk, distances)| text(disk, distances)).collect();
        println!("{}", parts.join("\n"));
    }
    Ok(Exit::Done)
}

/// The disk that was asked for, or all.
fn chosen<'a>(trace: &'a Trace, only: Option<&str>) -> BTreeMap<&'a str, &'a Distances> {
    let all = trace.disks().iter().map(|(disk, distances)| (disk.as_str(), distances));
    all.filter(|(disk, _)| only.is_none_or(|only| only == *disk)).collect()
}

fn offline(file: &Path) -> Result<Trace, Problem> {
    let wrong = |cause: std::io::Error| Problem::usage(format!("cannot read {}: {cause}", file.display()));
    let mut lines = BufReader::new(File::open(file).map_err(wrong)?);
    let (mut trace, mut line) = (ByTime::default(), Vec::new());
    loop {
        line.clear();
        // A line without an end, as of a binary trace, is taken in pieces, none of which is a request.
        let read = lines.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line).map_err(wrong)?;
        if read == 0 {
            let (trace, steps_back) = trace.end();
            if steps_back > 0 {
                eprintln!(
                    "cosmark: the times of {} go back {}: either another trace begins there, which gives no distance, or the lines of \
                     several processors stand one after the other and have to be merged by time",
                    file.display(),
                    units::count(steps_back, "time")
                );
            }
            return Ok(trace);
        }
        trace.add_line(&String::from_utf8_lossy(&line));
    }
}

/// How traces begin that are no text, who writes them, and what makes text of them.
const BINARY: [(&[u8], &str, &str); 4] = [
    (b"\x07tae", "blktrace", "make text of it by `blkparse -i FILE > trace.txt`"),
    (b"eat\x07", "blktrace", "make text of it by `blkparse -i FILE > trace.txt`"),
    (b"\x17\x08Dtracing", "trace-cmd", "make text of it by `trace-cmd report -i FILE > trace.txt`"),
    (b"PERFILE2", "perf", "make text of it by `perf script -i FILE > trace.txt`"),
];

/// Who wrote a trace that is no text, and what to do.
fn written_by(file: &Path) -> Option<(&'static str, &'static str)> {
    let mut begins = Vec::new();
    File::open(file).ok()?.take(16).read_to_end(&mut begins).ok()?;
    let row = BINARY.iter().find(|(magic, ..)| begins.starts_with(magic))?;
    Some((row.1, row.2))
}

const LONGEST_LINE: u64 = 64 << 10;
/// Follows the requests of this machine's disks.
fn live(seconds: u64) -> Result<Trace, Problem> {
    let refused = |what: &str, cause: std::io::Error| {
        Problem::usage(format!(
            "{what}: {cause}; it needs root, and a kernel with tracing (mount -t tracefs none {TRACING}); elsewhere, trace \
             with blktrace -d DEVICE -o - | blkparse -i - > FILE and give the file"
        ))
    };
    let mut requests = Requests::follow().map_err(|(what, cause)| refused(what, cause))?;
    let runtime = host::runtime()?;
    let mut trace = Trace::default();
    let until = Instant::now() + Duration::from_secs(seconds);
    let read = async {
        while Instant::now() < until {
            if !requests.take(&mut trace).map_err(|cause| refused("its requests cannot be read", cause))? {
                tokio::time::sleep(PAUSE).await;
            }
            tokio::task::yield_now().await;
        }
        Ok::<(), Problem>(())
    };
    runtime.block_on(async {
        tokio::select! {
            ended = read => ended,
            // What was seen until then counts.
            () = signals::first() => Ok(()),
        }
    })?;
    Ok(trace)
}

/// `8,16` of `sdb` or `/dev/sdb`.
fn number_of(device: &str) -> Result<String, Problem> {
    let path = if device.contains('/') { PathBuf::from(device) } else { Path::new("/dev").join(device) };
    let wrong = |why: String| Problem::usage(format!("{}: {why}; `lsblk` lists the disks", path.display()));
    let about = fs::metadata(&path).map_err(|cause| wrong(cause.to_string()))?;
    if !about.file_type().is_block_device() {
        return Err(wrong("it is no disk".to_owned()));
    }
    let number = about.rdev();
    Ok(format!("{},{}", libc::major(number), libc::minor(number)))
}

fn text(disk: &str, found: &Distances) -> String {
    let share = |many: u64| {
        #[expect(clippy::cast_precision_loss, reason = "counts of requests")]
        let part = many as f64 / found.distances.max(1) as f64;
        format!("{:.1} %", part * 100.0)
    };
    let mut lines = vec![format!(
        "disk {disk}: {}; {} of them more than 2 500 000 blocks from the last, {} more than 125 000, {} right behind it",
        units::count(found.requests, "request"),
        share(found.far),
        share(found.beyond_125000),
        share(found.by_log2.get(&0).copied().unwrap_or(0)),
    )];
    let most = found.by_log2.values().copied().max().unwrap_or(1).max(1);
    for (k, many) in &found.by_log2 {
        let bar = "#".repeat(usize::try_from(many * 40 / most).unwrap_or(40));
        let blocks = if *k == 0 { "0".to_owned() } else { format!("< 2^{k}") };
        lines.push(format!("  {blocks:>6} blocks {:>10}  {:>7}  {bar}", units::grouped(*many), share(*many)));
    }
    lines.join("\n")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn a_binary_trace_is_known_by_how_it_begins() {
        let file = std::env::temp_dir().join(format!("cosmark-lbn-{}", std::process::id()));
        let cases: [(&[u8], Option<&str>); 5] = [
            (b"\x07tae\x01\x00\x00\x00\x00", Some("blktrace")),
            (b"\x17\x08Dtracing6\x00", Some("trace-cmd")),
            (b"PERFILE2\x68\x00", Some("perf")),
            (b"8,16 3 11 0.1 697 C W 223490 + 8 [0]\n", None),
            (b"", None),
        ];
        for (bytes, program) in cases {
            fs::write(&file, bytes).unwrap();
            assert_eq!(written_by(&file).map(|(program, _)| program), program, "{bytes:?}");
        }
        fs::remove_file(&file).unwrap();
        assert_eq!(written_by(&file), None);
    }

    #[test]
    fn who_asks_for_one_disk_gets_no_other() {
        let mut trace = Trace::default();
        for disk in ["8,0", "8,16", "8,16"] {
            trace.add_line(&format!("x: block_rq_issue: {disk} R 4096 () 8 + 8 [x]"));
        }
        let names = |only: Option<&str>| chosen(&trace, only).into_keys().collect::<Vec<&str>>();
        assert_eq!(names(None), ["8,0", "8,16"]);
        assert_eq!(names(Some("8,16")), ["8,16"]);
        assert!(names(Some("8,1")).is_empty());
    }
}
