//! The JSON of fio, iperf3, `rados bench` and `ceph tell osd.N bench`, and what `rados bench` prints for people. What
//! they say is believed only where it agrees with itself. Formats: fio HOWTO, "JSON output"; iperf3 manual, `--json`;
//! Ceph manual, rados(8) and "OSD bench"; `src/common/obj_bencher.cc`.

use cosmark_metrics::{DiskPattern, RawCluster, RawDisk, RawNetwork};
use cosmark_workload::units::shown;
use serde_json::{Map, Value};

/// What a file says.
#[derive(Debug, Clone, PartialEq)]
pub enum Imported {
    /// Of fio.
    Disks(Vec<RawDisk>),
    /// Of iperf3.
    Network(RawNetwork),
    /// Of Ceph.
    Cluster(RawCluster),
}

/// Reads the output of one of the programs, whichever it is. `directory` names the disk where the output does not.
///
/// # Errors
/// What is wrong with it, in one sentence.
pub fn import(text: &str, directory: &str) -> Result<Imported, String> {
    if let Some(found) = rados_text(text) {
        return rados_bench(&found?).map(Imported::Cluster);
    }
    let value = json(text).map_err(|why| for_people(text).map_or(why, str::to_owned))?;
    if value.get("client_stats").is_some() {
        return Err(
            "fio: it is of several machines at once (client_stats): run it on each of them, and import \
                    what each printed"
                .to_owned(),
        );
    }
    if value.get("fio version").is_some() || value.get("jobs").is_some() {
        return fio(&value, directory).map(Imported::Disks);
    }
    if value.get("start").is_some() && (value.get("end").is_some() || value.get("error").is_some()) {
        return iperf3(&value).map(Imported::Network);
    }
    if value.get("bytes_written").is_some() && value.get("bytes_per_sec").is_some() {
        return osd_bench(&value).map(Imported::Cluster);
    }
    if value.get("bandwidth").is_some() || value.get("average_bandwidth").is_some() {
        return rados_bench(&value).map(Imported::Cluster);
    }
    if value.get("event").is_some() {
        return Err("iperf3: this is its --json-stream: give what it prints with -J alone".to_owned());
    }
    Err("this is no output of fio, iperf3, rados bench or ceph tell osd.N bench as JSON".to_owned())
}

/// Notes of a program, and greetings of a machine, have no more lines that look like the beginning of a value.
const MOST_STARTS: usize = 100;

/// The JSON value in a text: programs print notes before it, and some after it.
fn json(text: &str) -> Result<Value, String> {
    let cut = |why: &str| format!("the output is cut off or no JSON ({why})");
    // What is indented is a part of another value.
    let braces = text.match_indices('{').map(|(at, _)| at);
    let unindented = braces.filter(|at| *at == 0 || text[..*at].ends_with('\n'));
    let mut starts: Vec<usize> = unindented.take(MOST_STARTS).collect();
    if starts.is_empty() {
        starts.extend(text.find('{'));
    }
    let mut wrong = None;
    for from in starts {
        let mut values = serde_json::Deserializer::from_str(&text[from..]).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => return Ok(value),
            Some(Err(cause)) => {
                wrong.get_or_insert_with(|| cut(&cause.to_string()));
            }
            None => {}
        }
    }
    Err(wrong.unwrap_or_else(|| cut("it has no {")))
}

/// What a program prints where it is not asked for JSON, and how to ask.
fn for_people(text: &str) -> Option<&'static str> {
    let is_terse = |line: &str| line.split(';').nth(1).is_some_and(|word| word.starts_with("fio-"));
    if text.contains("Run status group") || text.lines().any(is_terse) {
        return Some("fio: this is not its JSON: repeat it with --output-format=json");
    }
    text.contains("[ ID] Interval").then_some("iperf3: this is not its JSON: repeat it with -J")
}

/// What `rados bench` prints without `-f json`, by the names that its JSON has; `None` where it is something else.
fn rados_text(text: &str) -> Option<Result<Value, String>> {
    const RATE: &str = "bandwidth";
    const LINES: [(&str, &str); 7] = [
        ("Total time run", "total_time_run"),
        ("Total writes made", "total_writes_made"),
        ("Total reads made", "total_reads_made"),
        ("Write size", "write_size"),
        ("Read size", "read_size"),
        ("Bandwidth (MB/sec)", RATE),
        // Some releases print no colon behind it.
        ("Average IOPS", "average_iops"),
    ];
    let of_line = |line: &str| {
        LINES.iter().find_map(|(words, key)| {
            let number = line.trim().strip_prefix(words)?.trim_start_matches(':').trim();
            Some(((*key).to_owned(), Value::from(number)))
        })
    };
    let lines: Vec<(String, Value)> = text.lines().filter_map(of_line).collect();
    match lines.iter().filter(|(key, _)| key == RATE).count() {
        0 => None,
        1 => Some(Ok(Value::Object(lines.into_iter().collect::<Map<String, Value>>()))),
        several => Some(Err(format!("rados bench: it has {several} results: give each a file of its own"))),
    }
}

/// Beyond this no disk and no link of today goes: such a number is a mistake.
const MOST_BYTES_PER_S: f64 = 1e12;

fn amount(value: &Value, path: &[&str]) -> Result<f64, String> {
    let name = path.join(".");
    let found = path.iter().try_fold(value, |value, key| value.get(key));
    // Ceph prints some of its numbers as text.
    let number = found.and_then(|value| value.as_f64().or_else(|| value.as_str()?.trim().parse().ok()));
    let number = number.ok_or_else(|| format!("{name} is missing"))?;
    if number.is_finite() && (0.0..=MOST_BYTES_PER_S * 1e3).contains(&number) {
        Ok(number)
    } else {
        Err(format!("{name} is {number}: that cannot be"))
    }
}

fn speed(bytes_per_s: f64, what: &str) -> Result<f64, String> {
    match bytes_per_s {
        speed if speed <= 0.0 => Err(format!("{what} moved nothing")),
        speed if speed > MOST_BYTES_PER_S => Err(format!("{what}: {speed} bytes per second cannot be")),
        speed => Ok(speed),
    }
}

fn fio(value: &Value, directory: &str) -> Result<Vec<RawDisk>, String> {
    let jobs = value.get("jobs").and_then(Value::as_array).ok_or("fio: it has no jobs")?;
    let mut found = Vec::new();
    for job in jobs {
        let name = job.get("jobname").and_then(Value::as_str).unwrap_or("job");
        let error = job.get("error").and_then(Value::as_i64).unwrap_or(0);
        if error != 0 {
            return Err(format!("fio: {name} failed with error {error}"));
        }
        let wrong = |why: String| format!("fio: {name}: {why}");
        let asked = rw(value, job);
        let asked = asked.trim_start_matches("rand").split(':').next().unwrap_or_default();
        if ["rw", "readwrite"].contains(&asked) {
            return Err(wrong(
                "it reads and writes at once, so that neither is what the disk can do: give each a job"
                    .to_owned(),
            ));
        }
        for (direction, write) in [("read", false), ("write", true)] {
            // What a job does besides, as reading again what it wrote, is not what was asked for.
            let is_asked = !["read", "write"].contains(&asked) || asked == direction;
            let Some(side) = job
                .get(direction)
                .filter(|side| is_asked && amount(side, &["io_bytes"]).unwrap_or(0.0) > 0.0)
            else {
                continue;
            };
            let disk = side_of_job(value, job, side, write, directory).map_err(wrong)?;
            let group = job.get("groupid").and_then(Value::as_i64);
            add(&mut found, group, disk).map_err(wrong)?;
        }
    }
    if found.is_empty() {
        return Err("fio: no job read or wrote anything".to_owned());
    }
    Ok(found.into_iter().map(|(_, disk)| disk).collect())
}

/// Adds what a job did. Jobs of one group run at once: what they do to one disk together is what it can do.
fn add(found: &mut Vec<(Option<i64>, RawDisk)>, group: Option<i64>, disk: RawDisk) -> Result<(), String> {
    let is_beside = |(other, one): &&mut (Option<i64>, RawDisk)| {
        group.is_some() && *other == group && one.directory == disk.directory
    };
    let Some((_, one)) = found.iter_mut().find(is_beside) else {
        found.push((group, disk));
        return Ok(());
    };
    if one.pattern != disk.pattern {
        let [first, second] = [one.pattern, disk.pattern].map(|pattern| pattern.word().replace('_', " "));
        return Err(format!(
            "{second} beside {first}, so that neither is what the disk can do: put stonewall between the jobs"
        ));
    }
    one.bytes_per_s = speed(one.bytes_per_s + disk.bytes_per_s, "it")?;
    one.requests_per_s += disk.requests_per_s;
    if one.block_bytes != disk.block_bytes {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bytes of a request")]
        let mean = (one.bytes_per_s / one.requests_per_s.max(1e-9)).round() as u64;
        one.block_bytes = mean;
    }
    one.p99_ms = one.p99_ms.zip(disk.p99_ms).map(|(one, other)| one.max(other));
    one.direct = one.direct.zip(disk.direct).map(|(one, other)| one && other);
    Ok(())
}

/// An option of a job, or of all.
fn option(whole: &Value, job: &Value, key: &str) -> Option<String> {
    let of = |value: &Value, place: &str| value.get(place)?.get(key)?.as_str().map(str::to_owned);
    of(job, "job options").or_else(|| of(whole, "global options"))
}

/// What a job was asked to do: `randread`; empty where it does not say.
fn rw(whole: &Value, job: &Value) -> String {
    option(whole, job, "rw").or_else(|| option(whole, job, "readwrite")).unwrap_or_default()
}

/// Engines of fio that read and write files through the page cache unless they are asked not to.
const THROUGH_THE_CACHE: [&str; 10] =
    ["sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "splice", "libaio", "posixaio", "io_uring"];

/// Whether a job went past the page cache: by `direct`, or `buffered`, its opposite; what a job says itself holds.
/// Where neither is among its options fio does not, but for engines that have no page cache.
fn is_direct(whole: &Value, job: &Value) -> Option<bool> {
    let options = [job.get("job options"), whole.get("global options")];
    let text = |options: Option<&Value>, key: &str| options?.get(key)?.as_str().map(str::to_owned);
    // A switch without a value is on.
    let is_on = |text: String| !matches!(text.trim(), "0" | "false" | "no");
    let said = options.into_iter().find_map(|own| {
        text(own, "direct").map(is_on).or_else(|| text(own, "buffered").map(|text| !is_on(text)))
    });
    let engine = option(whole, job, "ioengine");
    let has_cache = engine.is_none_or(|engine| THROUGH_THE_CACHE.contains(&engine.as_str()));
    said.or_else(|| (options.iter().any(Option::is_some) && has_cache).then_some(false))
}

fn side_of_job(
    whole: &Value,
    job: &Value,
    side: &Value,
    write: bool,
    directory: &str,
) -> Result<RawDisk, String> {
    let option = |key: &str| option(whole, job, key);
    if side.get("bw_bytes").is_none() {
        let version = whole.get("fio version").and_then(Value::as_str).unwrap_or("this version");
        return Err(format!("bw_bytes is missing: {} counts otherwise than fio 3 and newer", shown(version)));
    }
    let (bytes, requests) = (amount(side, &["io_bytes"])?, amount(side, &["iops"])?);
    let bytes_per_s = speed(amount(side, &["bw_bytes"])?, "it")?;
    let seconds = amount(side, &["runtime"])? / 1e3;
    // fio tells each of these by itself.
    if seconds <= 0.0 || (bytes / seconds / bytes_per_s - 1.0).abs() > 0.1 {
        return Err(format!("{bytes} bytes in {seconds} s are not {bytes_per_s} bytes per second"));
    }
    let random = rw(whole, job).starts_with("rand");
    let block = match amount(side, &["total_ios"]) {
        Ok(count) if count > 0.0 => bytes / count,
        _ if requests > 0.0 => bytes_per_s / requests,
        _ => 0.0,
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bytes of a request")]
    let block_bytes = block.round() as u64;
    Ok(RawDisk {
        directory: option("directory")
            .or_else(|| option("filename"))
            .filter(|_| directory.is_empty())
            .unwrap_or_else(|| directory.to_owned()),
        pattern: match (write, random) {
            (true, false) => DiskPattern::SequentialWrite,
            (false, false) => DiskPattern::SequentialRead,
            (false, true) => DiskPattern::RandomRead,
            (true, true) => DiskPattern::RandomWrite,
        },
        block_bytes,
        bytes_per_s,
        requests_per_s: requests,
        // With `lat_percentiles` it has those of the whole time instead.
        p99_ms: ["clat_ns", "lat_ns"]
            .into_iter()
            .find_map(|times| amount(side, &[times, "percentile", "99.000000"]).ok())
            .map(|ns| ns / 1e6),
        direct: is_direct(whole, job),
    })
}

fn iperf3(value: &Value) -> Result<RawNetwork, String> {
    if let Some(error) = value.get("error").and_then(Value::as_str) {
        return Err(format!("iperf3: {error}"));
    }
    let test = |key: &str| amount(value, &["start", "test_start", key]).ok();
    let is_udp = value.pointer("/start/test_start/protocol").and_then(Value::as_str) == Some("UDP");
    // UDP sends 1 Mbit/s where nobody says otherwise, and older versions do not tell.
    let most = test("target_bitrate").or(is_udp.then_some(f64::NAN));
    if most.is_some_and(|most| most != 0.0) {
        return Err(
            "iperf3: it sent no faster than -b let it, which is not what the way can do: repeat it with -b 0"
                .to_owned(),
        );
    }
    if test("bidir").is_some_and(|both| both > 0.0) {
        return Err(
            "iperf3: it sent both ways at once, so that neither is what the way can do: repeat it without --bidir, once \
             with -R and once without"
                .to_owned(),
        );
    }
    let sum = |key: &str| amount(value, &["end", "sum_received", key]);
    let received = sum("bits_per_second").map_err(|why| format!("iperf3: {why}"))?;
    if let (Ok(bytes), Ok(seconds)) = (sum("bytes"), sum("seconds"))
        && (bytes * 8.0 / seconds.max(1e-9) / received - 1.0).abs() > 0.1
    {
        return Err(format!("iperf3: {bytes} bytes in {seconds} s are not {received} bits per second"));
    }
    let reverse = test("reverse").unwrap_or(0.0);
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str);
    let host = text("/start/connecting_to/host").unwrap_or_default();
    // Whoever asks its own address, by whatever name, reaches itself by no link.
    let ends = ["/start/connected/0/local_host", "/start/connected/0/remote_host"].map(text);
    let is_itself = ends[0].is_some() && ends[0] == ends[1];
    let resent = amount(value, &["end", "sum_sent", "retransmits"]).ok();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
    let resent = resent.map(|count| count as u64);
    Ok(RawNetwork {
        to_node: reverse <= 0.0,
        bytes_per_s: speed(received / 8.0, "iperf3")?,
        resent,
        loopback: is_itself || host == "localhost" || host == "::1" || host.starts_with("127."),
    })
}

fn osd_bench(value: &Value) -> Result<RawCluster, String> {
    let rate = speed(amount(value, &["bytes_per_sec"])?, "the OSD")?;
    let bytes = amount(value, &["bytes_written"])?;
    // Older releases do not say how long it took.
    let seconds = value.get("elapsed_sec").map(|_| amount(value, &["elapsed_sec"])).transpose()?;
    if let Some(seconds) = seconds
        && (seconds <= 0.0 || (bytes / seconds / rate - 1.0).abs() > 0.1)
    {
        return Err(format!("osd bench: {bytes} bytes in {seconds} s are not {rate} bytes per second"));
    }
    let requests_per_s = amount(value, &["iops"]).ok();
    Ok(RawCluster { what: "osd bench".to_owned(), bytes_per_s: rate, requests_per_s })
}

/// Its megabytes are 2^20 bytes.
fn rados_bench(value: &Value) -> Result<RawCluster, String> {
    let key = if value.get("bandwidth").is_some() { "bandwidth" } else { "average_bandwidth" };
    let mib = amount(value, &[key])?;
    let written = value.get("total_writes_made").is_some();
    let requests_per_s = amount(value, &["average_iops"]).ok();
    let what = if written { "rados bench write" } else { "rados bench read" };
    let of = |keys: [&str; 2]| amount(value, &[if written { keys[0] } else { keys[1] }]).ok();
    let made = of(["total_writes_made", "total_reads_made"]).zip(of(["write_size", "read_size"]));
    if let Some(((count, size), seconds)) = made.zip(amount(value, &["total_time_run"]).ok())
        && (seconds <= 0.0 || (count * size / seconds / (mib * 1_048_576.0) - 1.0).abs() > 0.1)
    {
        return Err(format!("{what}: {count} of {size} bytes in {seconds} s are not {mib} MB per second"));
    }
    Ok(RawCluster { what: what.to_owned(), bytes_per_s: speed(mib * 1_048_576.0, what)?, requests_per_s })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests;
