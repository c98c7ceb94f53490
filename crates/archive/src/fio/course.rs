//! The rates of a job over time: a log that fio wrote with `--write_iops_log` and `--log_avg_msec`. Format: fio's
//! HOWTO, "Log File Formats": time in ms, value, direction (0 reads, 1 writes, 2 trims), block size, ..

use super::FioJob;

/// A line more than a day of four looks a second is none of ours.
const MOST_LINES: usize = 1 << 20;
/// Lines that lie nearer to each other are of single requests.
const LEAST_STEP_MS: f64 = 20.0;
/// Share of a job's requests by which its log may differ from its result. One of two equal copies has half of them, however
/// short the job is.
const ROOM: f64 = 0.2;
/// Steps that may be missing at the ends of a log.
const STEPS_AT_THE_ENDS: f64 = 2.0;
/// How many times the mean rate those steps may have had.
const BURST: f64 = 2.0;
/// fio writes whole numbers of requests per second, cut off: slower copies look alike.
const LEAST_RATE_PER_S: f64 = 1.0;

/// Share of a step by which a line may be early after steps in which nothing ended.
const LATE: f64 = 0.25;
/// Steps of a course to which some in which nothing ended are added; of more each is longer.
const MOST_STEPS: usize = 200_000;

/// One line: a mean rate since the one before of its direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// Milliseconds since the job began, or since its ramp was over.
    pub at_ms: f64,
    /// Of writes; else of reads.
    pub is_write: bool,
    /// Requests per second.
    pub iops: f64,
}

/// One step of the course.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Step {
    /// Begin, in seconds since the measured time began.
    pub from_s: f64,
    /// End.
    pub to_s: f64,
    /// Reads that ended in it.
    pub reads: u64,
    /// Writes that ended in it.
    pub writes: u64,
}

/// The course of a job.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Course {
    rates: Vec<Rate>,
}

impl Course {
    /// Reads a log of rates; lines of other directions are passed over.
    ///
    /// # Errors
    /// The line that is none, or that the log is one of single requests.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut rates = Vec::new();
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            if at >= MOST_LINES {
                return Err(format!(
                    "line {}: more than {MOST_LINES} lines: give --log_avg_msec=1000 to fio",
                    at + 1
                ));
            }
            let mut cells = line.split(',').map(str::trim);
            let mut number =
                || cells.next()?.parse::<f64>().ok().filter(|number| (0.0..=1e13).contains(number));
            let known = number().zip(number()).zip(number());
            let ((at_ms, iops), direction) = known.ok_or_else(|| {
                format!("line {}: this is no line of a log of fio (time in ms, value, direction, ..)", at + 1)
            })?;
            if direction < 2.0 {
                rates.push(Rate { at_ms, is_write: direction >= 1.0, iops });
            }
        }
        rates.sort_by(|a, b| a.at_ms.total_cmp(&b.at_ms));
        let course = Self { rates };
        match course.step_ms() {
            Some(step) if step < LEAST_STEP_MS => {
                Err("its lines are single requests and no rates: give --log_avg_msec=1000 to fio".to_owned())
            }
            _ => Ok(course),
        }
    }

    /// Milliseconds between two lines of one direction. Where nothing ended there is no line: most are nearer than
    /// the mean.
    fn step_ms(&self) -> Option<f64> {
        let mut steps = Vec::new();
        for is_write in [false, true] {
            let own: Vec<f64> =
                self.rates.iter().filter(|rate| rate.is_write == is_write).map(|rate| rate.at_ms).collect();
            steps.extend(own.iter().zip(own.iter().skip(1)).map(|(from, to)| to - from));
        }
        steps.sort_by(f64::total_cmp);
        steps.get(steps.len() / 4).copied()
    }

    /// Why it is not the log of `job`, whose requests it does not have: they may differ by a fifth, by what two steps that
    /// are missing at the ends can have had, and by one request per second. `None` where it fits, or has no steps.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "compared with a wide margin")]
    pub fn contradicts(&self, job: &FioJob) -> Option<String> {
        let steps = self.steps();
        let covered_s = steps.last().map_or(0.0, |step| step.to_s);
        // Only what the log lacks or has too much at its ends is forgiven there.
        let at_ends_s = (job.window_s() - covered_s).abs().min(STEPS_AT_THE_ENDS * self.step_ms()? / 1e3);
        for (is_write, name, side) in [(false, "reads", &job.read), (true, "writes", &job.write)] {
            let logged: u64 = steps.iter().map(|step| if is_write { step.writes } else { step.reads }).sum();
            let known = side.as_ref().map_or(0, |side| side.ios);
            let own = self.rates.iter().filter(|rate| rate.is_write == is_write);
            let fastest = own.map(|rate| rate.iops).fold(0.0, f64::max);
            let usual = logged as f64 / covered_s.max(f64::MIN_POSITIVE);
            let forgiven =
                ROOM * known as f64 + at_ends_s * fastest.min(BURST * usual) + covered_s * LEAST_RATE_PER_S;
            if (logged as f64 - known as f64).abs() > forgiven {
                return Some(format!(
                    "it has {logged} {name}, and the result of job {} {known}: it is the log of another job, or of one of several \
                     copies that fio reports together (group_reporting)",
                    job.facts.work
                ));
            }
        }
        None
    }

    /// Its steps in a job that measured so many seconds: at the end, too, fio has no lines while nothing ends. The last
    /// line may be missing.
    #[must_use]
    pub fn steps_within(&self, window_s: f64) -> Vec<Step> {
        let mut steps = self.steps();
        if let (Some(step_ms), Some(last)) = (self.step_ms(), steps.last()) {
            let end_s = last.to_s;
            push_quiet(&mut steps, (end_s, window_s - step_ms / 1e3), (window_s - end_s) * 1e3 / step_ms);
        }
        steps
    }

    /// Its steps: lines of both directions that lie near each other are one.
    #[must_use]
    pub fn steps(&self) -> Vec<Step> {
        let Some(step_ms) = self.step_ms() else { return Vec::new() };
        let first = self.rates.first().map_or(0.0, |rate| rate.at_ms);
        // Whether times count from the begin of the job or from the end of its ramp differs by version.
        let mut from_ms = if first > 1.5 * step_ms { first - step_ms } else { 0.0 };
        let base_ms = from_ms;
        let mut steps = Vec::new();
        let mut rest = self.rates.as_slice();
        while let Some(begin) = rest.first() {
            // A line that was late has the next of its direction near it.
            let is_other =
                |rate: &&Rate| rate.is_write != begin.is_write && rate.at_ms - begin.at_ms < step_ms / 2.0;
            let near = if rest.get(1).filter(is_other).is_some() { 2 } else { 1 };
            let (own, later) = rest.split_at(near);
            rest = later;
            let to_ms = own.iter().map(|rate| rate.at_ms).fold(0.0, f64::max);
            // The next line is of its own step alone.
            let quiet = (to_ms - from_ms) / step_ms;
            if push_quiet(&mut steps, ((from_ms - base_ms) / 1e3, (to_ms - step_ms - base_ms) / 1e3), quiet) {
                from_ms = to_ms - step_ms;
            }
            let seconds = (to_ms - from_ms) / 1e3;
            if seconds <= 0.0 {
                continue;
            }
            let count = |is_write: bool| {
                let rates = own.iter().filter(|rate| rate.is_write == is_write).map(|rate| rate.iops);
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "bounded when it was read"
                )]
                let count = (rates.fold(0.0, f64::max) * seconds).round() as u64;
                count
            };
            steps.push(Step {
                from_s: (from_ms - base_ms) / 1e3,
                to_s: (to_ms - base_ms) / 1e3,
                reads: count(false),
                writes: count(true),
            });
            from_ms = to_ms;
        }
        steps
    }
}

/// Adds the steps between two moments, in seconds, in which nothing ended: of those that lie between two lines all but
/// the last, which has a line. Says whether there was one.
fn push_quiet(steps: &mut Vec<Step>, (from_s, to_s): (f64, f64), between: f64) -> bool {
    // A line may be late.
    let quiet = (between + LATE).floor() - 1.0;
    if quiet.is_nan() || quiet < 1.0 || to_s <= from_s {
        return false;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "above 0, and bounded")]
    let quiet = quiet.min(f64::from(u32::MAX)) as u32;
    let room = u32::try_from(MOST_STEPS.saturating_sub(steps.len())).unwrap_or(u32::MAX);
    let quiet = quiet.min(room).max(1);
    let each_s = (to_s - from_s) / f64::from(quiet);
    let step = |at: u32| Step {
        from_s: from_s + f64::from(at) * each_s,
        to_s: from_s + f64::from(at + 1) * each_s,
        ..Step::default()
    };
    steps.extend((0..quiet).map(step));
    true
}
