//! Lines of access logs: when something was asked for, what, and how large it was. Formats: Amazon S3 server access logs
//! (docs.aws.amazon.com/AmazonS3/latest/userguide/LogFormat.html), the combined log format of Apache and nginx
//! (httpd.apache.org/docs/2.4/logs.html), and plain `timestamp[,op,size]`.

use std::fmt;

/// A kind of log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// Amazon S3 server access log.
    S3,
    /// Common or combined log format.
    Combined,
    /// `timestamp[,op,size]`: seconds, or RFC 3339.
    Plain,
}

/// Names of the formats, as users give them.
pub const LOG_FORMATS: &[(&str, LogFormat)] =
    &[("s3", LogFormat::S3), ("combined", LogFormat::Combined), ("plain", LogFormat::Plain)];

/// What was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Asked {
    /// An object, or a part of it.
    Read,
    /// To keep an object, or a part of it.
    Write,
    /// To delete one.
    Delete,
    /// For metadata.
    Head,
    /// For names.
    List,
    /// Something else.
    Other,
}

/// Words of what was asked for, as in files and options.
pub const ASKED: &[(&str, Asked)] = &[
    ("read", Asked::Read),
    ("write", Asked::Write),
    ("delete", Asked::Delete),
    ("head", Asked::Head),
    ("list", Asked::List),
    ("other", Asked::Other),
];

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = ASKED.iter().find(|(_, asked)| asked == self).map_or("other", |(word, _)| word);
        f.write_str(word)
    }
}

/// One request of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoggedRequest {
    /// When, in nanoseconds since 1970; of plain logs since whatever their seconds count from.
    pub at_ns: i64,
    /// The log gives whole seconds only.
    pub is_whole_second: bool,
    /// What.
    pub asked: Asked,
    /// Bytes, if the log says so.
    pub bytes: Option<u64>,
}

impl LogFormat {
    /// The format of a log with this line; `None` when it is the line of no log.
    #[must_use]
    pub fn detect(line: &str) -> Option<Self> {
        LOG_FORMATS
            .iter()
            .map(|(_, format)| *format)
            .find(|format| format.parse(line).is_ok() || (*format == Self::Plain && is_plain_head(line)))
    }

    /// Reads a line; `None` for lines that say nothing (empty, comment, head).
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse_line(self, line: &str) -> Result<Option<LoggedRequest>, String> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') || (self == Self::Plain && is_plain_head(line)) {
            return Ok(None);
        }
        self.parse(line).map(Some)
    }

    fn parse(self, line: &str) -> Result<LoggedRequest, String> {
        match self {
            Self::S3 => parse_s3(line),
            Self::Combined => parse_combined(line),
            Self::Plain => parse_plain(line),
        }
    }
}

fn is_plain_head(line: &str) -> bool {
    let first = line.split(',').next().unwrap_or_default().trim().to_ascii_lowercase();
    ["timestamp", "time", "seconds", "time_s"].contains(&first.as_str())
}

/// Blank-separated fields, where `[..]` and `"..."` are one each.
fn fields(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() && found.len() < 16 {
        let end = match rest.as_bytes().first() {
            Some(b'[') => rest.find(']').map_or(rest.len(), |at| at + 1),
            Some(b'"') => closing_quote(rest).map_or(rest.len(), |at| at + 1),
            _ => rest.find(' ').unwrap_or(rest.len()),
        };
        let (field, later) = rest.split_at(end);
        found.push(field);
        rest = later.trim_start();
    }
    found
}

fn closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            b'\\' if !escaped => escaped = true,
            b'"' if !escaped => return Some(at),
            _ => escaped = false,
        }
    }
    None
}

fn bytes(field: Option<&&str>) -> Option<u64> {
    field.and_then(|field| field.parse().ok())
}

fn parse_s3(line: &str) -> Result<LoggedRequest, String> {
    let fields = fields(line);
    let at_ns = clf_time(fields.get(2).copied().unwrap_or_default())
        .ok_or("the third field is not a time like [06/Feb/2019:00:00:38 +0000]")?;
    let operation = fields.get(6).copied().unwrap_or_default();
    let mut words = operation.split('.');
    let (by, method, on) = (words.next().unwrap_or_default(), words.next(), words.next().unwrap_or_default());
    let (Some(method), true) = (method, ["REST", "WEBSITE", "BATCH", "SOAP", "S3"].contains(&by)) else {
        return Err("the seventh field is not an operation like REST.GET.OBJECT".to_owned());
    };
    // An UPLOAD is one in parts: it is put together or given up, and its parts are listed. Their bytes came with each part.
    let on_object = matches!(on, "OBJECT" | "PART");
    let asked = match method {
        "GET" if on_object => Asked::Read,
        "GET" if matches!(on, "BUCKET" | "BUCKETVERSIONS" | "UPLOADS" | "UPLOAD") => Asked::List,
        "PUT" | "POST" if on_object => Asked::Write,
        "DELETE" if on_object => Asked::Delete,
        "HEAD" => Asked::Head,
        _ => Asked::Other,
    };
    // Bytes sent, or for what was written the object's size.
    let sent = bytes(fields.get(11));
    let size = bytes(fields.get(12));
    let bytes = if asked == Asked::Read { sent.or(size) } else { size.or(sent) };
    Ok(LoggedRequest { at_ns, is_whole_second: true, asked, bytes })
}

fn parse_combined(line: &str) -> Result<LoggedRequest, String> {
    let fields = fields(line);
    let at_ns = clf_time(fields.get(3).copied().unwrap_or_default())
        .ok_or("the fourth field is not a time like [10/Oct/2000:13:55:36 -0700]")?;
    let request = fields.get(4).copied().unwrap_or_default();
    let Some(request) = request.strip_prefix('"').filter(|request| !request.is_empty()) else {
        return Err("the fifth field is not a request in quotes".to_owned());
    };
    let asked = match request.split([' ', '"']).next().unwrap_or_default() {
        "GET" => Asked::Read,
        "PUT" | "POST" => Asked::Write,
        "DELETE" => Asked::Delete,
        "HEAD" => Asked::Head,
        "PROPFIND" => Asked::List,
        _ => Asked::Other,
    };
    // The size is that of the answer: of what was written the log says nothing.
    let bytes = if asked == Asked::Read { bytes(fields.get(6)) } else { None };
    Ok(LoggedRequest { at_ns, is_whole_second: true, asked, bytes })
}

fn parse_plain(line: &str) -> Result<LoggedRequest, String> {
    let mut fields = line.split(',').map(str::trim);
    let time = fields.next().unwrap_or_default();
    let at_ns = seconds(time).or_else(|| rfc3339(time)).ok_or(
        "the first field is neither seconds, such as 12.345, nor a time like 2026-01-31T12:00:00.5Z",
    )?;
    let asked = match fields.next().unwrap_or_default().to_ascii_lowercase().as_str() {
        "" => Asked::Other,
        "get" => Asked::Read,
        "put" | "post" => Asked::Write,
        word => ASKED.iter().find(|(known, _)| *known == word).map_or(Asked::Other, |(_, asked)| *asked),
    };
    let bytes = match fields.next().unwrap_or_default() {
        "" | "-" => None,
        text => Some(text.parse().map_err(|_| "the third field is not a number of bytes")?),
    };
    Ok(LoggedRequest { at_ns, is_whole_second: false, asked, bytes })
}

/// Decimal seconds, exactly: a binary fraction of a date would be off by hundreds of nanoseconds.
fn seconds(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return None;
    }
    whole.parse::<i64>().ok()?.checked_mul(1_000_000_000)?.checked_add(fraction_ns(fraction)?)
}

fn fraction_ns(digits: &str) -> Option<i64> {
    let kept: String = digits.chars().take(9).collect();
    format!("{kept:0<9}").parse().ok()
}

/// `[06/Feb/2019:00:00:38 +0000]`
fn clf_time(field: &str) -> Option<i64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (date, zone) = field.strip_prefix('[')?.strip_suffix(']')?.split_once(' ')?;
    let mut parts = date.splitn(2, ':');
    let mut day = parts.next()?.split('/');
    let (day, month, year) = (day.next()?, day.next()?, day.next()?);
    let month = MONTHS.iter().position(|known| *known == month)? + 1;
    unix_ns(year, &month.to_string(), day, parts.next()?, 0, offset_s(zone)?)
}

/// `2026-01-31T12:00:00.5Z`, also with a blank for the `T` and an offset for the `Z`.
fn rfc3339(text: &str) -> Option<i64> {
    let (date, rest) = text.split_once(['T', 't', ' '])?;
    let mut date = date.split('-');
    let (year, month, day) = (date.next()?, date.next()?, date.next()?);
    let at = rest.find(['Z', 'z', '+', '-'])?;
    let (clock, zone) = rest.split_at(at);
    let offset_s = if zone.eq_ignore_ascii_case("z") { 0 } else { offset_s(&zone.replace(':', ""))? };
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, ""));
    let in_order = fraction.bytes().all(|byte| byte.is_ascii_digit());
    unix_ns(year, month, day, clock, in_order.then(|| fraction_ns(fraction))??, offset_s)
}

/// `+0130` in seconds.
fn offset_s(zone: &str) -> Option<i64> {
    let sign = match zone.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, minutes) = (number(zone.get(1..3)?, 0, 23)?, number(zone.get(3..5)?, 0, 59)?);
    (zone.len() == 5).then_some(sign * (hours * 3600 + minutes * 60))
}

/// A number of digits alone: no sign stands inside of a date.
fn number(text: &str, least: i64, most: i64) -> Option<i64> {
    let value = text.parse::<i64>().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))?;
    (least..=most).contains(&value).then_some(value)
}

fn unix_ns(year: &str, month: &str, day: &str, clock: &str, fraction_ns: i64, offset_s: i64) -> Option<i64> {
    let (year, month, day) = (number(year, 1970, 2200)?, number(month, 1, 12)?, number(day, 1, 31)?);
    let days = days_since_1970(year, month, day);
    let next = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    if days >= days_since_1970(next.0, next.1, 1) {
        return None;
    }
    let mut clock = clock.split(':');
    let mut part = |most| number(clock.next()?, 0, most);
    // A leap second is the second before it, once more.
    let (hour, minute, second) = (part(23)?, part(59)?, part(60)?.min(59));
    if clock.next().is_some() {
        return None;
    }
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset_s;
    seconds.checked_mul(1_000_000_000)?.checked_add(fraction_ns)
}

/// Days from 1970-01-01 in the Gregorian calendar: years begin in March, so that the leap day is the last.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    year * 365 + year / 4 - year / 100 + year / 400 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    const S3: &str = "79a59df900b949e55d96a1e698fbacedfd6e09d98eacf8f8d5218e7cd47ef2be amzn-s3-demo-bucket \
        [06/Feb/2019:00:00:38 +0000] 192.0.2.3 79a59df9 3E57427F3EXAMPLE REST.GET.OBJECT photos/a%20b.jpg \"GET \
        /amzn-s3-demo-bucket/photos/a%20b.jpg?x=\\\"y HTTP/1.1\" 200 - 2662992 3462992 70 10 \"-\" \"S3Console/0.4\" - \
        s9lzHYrFp76ZVxRcpX9+5cjAnEH2ROuNkd2BHfIa6UkFVdtjf5mKR3/eTPFvsiP/XV/VLi31234= SigV4 ECDHE-RSA-AES128-GCM-SHA256 \
        AuthHeader amzn-s3-demo-bucket.s3.us-west-1.amazonaws.com TLSV1.2 - -";
    const APACHE: &str = "127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] \"GET /apache_pb.gif HTTP/1.0\" 200 2326 \
        \"http://www.example.com/start.html\" \"Mozilla/4.08 [en] (Win98; I ;Nav)\"";

    fn request(at_s: i64, asked: Asked, bytes: Option<u64>) -> LoggedRequest {
        LoggedRequest { at_ns: at_s * 1_000_000_000, is_whole_second: true, asked, bytes }
    }

    #[test]
    fn real_lines_are_understood_and_their_format_is_found() {
        let s3_put = S3.replace("REST.GET.OBJECT", "REST.PUT.PART").replace(" 2662992 ", " - ");
        let s3_list = S3.replace("REST.GET.OBJECT", "REST.GET.BUCKET").replace("photos/a%20b.jpg \"", "- \"");
        let nginx = "::1 - - [29/Feb/2024:23:59:59 +0530] \"PUT /b/o HTTP/1.1\" 201 0 \"-\" \"curl/8\"";
        let cases = [
            (S3, LogFormat::S3, request(1_549_411_238, Asked::Read, Some(2_662_992))),
            (&s3_put, LogFormat::S3, request(1_549_411_238, Asked::Write, Some(3_462_992))),
            (&s3_list, LogFormat::S3, request(1_549_411_238, Asked::List, Some(3_462_992))),
            (APACHE, LogFormat::Combined, request(971_211_336, Asked::Read, Some(2326))),
            (nginx, LogFormat::Combined, request(1_709_231_399, Asked::Write, None)),
        ];
        for (line, format, expected) in cases {
            assert_eq!(LogFormat::detect(line), Some(format), "{line}");
            assert_eq!(
                format.parse_line(line).map(|found| found.map(|one| LoggedRequest { bytes: None, ..one })),
                Ok(Some(LoggedRequest { bytes: None, ..expected })),
                "{line}"
            );
            if expected.asked != Asked::List {
                assert_eq!(format.parse_line(line).unwrap().unwrap().bytes, expected.bytes, "{line}");
            }
        }
    }

    #[test]
    fn a_day_that_no_calendar_has_is_no_time() {
        let at = |day: &str| LogFormat::Combined.parse_line(&APACHE.replace("10/Oct/2000", day));
        for day in ["31/Feb/2024", "30/Feb/2024", "29/Feb/2100", "29/Feb/2023", "31/Apr/2024", "00/Jan/2024"]
        {
            assert!(at(day).is_err(), "{day}");
        }
        for day in ["29/Feb/2024", "29/Feb/2000", "31/Dec/2024", "31/Jan/2024", "30/Apr/2024"] {
            assert!(at(day).is_ok(), "{day}");
        }
        for (from, to) in [("10/Oct", "+1/Oct"), ("13:55", "13:+5"), ("-0700", "-+7+0"), ("-0700", "-0760")] {
            assert!(LogFormat::Combined.parse_line(&APACHE.replace(from, to)).is_err(), "{to}");
        }
        assert!(LogFormat::Plain.parse_line("2026-02-29T12:00:00Z").is_err());
    }

    #[test]
    fn an_upload_in_parts_writes_each_byte_once() {
        let asked = |operation: &str| {
            let line = S3.replace("REST.GET.OBJECT", operation);
            LogFormat::S3.parse_line(&line).unwrap().unwrap().asked
        };
        let cases = [
            ("REST.POST.UPLOADS", Asked::Other),
            ("REST.PUT.PART", Asked::Write),
            ("REST.GET.UPLOAD", Asked::List),
            ("REST.POST.UPLOAD", Asked::Other),
            ("REST.DELETE.UPLOAD", Asked::Other),
            ("REST.POST.OBJECT", Asked::Write),
            ("REST.DELETE.OBJECT", Asked::Delete),
        ];
        for (operation, expected) in cases {
            assert_eq!(asked(operation), expected, "{operation}");
        }
    }

    #[test]
    fn plain_lines_keep_every_digit() {
        let plain = |line: &str| {
            let found = LogFormat::Plain.parse_line(line).unwrap().unwrap();
            (found.at_ns, found.asked, found.bytes)
        };
        assert_eq!(plain("0.5"), (500_000_000, Asked::Other, None));
        assert_eq!(
            plain("1549411238.123456789,GET,4096"),
            (1_549_411_238_123_456_789, Asked::Read, Some(4096))
        );
        assert_eq!(
            plain("2019-02-06T00:00:38.25Z, write ,-"),
            (1_549_411_238_250_000_000, Asked::Write, None)
        );
        assert_eq!(plain("2019-02-06 01:00:38+01:00").0, 1_549_411_238_000_000_000);
        for head in ["timestamp,op,size", "", "# note"] {
            assert_eq!(LogFormat::Plain.parse_line(head), Ok(None));
        }
        assert_eq!(LogFormat::detect("timestamp,op,size"), Some(LogFormat::Plain));
    }

    #[test]
    fn what_is_no_log_is_no_log_and_a_bad_line_says_what_is_wrong() {
        for text in [
            "<?xml version=\"1.0\"?>",
            "name: demo",
            "{",
            "-",
            "[",
            "\"",
            "- type: read",
            "---",
            "a b [c] \"d",
        ] {
            assert_eq!(LogFormat::detect(text), None, "{text}");
        }
        let cases = [
            (LogFormat::S3, S3.replace("Feb", "Fub"), "third field"),
            (LogFormat::S3, S3.replace("REST.GET.OBJECT", "x"), "seventh field"),
            (LogFormat::Combined, APACHE.replace("13:55:36", "25:55:36"), "fourth field"),
            (LogFormat::Combined, APACHE.replace("\"GET", "GET"), "fifth field"),
            (LogFormat::Plain, "yesterday".into(), "first field"),
            (LogFormat::Plain, "-1".into(), "first field"),
            (LogFormat::Plain, "99999999999999999999".into(), "first field"),
            (LogFormat::Plain, "1,read,many".into(), "third field"),
        ];
        for (format, line, words) in cases {
            let error = format.parse_line(&line).unwrap_err();
            assert!(error.contains(words), "{line}: {error}");
        }
    }
}
