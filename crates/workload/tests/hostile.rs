//! Access logs, and the faults that an operator allows, cut, doubled and mixed: no panic, and what is wrong is said at a place that is
//! there.

use cosmark_workload::access_log::{ASKED, LOG_FORMATS, LogFormat};
use cosmark_workload::parse_allowed_faults;
use proptest::prelude::*;
use proptest::sample::select;

use self::changed::changed;

#[path = "hostile/changed.rs"]
mod changed;

const LOGGED: &[&str] = &[
    "79a5 bucket [06/Feb/2019:00:00:38 +0000] 192.0.2.3 79a5 3E57 REST.GET.OBJECT a%20b.jpg \"GET /b/a?x=\\\"y HTTP/1.1\" 200 - 26 34 7",
    "127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] \"GET /apache_pb.gif HTTP/1.0\" 200 2326 \"http://x/\" \"Mozilla\"",
    "1549411238.123456789,GET,4096",
    "2019-02-06T00:00:38.25+01:00, write ,-",
];

const ALLOWED: &[&str] = &[
    "faults:\n- {name: osd hangs, type: signal, signal: STOP, process: ceph-osd, longest: 2m}\n",
    "faults:\n- {name: net, type: command, inject: a, heal: b, proof: c, longest: 30s, within: 5s, noticed: d, whole: e}\n",
    "faults:\n- &a {name: slow, type: cgroup, process: x, cpu: 5 %, longest: 1m}\n- <<: *a\n",
];

const PIECES: &[&str] = &[
    "-1",
    "1e308",
    "18446744073709551616",
    "9223372036854775807",
    "\"",
    "\\",
    "[",
    "]",
    "{",
    "}",
    ":",
    ",",
    "- ",
    " ",
    "\n",
    "\t",
    "\0",
    "é",
    "\u{202e}",
    "&a ",
    "*a",
    "!!str ",
    "|\n",
    "+2399",
    "29/Feb/2023",
    "%",
];

/// One of these, changed.
fn one_of(texts: &'static [&'static str]) -> impl Strategy<Value = String> {
    changed(select(texts).prop_map(str::to_owned), PIECES, 30)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn a_line_of_a_log_is_a_request_or_refused_with_a_reason(line in one_of(LOGGED)) {
        for (name, format) in LOG_FORMATS {
            match format.parse_line(&line) {
                Ok(Some(request)) => prop_assert!(ASKED.iter().any(|(_, asked)| *asked == request.asked)),
                Ok(None) => {}
                Err(why) => prop_assert!(!why.is_empty() && why.len() < 200, "{}: {}", name, why),
            }
        }
        // What a file begins with tells its format: such a line has to be read by it.
        if let Some(format) = LogFormat::detect(line.trim()) {
            prop_assert!(format.parse_line(&line).is_ok(), "{:?}: {:?}", format, line);
        }
    }

    #[test]
    fn mistakes_of_allowed_faults_stand_where_they_are(text in one_of(ALLOWED)) {
        let (_, mistakes) = parse_allowed_faults(&text);
        for one in &mistakes {
            prop_assert!(!one.message.is_empty());
            prop_assert!(text.get(one.span.start..one.span.end()).is_some(), "{:?}", one);
        }
    }
}
