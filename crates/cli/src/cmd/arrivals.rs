//! Access logs to recorded arrivals: `cosmark convert access.log`. One pass, in memory that does not grow with the log.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;

use cosmark_archive::ArchiveError;
use cosmark_workload::access_log::{ASKED, Asked, LogFormat, LoggedRequest};

use crate::args::ConvertArgs;
use crate::exit::{Exit, Outcome, Problem};
use crate::load::{is_packed, packed};
use crate::out::nobody_reads;
use crate::output;

/// Logs are nearly in order: a line may be this many lines late.
const MOST_WAITING: usize = 1 << 20;
/// Requests of one second that are spread over it.
const MOST_IN_A_SECOND: usize = 1 << 22;
/// A line is cut here.
const LONGEST_LINE: u64 = 1 << 16;
/// The mark of byte order that some editors put first.
const MARK: &[u8] = "\u{feff}".as_bytes();
/// Bad lines that are shown.
const MOST_SHOWN: u64 = 10;

/// The format of a log, if the file is one.
#[must_use]
pub fn detect(path: &Path) -> Option<LogFormat> {
    let mut lines = Lines { input: BufReader::new(File::open(path).ok()?.take(LONGEST_LINE)), number: 0 };
    while lines.number < 100 {
        let line = lines.next().ok()??;
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') {
            return LogFormat::detect(line);
        }
    }
    None
}

/// Converts a log.
pub fn run(args: &ConvertArgs, format: LogFormat) -> Outcome {
    let input: Box<dyn Read> = if args.file.as_os_str() == "-" {
        Box::new(io::stdin().lock())
    } else {
        let cannot = |cause| Problem::usage(format!("cannot read {}: {cause}", args.file.display()));
        Box::new(File::open(&args.file).map_err(cannot)?)
    };
    let only = wanted(&args.only)?;
    let shown = args.file.display();
    let mut seen = Seen::default();
    let mut lines = Lines { input: BufReader::new(input), number: 0 };
    if lines.input.fill_buf().is_ok_and(is_packed) {
        return Err(packed(&args.file));
    }
    output::write(args.output.as_deref(), |out| {
        let path = args.output.clone().unwrap_or_else(|| "-".into());
        let cannot =
            |source: io::Error| -> Problem { ArchiveError::Output { path: path.clone(), source }.into() };
        let mut writer = Arrivals::new(BufWriter::new(out), args.time_warp);
        while let Some(line) =
            lines.next().map_err(|cause| Problem::usage(format!("cannot read {shown}: {cause}")))?
        {
            if nobody_reads() {
                return Ok(());
            }
            match format.parse_line(&line) {
                Ok(None) => {}
                Ok(Some(request)) if only.is_empty() || only.contains(&request.asked) => {
                    writer.take(request).map_err(cannot)?;
                }
                Ok(Some(_)) => seen.left_out += 1,
                Err(problem) => {
                    seen.bad += 1;
                    if seen.bad <= MOST_SHOWN {
                        eprintln!("{shown}:{}: {problem}", lines.number);
                    }
                }
            }
        }
        writer.finish().map_err(cannot)?.iter().for_each(|line| eprintln!("cosmark: {line}"));
        seen.judge(args)
    })?;
    Ok(Exit::Done)
}

/// Lines that did not become arrivals.
#[derive(Default)]
struct Seen {
    bad: u64,
    left_out: u64,
}

impl Seen {
    /// Bad lines make the conversion fail, unless they were to be left out.
    fn judge(&self, args: &ConvertArgs) -> Result<(), Problem> {
        if self.left_out > 0 {
            eprintln!("cosmark: {} requests were left out by --only", self.left_out);
        }
        if self.bad > 0 && !args.skip_bad {
            return Err(Problem::usage(format!(
                "{}: {} lines cannot be read; mend them, or leave them out with --skip-bad",
                args.file.display(),
                self.bad
            )));
        }
        if self.bad > 0 {
            eprintln!("cosmark: {} lines were left out because they cannot be read", self.bad);
        }
        Ok(())
    }
}

fn wanted(words: &[String]) -> Result<Vec<Asked>, Problem> {
    let known = || ASKED.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
    words
        .iter()
        .map(|word| {
            let found = ASKED.iter().find(|(known, _)| known == word).map(|(_, asked)| *asked);
            found.ok_or_else(|| Problem::usage(format!("--only {word}: give some of {}", known())))
        })
        .collect()
}

/// Lines of bounded length, whatever bytes they hold.
struct Lines<R> {
    input: R,
    /// Of the last line, from 1.
    number: u64,
}

impl<R: BufRead> Lines<R> {
    fn next(&mut self) -> io::Result<Option<String>> {
        let mut line = Vec::new();
        if (&mut self.input).take(LONGEST_LINE).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        self.number += 1;
        if self.number == 1 && line.starts_with(MARK) {
            line.drain(..MARK.len());
        }
        if line.last() != Some(&b'\n') {
            // The rest of a line that is too long says nothing that we want.
            self.skip_line()?;
        }
        Ok(Some(String::from_utf8_lossy(&line).into_owned()))
    }

    fn skip_line(&mut self) -> io::Result<()> {
        loop {
            let buffer = self.input.fill_buf()?;
            let (used, is_over) = match buffer.iter().position(|byte| *byte == b'\n') {
                Some(at) => (at + 1, true),
                None => (buffer.len(), buffer.is_empty()),
            };
            self.input.consume(used);
            if is_over {
                return Ok(());
            }
        }
    }
}

/// When, its number in the log, what, how large.
type Waiting = (i64, u64, Asked, Option<u64>);

/// Puts requests in order and writes them as offsets from the first one.
struct Arrivals<W: Write> {
    out: W,
    time_warp: f64,
    /// The earliest on top; the number keeps equal ones in the order of the log.
    waiting: BinaryHeap<Reverse<Waiting>>,
    seen: u64,
    /// Requests of the second that is being gathered, of logs that know whole seconds only.
    second: Vec<(Asked, Option<u64>)>,
    at_ns: Option<i64>,
    first_ns: Option<i64>,
    is_whole_seconds: bool,
    late: u64,
    written: u64,
    busiest: usize,
}

impl<W: Write> Arrivals<W> {
    fn new(out: W, time_warp: f64) -> Self {
        Self {
            out,
            time_warp,
            waiting: BinaryHeap::new(),
            seen: 0,
            second: Vec::new(),
            at_ns: None,
            first_ns: None,
            is_whole_seconds: false,
            late: 0,
            written: 0,
            busiest: 0,
        }
    }

    fn take(&mut self, request: LoggedRequest) -> io::Result<()> {
        let LoggedRequest { at_ns, is_whole_second, asked, bytes } = request;
        if self.seen == 0 {
            writeln!(self.out, "# seconds,operation,bytes")?;
        }
        self.is_whole_seconds |= is_whole_second;
        self.waiting.push(Reverse((at_ns, self.seen, asked, bytes)));
        self.seen += 1;
        if self.waiting.len() > MOST_WAITING { self.pass_on() } else { Ok(()) }
    }

    /// Takes the earliest out of the queue.
    fn pass_on(&mut self) -> io::Result<()> {
        let Some(Reverse((at_ns, _, asked, bytes))) = self.waiting.pop() else { return Ok(()) };
        let last_ns = self.at_ns.unwrap_or(at_ns);
        self.late += u64::from(at_ns < last_ns);
        let at_ns = at_ns.max(last_ns);
        if at_ns != last_ns || self.second.len() >= MOST_IN_A_SECOND {
            self.write_second()?;
        }
        self.at_ns = Some(at_ns);
        self.second.push((asked, bytes));
        Ok(())
    }

    /// Writes what came at one moment; where the log knows whole seconds only, evenly over that second.
    fn write_second(&mut self) -> io::Result<()> {
        let Some(at_ns) = self.at_ns else { return Ok(()) };
        let first_ns = *self.first_ns.get_or_insert(at_ns);
        let step_ns = if self.is_whole_seconds { 1e9 / self.second.len().max(1) as f64 } else { 0.0 };
        self.busiest = self.busiest.max(self.second.len());
        for (number, (asked, bytes)) in self.second.drain(..).enumerate() {
            let offset_s = ((at_ns - first_ns) as f64 + step_ns * number as f64) / 1e9 / self.time_warp;
            match bytes {
                Some(bytes) => writeln!(self.out, "{offset_s:.9},{asked},{bytes}")?,
                None => writeln!(self.out, "{offset_s:.9},{asked},")?,
            }
            self.written += 1;
        }
        Ok(())
    }

    /// Writes what is left; gives what there is to say.
    fn finish(mut self) -> io::Result<Vec<String>> {
        while !self.waiting.is_empty() {
            self.pass_on()?;
        }
        self.write_second()?;
        self.out.flush()?;
        let length_s = match (self.first_ns, self.at_ns) {
            (Some(first_ns), Some(last_ns)) => {
                // The last requests are spread over their second as well.
                let spread_ns = if self.is_whole_seconds { 1e9 } else { 0.0 };
                ((last_ns - first_ns) as f64 + spread_ns) / 1e9 / self.time_warp
            }
            _ => 0.0,
        };
        let mut said = vec![format!("{} arrivals over {length_s:.1} s", self.written)];
        if length_s > 0.0 {
            said[0].push_str(&format!(", {:.2}/s on average", self.written as f64 / length_s));
        }
        if self.is_whole_seconds {
            said.push(format!(
                "the log knows whole seconds only: requests of one second (at most {}) are spread evenly over it",
                self.busiest
            ));
        }
        if self.late > 0 {
            said.push(format!(
                "{} lines were too far out of order and come as soon as possible instead",
                self.late
            ));
        }
        Ok(said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn convert(format: LogFormat, text: &str, time_warp: f64) -> (String, Vec<String>) {
        let mut out = Vec::new();
        let mut arrivals = Arrivals::new(&mut out, time_warp);
        for line in text.lines() {
            if let Some(request) = format.parse_line(line).unwrap() {
                arrivals.take(request).unwrap();
            }
        }
        let said = arrivals.finish().unwrap();
        (String::from_utf8(out).unwrap(), said)
    }

    #[test]
    fn lines_out_of_order_are_put_in_order_and_time_can_run_faster() {
        let (text, said) = convert(LogFormat::Plain, "100.5,get,10\n100\n103,put,7\n", 2.0);
        assert_eq!(
            text,
            "# seconds,operation,bytes\n0.000000000,other,\n0.250000000,read,10\n1.500000000,write,7\n"
        );
        assert_eq!(said, ["3 arrivals over 1.5 s, 2.00/s on average"]);
    }

    #[test]
    fn requests_of_a_whole_second_are_spread_over_it() {
        let line =
            |second: u32| format!("h - - [10/Oct/2000:13:55:{second:02} +0000] \"GET /x HTTP/1.0\" 200 5\n");
        let log = [36, 36, 38, 36, 36].map(line).concat();
        let (text, said) = convert(LogFormat::Combined, &log, 1.0);
        let offsets: Vec<&str> = text.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
        assert_eq!(offsets, ["0.000000000", "0.250000000", "0.500000000", "0.750000000", "2.000000000"]);
        assert_eq!(said[0], "5 arrivals over 3.0 s, 1.67/s on average", "the last second counts, too");
        assert!(said[1].contains("at most 4"), "{said:?}");
        let (_, said) = convert(LogFormat::Combined, &line(36).repeat(100), 2.0);
        assert_eq!(said[0], "100 arrivals over 0.5 s, 200.00/s on average");
    }

    #[test]
    fn a_log_is_known_by_its_first_line_whatever_bytes_are_in_it() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("log");
        let of = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            detect(&path)
        };
        let latin = b"h - - [10/Oct/2000:13:55:36 +0000] \"GET /caf\xe9 HTTP/1.0\" 200 5 \"-\" \"\xfc\"\n";
        assert_eq!(of(latin), Some(LogFormat::Combined));
        assert_eq!(of(b"\xef\xbb\xbf1739.25,get,4096\n1740,put,1\n"), Some(LogFormat::Plain));
        assert_eq!(of(b"\n# made by hand\n0.5\n"), Some(LogFormat::Plain));
        assert_eq!(of(b"name: x\n0.5\n"), None);
        assert_eq!(of(b"#\n".repeat(200).as_slice()), None);
        let mut lines = Lines { input: BufReader::new(b"\xef\xbb\xbf1\n".as_slice()), number: 0 };
        assert_eq!(lines.next().unwrap().as_deref(), Some("1\n"));
    }

    #[test]
    fn a_line_without_end_is_cut_and_counted_once() {
        let text = [b"1,".as_slice(), &vec![b'x'; 3 << 16], b"\n2\n"].concat();
        let mut lines = Lines { input: BufReader::new(text.as_slice()), number: 0 };
        assert_eq!(lines.next().unwrap().map(|line| line.len()), Some(1 << 16));
        assert_eq!(lines.next().unwrap().as_deref(), Some("2\n"));
        assert_eq!((lines.next().unwrap(), lines.number), (None, 2));
    }
}
