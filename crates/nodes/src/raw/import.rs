//! The JSON of fio, iperf3, `rados bench` and `ceph tell osd.N bench`. What they say is believed only where it agrees with
//! itself. Formats: fio HOWTO, "JSON output"; iperf3 manual, `--json`; Ceph manual, rados(8) and "OSD bench".

use cosmark_metrics::{DiskPattern, RawCluster, RawDisk, RawNetwork};
use serde_json::Value;

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
    let value = json(text)?;
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
    Err("this is no output of fio, iperf3, rados bench or ceph tell osd.N bench as JSON".to_owned())
}

/// The JSON value in a text: programs print notes before it, and some after it.
fn json(text: &str) -> Result<Value, String> {
    let cut = |why: &str| format!("the output is cut off or no JSON ({why})");
    let from = text.find('{').ok_or_else(|| cut("it has no {"))?;
    let mut values = serde_json::Deserializer::from_str(&text[from..]).into_iter::<Value>();
    match values.next() {
        Some(Ok(value)) => Ok(value),
        Some(Err(cause)) => Err(cut(&cause.to_string())),
        None => Err(cut("it is empty")),
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
        for (direction, write) in [("read", false), ("write", true)] {
            let Some(side) =
                job.get(direction).filter(|side| amount(side, &["io_bytes"]).unwrap_or(0.0) > 0.0)
            else {
                continue;
            };
            let disk = side_of_job(value, job, side, write, directory)
                .map_err(|why| format!("fio: {name}: {why}"))?;
            found.push(disk);
        }
    }
    if found.is_empty() {
        return Err("fio: no job read or wrote anything".to_owned());
    }
    Ok(found)
}

fn side_of_job(
    whole: &Value,
    job: &Value,
    side: &Value,
    write: bool,
    directory: &str,
) -> Result<RawDisk, String> {
    let option = |key: &str| {
        let of = |value: &Value, place: &str| value.get(place)?.get(key)?.as_str().map(str::to_owned);
        of(job, "job options").or_else(|| of(whole, "global options"))
    };
    let (bytes, requests) = (amount(side, &["io_bytes"])?, amount(side, &["iops"])?);
    let bytes_per_s = speed(amount(side, &["bw_bytes"])?, "it")?;
    let seconds = amount(side, &["runtime"])? / 1e3;
    // fio tells each of these by itself.
    if seconds <= 0.0 || (bytes / seconds / bytes_per_s - 1.0).abs() > 0.1 {
        return Err(format!("{bytes} bytes in {seconds} s are not {bytes_per_s} bytes per second"));
    }
    let random = option("rw").or_else(|| option("readwrite")).is_some_and(|rw| rw.starts_with("rand"));
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
        p99_ms: amount(side, &["clat_ns", "percentile", "99.000000"]).ok().map(|ns| ns / 1e6),
        direct: option("direct").map(|direct| direct == "1" || direct == "true"),
    })
}

fn iperf3(value: &Value) -> Result<RawNetwork, String> {
    if let Some(error) = value.get("error").and_then(Value::as_str) {
        return Err(format!("iperf3: {error}"));
    }
    let received =
        amount(value, &["end", "sum_received", "bits_per_second"]).map_err(|why| format!("iperf3: {why}"))?;
    let reverse = amount(value, &["start", "test_start", "reverse"]).unwrap_or(0.0);
    let host = value.pointer("/start/connecting_to/host").and_then(Value::as_str).unwrap_or_default();
    let resent = amount(value, &["end", "sum_sent", "retransmits"]).ok();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
    let resent = resent.map(|count| count as u64);
    Ok(RawNetwork {
        to_node: reverse <= 0.0,
        bytes_per_s: speed(received / 8.0, "iperf3")?,
        resent,
        loopback: host == "localhost" || host == "::1" || host.starts_with("127."),
    })
}

fn osd_bench(value: &Value) -> Result<RawCluster, String> {
    let rate = speed(amount(value, &["bytes_per_sec"])?, "the OSD")?;
    let (bytes, seconds) = (amount(value, &["bytes_written"])?, amount(value, &["elapsed_sec"])?);
    if seconds <= 0.0 || (bytes / seconds / rate - 1.0).abs() > 0.1 {
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
    Ok(RawCluster { what: what.to_owned(), bytes_per_s: speed(mib * 1_048_576.0, what)?, requests_per_s })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn fio_text(rw: &str, side: &str, bytes: u64, bw: u64, runtime: u64) -> String {
        let other = if side == "read" { "write" } else { "read" };
        format!(
            r#"note: both iodepth >= 1 and synchronous I/O engine are selected
            {{"fio version": "fio-3.33", "global options": {{"direct": "1"}}, "jobs": [{{"jobname": "j", "error": 0,
            "job options": {{"rw": "{rw}", "bs": "4k"}}, "{other}": {{"io_bytes": 0, "bw_bytes": 0, "iops": 0, "runtime": 0}},
            "{side}": {{"io_bytes": {bytes}, "bw_bytes": {bw}, "iops": {}, "runtime": {runtime},
            "clat_ns": {{"percentile": {{"99.000000": 2500000}}}}}}}}]}}"#,
            bw / 4096
        )
    }

    #[test]
    fn each_program_is_known_by_what_it_prints() {
        let Imported::Disks(disks) =
            import(&fio_text("randread", "read", 4096 * 2000, 4096 * 1000, 2000), "/srv/d1").unwrap()
        else {
            panic!("no disks")
        };
        let [disk] = disks.as_slice() else { panic!("{disks:?}") };
        assert_eq!(
            (disk.pattern, disk.block_bytes, disk.direct),
            (DiskPattern::RandomRead, 4096, Some(true))
        );
        assert_eq!(
            (disk.requests_per_s, disk.p99_ms, disk.directory.as_str()),
            (1000.0, Some(2.5), "/srv/d1")
        );

        let text = r#"{"start": {"connecting_to": {"host": "10.0.0.7"}, "test_start": {"reverse": 1}},
            "end": {"sum_sent": {"retransmits": 3}, "sum_received": {"bits_per_second": 8e9}}}"#;
        let network = RawNetwork { to_node: false, bytes_per_s: 1e9, resent: Some(3), loopback: false };
        assert_eq!(import(text, ""), Ok(Imported::Network(network)));

        let text = r#"{"bytes_written": 1073741824, "blocksize": 4194304, "elapsed_sec": 10.0,
            "bytes_per_sec": 107374182.4, "iops": 25.6}"#;
        let Ok(Imported::Cluster(osd)) = import(text, "") else { panic!("no cluster") };
        assert_eq!((osd.what.as_str(), osd.requests_per_s), ("osd bench", Some(25.6)));

        let text =
            r#"{"total_time_run": 5.1, "total_writes_made": 100, "bandwidth": "80", "average_iops": 20}"#;
        let Ok(Imported::Cluster(rados)) = import(text, "") else { panic!("no cluster") };
        assert_eq!((rados.what.as_str(), rados.bytes_per_s), ("rados bench write", 80.0 * 1_048_576.0));
    }

    #[test]
    fn what_is_cut_off_failed_or_contradicts_itself_is_refused() {
        let whole = fio_text("write", "write", 1 << 30, 1 << 29, 2000);
        assert!(import(&whole, "").is_ok());
        for cut in [0, 10, 90, whole.len() - 3] {
            assert!(import(&whole[..cut], "").unwrap_err().contains("cut off"), "{cut}");
        }
        for (text, words) in [
            (fio_text("write", "write", 1 << 30, 1 << 31, 2000), "are not"),
            (fio_text("write", "write", 1 << 30, 1 << 29, 0), "are not"),
            (fio_text("write", "write", 0, 0, 0), "no job read or wrote"),
            (whole.replace("\"error\": 0", "\"error\": 5"), "failed with error 5"),
            (r#"{"start": {}, "error": "unable to connect to server"}"#.into(), "unable to connect"),
            (r#"{"start": {}, "end": {"sum_received": {"bits_per_second": 1e300}}}"#.into(), "cannot be"),
            (r#"{"start": {}, "end": {}}"#.into(), "is missing"),
            (r#"{"bytes_written": 100, "elapsed_sec": 1, "bytes_per_sec": 5e9}"#.into(), "are not"),
            (r#"{"bandwidth": -3}"#.into(), "cannot be"),
            (r#"{"a": 1}"#.into(), "no output of fio"),
        ] {
            let said = import(&text, "").unwrap_err();
            assert!(said.contains(words), "{text}: {said}");
        }
    }
}
