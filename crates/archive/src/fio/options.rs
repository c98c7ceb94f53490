//! Options of fio's jobs as its JSON repeats them: texts in fio's units. Format: fio's HOWTO, "Parameter types".

use serde_json::Value;

use super::shown;
use crate::FioJobRecord;

/// The options of one job; what it does not say is that of all jobs.
pub struct Options<'a> {
    own: Option<&'a Value>,
    global: Option<&'a Value>,
}

/// Engines that have one request under way, whatever `iodepth` says.
const SYNCHRONOUS: [&str; 7] = ["sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "splice"];
/// fio's engine on Linux where none is said.
const DEFAULT_ENGINE: &str = "psync";
/// More requests under way, or copies, are a mistake.
const MOST_UNDER_WAY: u64 = 1_000_000;

impl<'a> Options<'a> {
    /// Of a job's own options and those of all jobs.
    pub fn of(own: Option<&'a Value>, global: Option<&'a Value>) -> Self {
        Self { own, global }
    }

    fn text(&self, names: &[&str]) -> Option<&'a str> {
        let of = |options: Option<&'a Value>| names.iter().find_map(|name| options?.get(name)?.as_str());
        of(self.own).or_else(|| of(self.global)).map(str::trim)
    }

    /// A switch: one without a value is on.
    fn is_on(&self, name: &str) -> Option<bool> {
        self.text(&[name]).map(|text| !matches!(text, "0" | "false" | "no"))
    }

    /// A group that it begins is one of reports alone (`new_group`) and waits for no other (`stonewall`).
    pub fn begins_beside(&self) -> bool {
        let waits = ["stonewall", "wait_for_previous"].iter().any(|name| self.is_on(name) == Some(true));
        self.is_on("new_group") == Some(true) && !waits
    }

    /// `buffered` is the opposite of `direct`; what a job says itself holds, whichever of them it is.
    fn is_direct(&self) -> Option<bool> {
        [self.own, self.global].into_iter().find_map(|options| {
            let options = Options { own: options, global: None };
            options.is_on("direct").or_else(|| options.is_on("buffered").map(|is_on| !is_on))
        })
    }

    fn count(&self, names: &[&str]) -> Result<u64, String> {
        let Some(text) = self.text(names).filter(|text| !text.is_empty()) else { return Ok(1) };
        let number = text.parse::<u64>().ok().filter(|number| (1..=MOST_UNDER_WAY).contains(number));
        number.ok_or_else(|| {
            format!("`job options`: {} is {}: that cannot be", names.first().unwrap_or(&"it"), shown(text))
        })
    }

    fn is_decimal(&self) -> bool {
        self.text(&["kb_base"]) == Some("1000")
    }

    fn bytes(&self, names: &[&str]) -> Option<u64> {
        // Of several, for reads, writes and trims or from a range, the first.
        let text = self.text(names)?.split([',', '-', '/', ':']).next()?;
        bytes(text, self.is_decimal())
    }

    /// Bytes of a request.
    pub fn block_bytes(&self) -> Option<u64> {
        self.bytes(&["bs", "blocksize", "bsrange", "bssplit"]).filter(|bytes| *bytes > 0)
    }

    /// Percentage of reads, where both are done.
    pub fn mix(&self) -> Option<u8> {
        let percent = |name: &str| self.text(&[name])?.parse::<u8>().ok().filter(|percent| *percent <= 100);
        percent("rwmixread").or_else(|| percent("rwmixwrite").map(|writes| 100 - writes))
    }

    /// What the job was to do; `stage` and `work`, and what was measured, are left for the caller.
    pub fn facts(&self) -> Result<FioJobRecord, String> {
        let engine = self.text(&["ioengine"]).unwrap_or(DEFAULT_ENGINE);
        let depth = if SYNCHRONOUS.contains(&engine) { 1 } else { self.count(&["iodepth"])? };
        // Jobs that are reported one by one stand in the output once for each.
        let copies = if self.is_on("group_reporting") == Some(true) { self.count(&["numjobs"])? } else { 1 };
        // Without a name of a file each copy makes files of its own.
        let has_own_files = self.text(&["filename", "rbdname"]).is_none();
        let each = self.bytes(&["size", "filesize", "io_size"]);
        let by_time = self.is_on("time_based") == Some(true);
        let runtime_s = self.text(&["runtime", "timeout"]).and_then(seconds).filter(|seconds| *seconds > 0.0);
        Ok(FioJobRecord {
            engine: shown(engine),
            target: shown(&self.target(engine)),
            pattern: shown(self.pattern().unwrap_or("read")),
            block: self.text(&["bs", "blocksize", "bsrange", "bssplit"]).map(shown),
            depth: u32::try_from(depth.saturating_mul(copies).min(MOST_UNDER_WAY)).unwrap_or(1),
            direct: self.is_direct(),
            size_bytes: each.map(|bytes| if has_own_files { bytes.saturating_mul(copies) } else { bytes }),
            has_own_files,
            synced: self.text(&["sync"]).is_some_and(|how| !matches!(how, "0" | "none")),
            synced_every: self.synced_every(),
            runtime_s: runtime_s.filter(|_| by_time),
            rampup_s: self.text(&["ramp_time"]).and_then(seconds).unwrap_or(0.0),
            verified: self
                .text(&["verify"])
                .is_some_and(|how| !how.is_empty() && how != "0" && how != "null"),
            zeros: self.is_on("zero_buffers") == Some(true),
            ..FioJobRecord::default()
        })
    }

    /// Its pattern, where it is said.
    pub fn pattern(&self) -> Option<&'a str> {
        self.text(&["rw", "readwrite"])?.split(':').next()
    }

    /// Writes after which it waits for the device.
    fn synced_every(&self) -> Option<u64> {
        let every = |name: &str| self.text(&[name])?.parse::<u64>().ok().filter(|writes| *writes > 0);
        every("fsync").into_iter().chain(every("fdatasync")).min()
    }

    fn target(&self, engine: &str) -> String {
        if engine == "rbd" {
            let image = self.text(&["rbdname"]).unwrap_or_default();
            return format!("{}/{image}", self.text(&["pool"]).unwrap_or("rbd"));
        }
        let own = self.text(&["filename"]).or_else(|| self.text(&["directory", "pool"]));
        own.unwrap_or_default().to_owned()
    }
}

/// Percentages of reads and of writes of a pattern; `None` for what it does not do.
pub fn shares(pattern: &str, mix: Option<u8>) -> (Option<u8>, Option<u8>) {
    match pattern {
        "read" | "randread" => (Some(100), None),
        "write" | "randwrite" => (None, Some(100)),
        "rw" | "readwrite" | "randrw" => match mix.unwrap_or(50).min(100) {
            0 => (None, Some(100)),
            100 => (Some(100), None),
            reads => (Some(reads), Some(100 - reads)),
        },
        _ => (None, None),
    }
}

/// Splits a number from its unit.
fn split(text: &str) -> Option<(f64, String)> {
    let text = text.trim();
    let end = text.find(|sign: char| !sign.is_ascii_digit() && sign != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    Some((number.parse().ok()?, unit.trim().to_ascii_lowercase()))
}

/// fio's sizes: with its usual base `k` is 1024 and `ki` 1000, with the other one the other way round.
pub fn bytes(text: &str, is_decimal: bool) -> Option<u64> {
    let (number, unit) = split(text)?;
    let unit = unit.strip_suffix('b').unwrap_or(&unit);
    let (prefix, has_i) = match unit.strip_suffix('i') {
        Some(prefix) => (prefix, true),
        None => (unit, false),
    };
    let power = match prefix {
        "" if !has_i => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => return None,
    };
    let base: f64 = if has_i == is_decimal { 1024.0 } else { 1000.0 };
    let value = number * base.powi(power);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "looked at before")]
    (value.is_finite() && (0.0..=1e18).contains(&value)).then_some(value as u64)
}

/// fio's times: a number alone is seconds.
pub fn seconds(text: &str) -> Option<f64> {
    let (number, unit) = split(text)?;
    let scale = match unit.as_str() {
        "" | "s" | "sec" => 1.0,
        "ms" | "msec" => 1e-3,
        "us" | "usec" => 1e-6,
        "m" | "min" => 60.0,
        "h" | "hr" => 3600.0,
        "d" | "day" => 86_400.0,
        _ => return None,
    };
    Some(number * scale).filter(|seconds| (0.0..=1e8).contains(seconds))
}
