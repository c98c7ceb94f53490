//! `histograms.hlog`: every interval's distributions in the HdrHistogram log format 1.3 (V2 encoding, deflated), which
//! the tools around HdrHistogram read. Source: HistogramLogWriter and HistogramLogReader of HdrHistogram/HdrHistogram.

use data_encoding::BASE64;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use cosmark_metrics::{Latency, OpSnapshot, Phase};
use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::interval_log::{IntervalLogHistogram, IntervalLogIterator, LogEntry};
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use jiff::Timestamp;

use crate::ArchiveError;
use crate::directory::counts::MOST;
use crate::directory::files::GrowingFile;
use crate::regular;

/// Name of the file in a run directory.
pub const FILE_NAME: &str = "histograms.hlog";

/// Nothing in a log lasts longer, or begins later after its base time: three hundred years, as in the other tables of
/// a run.
const LONGEST: Duration = Duration::from_secs(10_000_000_000);

/// A longer line is damage: a histogram of all 30 000 buckets needs less.
const MOST_LINE_BYTES: u64 = 4 << 20;

/// First bytes of the compressed V2 encoding.
const COMPRESSED_COOKIE: [u8; 4] = [0x1c, 0x84, 0x93, 0x14];
/// Bytes before the counts of the plain V2 encoding.
const PLAIN_HEAD_BYTES: u64 = 40;
/// A longer plain encoding is damage: a count takes at most 9 bytes.
const MOST_PLAIN_BYTES: u64 = 1 << 20;

/// More classes of sizes of one operation are damage: each begins at a power of two, and there are fewer.
const MOST_SIZES: usize = 64;

/// Which of an operation's times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TimeKind {
    /// From due to the end.
    Response,
    /// From sent to the end.
    Service,
    /// From sent to the first byte.
    FirstByte,
}

impl TimeKind {
    /// All of them.
    pub const ALL: [TimeKind; 3] = [TimeKind::Response, TimeKind::Service, TimeKind::FirstByte];

    /// These times of an operation; `None` where they are not logged.
    #[must_use]
    pub fn of(self, op: &OpSnapshot) -> Option<&Latency> {
        match self {
            Self::Response => Some(op.response_or_service()),
            // Without pacing the two are the same; once is enough.
            Self::Service if op.response.count() == 0 => None,
            Self::Service => Some(&op.service),
            Self::FirstByte => Some(&op.first_byte),
        }
    }

    /// The word in a tag.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Response => "response",
            Self::Service => "service",
            Self::FirstByte => "first_byte",
        }
    }
}

fn phase_suffix(phase: Phase) -> &'static str {
    match phase {
        Phase::Rampup => ".rampup",
        Phase::Window => "",
        Phase::Rampdown => ".rampdown",
        Phase::Drain => ".drain",
    }
}

fn head(base: Timestamp) -> String {
    let seconds = Duration::try_from(base.as_duration()).unwrap_or_default().as_secs_f64();
    format!(
        "#[Histogram log format version 1.3]\n\
         #[StartTime: {seconds:.3} (seconds since epoch), {base:.3}]\n\
         #[BaseTime: {seconds:.3} (seconds since epoch)]\n\
         #[Values are nanoseconds, Interval_Max is milliseconds]\n\
         \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n"
    )
}

/// What the tags of an operation's classes of sizes begin with. They end in a number, and no other tag does: the tag of another
/// operation ends in a kind of time or a phase, whatever that operation is called.
fn head_of_sizes(tag: &str) -> String {
    format!("{tag}.{}.size_", TimeKind::Response.word())
}

/// Writes the log of one run.
pub struct LogWriter {
    file: GrowingFile,
    base: Timestamp,
    serializer: V2DeflateSerializer,
}

impl LogWriter {
    /// Starts the log; times in it count from `base`.
    pub fn create(dir: &Path, base: Timestamp) -> Result<Self, ArchiveError> {
        let file = GrowingFile::create(&dir.join(FILE_NAME), head(base).as_bytes())?;
        Ok(Self { file, base, serializer: V2DeflateSerializer::new() })
    }

    /// Goes on with the log that another process left.
    pub fn reopen(dir: &Path, base: Timestamp) -> Result<Self, ArchiveError> {
        let file = GrowingFile::reopen(&dir.join(FILE_NAME), head(base).as_bytes())?;
        Ok(Self { file, base, serializer: V2DeflateSerializer::new() })
    }

    /// The file itself.
    pub fn file(&mut self) -> &mut GrowingFile {
        &mut self.file
    }
    /// Adds what one operation did in one slice that began at `start`.
    pub fn append(
        &mut self,
        tag: &str,
        phase: Phase,
        start: Timestamp,
        length: Duration,
        op: &OpSnapshot,
    ) -> Result<(), ArchiveError> {
        let mut text = String::new();
        for kind in TimeKind::ALL {
            let Some(times) = kind.of(op) else { continue };
            let suffix = phase_suffix(phase);
            self.push_line(&mut text, &format!("{tag}.{}{suffix}", kind.word()), start, length, times)?;
        }
        if text.is_empty() { Ok(()) } else { self.file.append(text.as_bytes()) }
    }

    /// Adds how long the successes of each class of sizes took in a whole window that began at `start`; nothing where all were
    /// of one class.
    pub fn append_sizes(
        &mut self,
        tag: &str,
        start: Timestamp,
        length: Duration,
        op: &OpSnapshot,
    ) -> Result<(), ArchiveError> {
        let mut text = String::new();
        for (class, sums) in op.sizes.several() {
            let tag = format!("{}{}", head_of_sizes(tag), class.least_bytes());
            self.push_line(&mut text, &tag, start, length, sums.response_or_service())?;
        }
        if text.is_empty() { Ok(()) } else { self.file.append(text.as_bytes()) }
    }

    fn push_line(
        &mut self,
        text: &mut String,
        tag: &str,
        start: Timestamp,
        length: Duration,
        times: &Latency,
    ) -> Result<(), ArchiveError> {
        let Some(histogram) = times.filled() else { return Ok(()) };
        let mut encoded = Vec::new();
        self.serializer.serialize(&histogram, &mut encoded).map_err(|error| ArchiveError::Unreadable {
            path: self.file.path().to_owned(),
            problem: format!("a histogram could not be encoded: {error:?}"),
            remedy: "report this as a bug",
        })?;
        let since = Duration::try_from(start.duration_since(self.base)).unwrap_or_default();
        #[expect(clippy::cast_precision_loss, reason = "for the eye only; the histogram itself is exact")]
        let max_ms = histogram.max() as f64 / 1e6;
        text.push_str(&format!(
            "Tag={tag},{:.3},{:.3},{max_ms:.3},",
            since.as_secs_f64(),
            length.as_secs_f64()
        ));
        BASE64.encode_append(&encoded, text);
        text.push('\n');
        Ok(())
    }
}

/// One line of the log.
#[derive(Debug, Clone)]
pub struct LoggedHistogram {
    /// `<stage id>.<operation>.<kind>`, with `.rampup`, `.rampdown` or `.drain` outside the measured window.
    pub tag: String,
    /// Start of the interval, counted from the log's base time.
    pub start: Duration,
    /// Length of the interval.
    pub length: Duration,
    /// The times, in ns.
    pub histogram: Histogram<u64>,
}

/// Reads a histogram log, line by line.
#[derive(Debug)]
pub struct HistogramLog {
    path: PathBuf,
    lines: BufReader<File>,
    line: u64,
    ended: bool,
    /// Values of all histograms that were read.
    counted: u64,
}

impl HistogramLog {
    /// Opens the log of the run in `dir`.
    ///
    /// # Errors
    /// When there is none.
    pub fn open(dir: &Path) -> Result<Self, ArchiveError> {
        let path = dir.join(FILE_NAME);
        let file = regular::open(&path).map_err(ArchiveError::io("read", &path))?;
        Ok(Self { path, lines: BufReader::with_capacity(1 << 16, file), line: 0, ended: false, counted: 0 })
    }

    /// Opens the log at its last `bytes`: what happened lately, however long the run is.
    ///
    /// # Errors
    /// When there is none.
    pub fn open_at_end(dir: &Path, bytes: u64) -> Result<Self, ArchiveError> {
        let mut log = Self::open(dir)?;
        let length = log.lines.get_ref().metadata().map_err(ArchiveError::io("read", &log.path))?.len();
        if length > bytes {
            log.lines.seek(SeekFrom::Start(length - bytes)).map_err(ArchiveError::io("read", &log.path))?;
            // Most likely the middle of a line.
            log.read_line()?;
        }
        Ok(log)
    }

    /// All intervals of one operation's measured window in one histogram of ns; `None` when there is none. `tag` is
    /// [`crate::OperationResult::tag`].
    ///
    /// # Errors
    /// When the log is damaged.
    pub fn merged(dir: &Path, tag: &str, kind: TimeKind) -> Result<Option<Histogram<u64>>, ArchiveError> {
        // Written once where the two are the same: see `LogWriter::append`.
        let wanted = [format!("{tag}.{}", kind.word()), format!("{tag}.{}", TimeKind::Response.word())];
        let mut found: [Option<Histogram<u64>>; 2] = [None, None];
        let mut log = Self::open(dir)?;
        while let Some(entry) = log.next_wanted(&mut |tag| wanted.iter().any(|wanted| wanted == tag)) {
            let entry = entry?;
            let Some(at) = wanted.iter().position(|tag| *tag == entry.tag) else { continue };
            match found.get_mut(at) {
                Some(Some(sum)) => sum.add(&entry.histogram).map_err(|error| ArchiveError::Unreadable {
                    path: dir.join(FILE_NAME),
                    problem: format!("histograms of {tag} do not fit together: {error:?}"),
                    remedy: "restore the file from a copy",
                })?,
                Some(none) => *none = Some(entry.histogram),
                None => {}
            }
        }
        let [own, response] = found;
        Ok(if kind == TimeKind::Service { own.or(response) } else { own })
    }

    /// Response times of an operation's measured window by class of size, in ns: the least size of the class in bytes, as in
    /// [`crate::SizeClassResult`], and its histogram, ascending; empty where all were of one class, of a run that was killed and of one
    /// that an older version made.
    ///
    /// # Errors
    /// When there is no log, or it is damaged.
    pub fn by_size(dir: &Path, tag: &str) -> Result<Vec<(u64, Histogram<u64>)>, ArchiveError> {
        let head = head_of_sizes(tag);
        let size_of = |tag: &str| tag.strip_prefix(&head)?.parse::<u64>().ok();
        let mut found = std::collections::BTreeMap::new();
        let mut log = Self::open(dir)?;
        while let Some(entry) = log.next_wanted(&mut |tag| size_of(tag).is_some()) {
            let entry = entry?;
            if let Some(least_bytes) = size_of(&entry.tag) {
                found.insert(least_bytes, entry.histogram);
            }
            if found.len() > MOST_SIZES {
                return Err(log.damaged(format!("more than {MOST_SIZES} classes of sizes of {tag}")));
            }
        }
        Ok(found.into_iter().collect())
    }

    /// Calls `each` with tag, start and length of every interval; no histogram is decoded. For planning an axis before
    /// the histograms are read.
    ///
    /// # Errors
    /// When there is no log, or it is damaged.
    pub fn marks(dir: &Path, each: impl FnMut(&str, Duration, Duration)) -> Result<(), ArchiveError> {
        Self::open(dir)?.read_marks(each)
    }

    /// The same of the last `bytes` of the log.
    pub(crate) fn last_marks(
        dir: &Path,
        bytes: u64,
        each: impl FnMut(&str, Duration, Duration),
    ) -> Result<(), ArchiveError> {
        Self::open_at_end(dir, bytes)?.read_marks(each)
    }

    fn read_marks(mut self, mut each: impl FnMut(&str, Duration, Duration)) -> Result<(), ArchiveError> {
        while let Some(line) = self.read_line()? {
            match IntervalLogIterator::new(&line).next() {
                Some(Ok(LogEntry::Interval(entry))) => {
                    self.check_times(&entry)?;
                    let tag = entry.tag().map(|tag| tag.as_str().to_owned()).unwrap_or_default();
                    each(&tag, entry.start_timestamp(), entry.duration());
                }
                Some(Ok(_)) | None => {}
                Some(Err(_)) => return Err(self.damaged("not a line of a histogram log".to_owned())),
            }
        }
        Ok(())
    }

    /// Whoever reads a log may add its times up as they are.
    fn check_times(&self, entry: &IntervalLogHistogram<'_>) -> Result<(), ArchiveError> {
        if entry.start_timestamp().max(entry.duration()) <= LONGEST {
            return Ok(());
        }
        Err(self.damaged("no run is so long".to_owned()))
    }

    fn damaged(&self, problem: String) -> ArchiveError {
        ArchiveError::Damaged {
            path: self.path.clone(),
            line: self.line,
            problem,
            remedy: "restore the file from a copy, or delete the line",
        }
    }

    fn read_line(&mut self) -> Result<Option<Vec<u8>>, ArchiveError> {
        let mut line = Vec::new();
        let read = (&mut self.lines).take(MOST_LINE_BYTES).read_until(b'\n', &mut line);
        read.map_err(ArchiveError::io("read", &self.path))?;
        self.line += 1;
        match line.last() {
            Some(b'\n') => Ok(Some(line)),
            // Cut short by a kill: what was written before it counts.
            _ if (line.len() as u64) < MOST_LINE_BYTES => Ok(None),
            _ => Err(self.damaged(format!("a line of more than {MOST_LINE_BYTES} bytes"))),
        }
    }

    fn parse(
        &self,
        line: &[u8],
        wanted: &mut dyn FnMut(&str) -> bool,
    ) -> Result<Option<LoggedHistogram>, ArchiveError> {
        let entry = match IntervalLogIterator::new(line).next() {
            Some(Ok(LogEntry::Interval(entry))) => entry,
            Some(Ok(_)) | None => return Ok(None),
            Some(Err(_)) => return Err(self.damaged("not a line of a histogram log".to_owned())),
        };
        let tag = entry.tag().map(|tag| tag.as_str().to_owned()).unwrap_or_default();
        if !wanted(&tag) {
            return Ok(None);
        }
        self.check_times(&entry)?;
        let bytes = BASE64
            .decode(entry.encoded_histogram().as_bytes())
            .map_err(|error| self.damaged(format!("not base64: {error}")))?;
        let histogram =
            decode(&bytes).map_err(|problem| self.damaged(format!("not a histogram: {problem}")))?;
        Ok(Some(LoggedHistogram { tag, start: entry.start_timestamp(), length: entry.duration(), histogram }))
    }

    /// Whoever reads a log may add its counts up as they are.
    fn add_up(&mut self, entry: Option<LoggedHistogram>) -> Result<Option<LoggedHistogram>, ArchiveError> {
        let count = entry.as_ref().map_or(0, |entry| entry.histogram.len());
        self.counted = self.counted.saturating_add(count);
        if u128::from(self.counted) > MOST {
            return Err(self.damaged("the counts up to here are more than a run can have".to_owned()));
        }
        Ok(entry)
    }

    /// The next line whose tag is wanted; the others are not even decoded.
    pub fn next_wanted(
        &mut self,
        wanted: &mut dyn FnMut(&str) -> bool,
    ) -> Option<Result<LoggedHistogram, ArchiveError>> {
        while !self.ended {
            let parsed = match self.read_line() {
                Ok(Some(line)) => self.parse(&line, wanted).and_then(|entry| self.add_up(entry)),
                Ok(None) => {
                    self.ended = true;
                    return None;
                }
                Err(error) => Err(error),
            };
            match parsed {
                Ok(Some(entry)) => return Some(Ok(entry)),
                Ok(None) => {}
                Err(error) => {
                    self.ended = true;
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

/// Reads the compressed V2 encoding: a cookie and a length, then deflated the plain V2 encoding, which has a cookie, the
/// length of its counts, 32 bytes of head, and its counts. Lengths are believed only as far as there are bytes.
fn decode(bytes: &[u8]) -> Result<Histogram<u64>, String> {
    let (head, deflated) = bytes.split_at_checked(8).ok_or("too short")?;
    if !head.starts_with(&COMPRESSED_COOKIE) {
        return Err("another encoding than compressed V2".to_owned());
    }
    let mut plain = Vec::new();
    ZlibDecoder::new(deflated)
        .take(MOST_PLAIN_BYTES)
        .read_to_end(&mut plain)
        .map_err(|error| format!("cannot be inflated ({error})"))?;
    let counts = plain.get(4..8).and_then(|length| length.try_into().ok()).map(u32::from_be_bytes);
    if counts.map(|counts| u64::from(counts) + PLAIN_HEAD_BYTES) != Some(plain.len() as u64) {
        return Err("its length is not what it says".to_owned());
    }
    Deserializer::new().deserialize(&mut plain.as_slice()).map_err(|error| format!("{error:?}"))
}

impl Iterator for HistogramLog {
    type Item = Result<LoggedHistogram, ArchiveError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_wanted(&mut |_| true)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::ZlibEncoder;

    use super::*;

    fn encoded() -> Vec<u8> {
        let mut histogram = Histogram::<u64>::new_with_bounds(1, 3_600_000_000_000, 3).unwrap();
        (1..500_u64).for_each(|n| histogram.record(n * n * 1000).unwrap());
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(&histogram, &mut bytes).unwrap();
        bytes
    }

    fn deflated(plain: &[u8]) -> Vec<u8> {
        let mut bytes = COMPRESSED_COOKIE.to_vec();
        bytes.extend([0; 4]);
        let mut encoder = ZlibEncoder::new(bytes, Compression::fast());
        encoder.write_all(plain).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn times_that_no_run_has_are_damage() {
        let dir = tempfile::tempdir().unwrap();
        let text = BASE64.encode(&encoded());
        let most = u64::MAX;
        for (start, length, is_good) in [
            ("1.5".to_owned(), "10.0".to_owned(), true),
            ("9999999999.9".to_owned(), "9999999999.9".to_owned(), true),
            (format!("{most}.999"), "1.0".to_owned(), false),
            ("1.0".to_owned(), format!("{most}.999"), false),
            ("10000000001.0".to_owned(), "1.0".to_owned(), false),
        ] {
            let line = format!("Tag=m.read.response,{start},{length},1.0,{text}\n");
            std::fs::write(dir.path().join(FILE_NAME), line).unwrap();
            let entries: Result<Vec<_>, _> = HistogramLog::open(dir.path()).unwrap().collect();
            assert_eq!(entries.is_ok(), is_good, "{start} {length}");
            assert_eq!(HistogramLog::marks(dir.path(), |_, _, _| {}).is_ok(), is_good, "{start} {length}");
        }
    }

    #[test]
    fn more_classes_of_sizes_than_there_are_take_no_memory() {
        let dir = tempfile::tempdir().unwrap();
        let text = BASE64.encode(&encoded());
        let lines = |sizes: u64| -> String {
            let line = |size| format!("Tag=m.read.response.size_{size},1.0,10.0,1.0,{text}\n");
            // That one is there twice makes no class of its own.
            (0..sizes).chain([0]).map(line).collect()
        };
        for (sizes, is_good) in [(28, true), (64, true), (65, false), (500, false)] {
            std::fs::write(dir.path().join(FILE_NAME), lines(sizes)).unwrap();
            let found = HistogramLog::by_size(dir.path(), "m.read").map(|found| found.len() as u64);
            match found {
                Ok(found) => assert!(is_good && found == sizes, "{found} of {sizes}"),
                Err(error) => assert!(!is_good && error.to_string().contains("64 classes"), "{error}"),
            }
            assert!(HistogramLog::by_size(dir.path(), "m.write").unwrap().is_empty());
        }
    }

    #[test]
    fn counts_that_no_run_has_together_are_damage() {
        let dir = tempfile::tempdir().unwrap();
        let line = |counts: &[u64]| {
            let mut histogram = Histogram::<u64>::new_with_bounds(1, 3_600_000_000_000, 3).unwrap();
            (1..).zip(counts).for_each(|(n, count)| histogram.record_n(n * 1_000_000, *count).unwrap());
            let mut bytes = Vec::new();
            V2DeflateSerializer::new().serialize(&histogram, &mut bytes).unwrap();
            format!("Tag=m.read.response,1.0,10.0,1.0,{}\n", BASE64.encode(&bytes))
        };
        let most = u64::MAX >> 1;
        for (text, is_good) in [
            (line(&[1 << 40, 10_000_000_000]).repeat(1000), true),
            (line(&[most; 3]), false),
            (line(&[1 << 59]).repeat(2), true),
            (line(&[1 << 59]).repeat(3), false),
        ] {
            std::fs::write(dir.path().join(FILE_NAME), text).unwrap();
            let entries: Result<Vec<_>, _> = HistogramLog::open(dir.path()).unwrap().collect();
            assert_eq!(entries.is_ok(), is_good, "{entries:?}");
        }
    }

    #[test]
    fn no_damage_makes_the_decoder_panic_or_take_memory() {
        let whole = encoded();
        assert_eq!(decode(&whole).unwrap().len(), 499);
        let mut plain = Vec::new();
        ZlibDecoder::new(&whole[8..]).read_to_end(&mut plain).unwrap();
        let mut state = 1_u64;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        for round in 0..4000 {
            let source = if round % 2 == 0 { &whole } else { &plain };
            let mut damaged = source.clone();
            for _ in 0..1 + next(4) {
                let below = if next(2) == 0 { 48 } else { source.len() };
                let at = next(below);
                damaged[at] = next(256) as u8;
            }
            damaged.truncate(if next(4) == 0 { next(source.len()) } else { source.len() });
            // Whatever comes, it comes as a value.
            drop(if round % 2 == 0 { decode(&damaged) } else { decode(&deflated(&damaged)) });
        }
        let bomb = deflated(&vec![0; 8 << 20]);
        assert!(decode(&bomb).unwrap_err().contains("length"), "a deflated bomb is cut");
    }
}
