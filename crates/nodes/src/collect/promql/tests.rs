//! A Prometheus server that answers in one way or another.

use super::*;
use crate::collect::http::tests::server;

fn source(url: &str) -> Server {
    Server::new(
        url.trim_end_matches("/metrics"),
        "{instance=\"s1:9100\"}",
        Login::default(),
        Duration::from_secs(5),
    )
    .unwrap()
}

fn answer(result: &str) -> String {
    let body = format!("{{\"status\":\"success\",\"data\":{{\"resultType\":\"x\",\"result\":{result}}}}}");
    format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{body}")
}

fn busy(instance: &str, points: &str) -> String {
    format!(
        "{{\"metric\":{{\"__name__\":\"node_cpu_seconds_total\",\"cpu\":\"0\",\"mode\":\"user\",\"instance\":\"{instance}\"}},\
         \"values\":[{points}]}}"
    )
}

#[test]
fn a_server_from_another_age_tells_no_time() {
    for said in ["10000000000", "99999999999", "-1", "NaN", "soon"] {
        let (url, asked) = server(vec![answer(&format!("[0, \"{said}\"]"))]);
        let why = source(&url).ask().err().unwrap();
        assert!(why.contains("tells no time"), "{said}: {why}");
        drop(asked.join());
    }
}

#[test]
fn scrapes_have_their_own_times_on_this_clock_and_come_once() {
    let now_s = now_ns() / 1_000_000_000;
    // The server's clock is an hour ahead.
    let there = now_s + 3_600;
    let clock = answer(&format!("[{there}, \"{there}.000\"]"));
    let points = |seconds: &[u64]| -> String {
        let all: Vec<String> = seconds.iter().map(|s| format!("[{}.5,\"{s}\"]", there - s)).collect();
        all.join(",")
    };
    let (url, asked) = server(vec![
        clock.clone(),
        answer(&format!("[{}]", busy("s1:9100", &points(&[31, 16])))),
        clock,
        answer(&format!("[{}]", busy("s1:9100", &points(&[31, 16, 1])))),
    ]);
    let source = source(&url);
    let times = |news: Vec<News>| -> Vec<u64> {
        let at = |one: News| match one {
            News::Reading(reading) => Some(reading.at_ns / 1_000_000_000),
            _ => None,
        };
        news.into_iter().filter_map(at).collect()
    };
    let near = |got: Vec<u64>, ago: &[u64]| {
        assert_eq!(got.len(), ago.len(), "{got:?}");
        for (got, ago) in got.iter().zip(ago) {
            assert!(got.abs_diff(now_s - ago) <= 300, "{got} {ago} {now_s}");
        }
    };
    near(times(source.ask().unwrap()), &[31, 16]);
    near(times(source.ask().unwrap()), &[1]);
    let asked = asked.join().unwrap();
    assert!(asked[1].contains("POST /api/v1/query") && asked[1].contains("s1%3A9100"), "{}", asked[1]);
    assert!(asked[1].contains("%5B60s%5D"), "{}", asked[1]);
}

/// As a server with `honor_timestamps` has what kubelets say: each container has times of its own.
#[test]
fn each_series_has_times_of_its_own_and_late_ones_are_not_passed_over() {
    let there = now_ns() / 1_000_000_000;
    let clock = answer(&format!("[{there}, \"{there}.000\"]"));
    let of = |pod: &str, ago: &[u64]| {
        let points: Vec<String> =
            ago.iter().map(|ago| format!("[{}.25,\"{}\"]", there - ago, 100 - ago)).collect();
        format!(
            "{{\"metric\":{{\"__name__\":\"container_cpu_usage_seconds_total\",\"namespace\":\"n\",\"pod\":\"{pod}\",\
             \"container\":\"osd\"}},\"values\":[{}]}}",
            points.join(",")
        )
    };
    let both = |a: &[u64], b: &[u64]| answer(&format!("[{},{}]", of("a", a), of("b", b)));
    let (url, asked) =
        server(vec![clock.clone(), both(&[30, 20], &[33]), clock, both(&[30, 20, 10], &[33, 22])]);
    let source = source(&url);
    let units = |news: Vec<News>| -> Vec<(String, f64)> {
        let read = news.into_iter().filter_map(|one| match one {
            News::Reading(reading) => Some(reading.samples),
            _ => None,
        });
        read.flatten().map(|one| (one.unit, one.value)).collect()
    };
    let one = |pod: &str, value: f64| (format!("n/{pod}/osd"), value);
    assert_eq!(units(source.ask().unwrap()), [one("b", 67.0), one("a", 70.0), one("a", 80.0)]);
    // What is older than the newest of another series is new all the same.
    assert_eq!(units(source.ask().unwrap()), [one("b", 78.0), one("a", 90.0)]);
    asked.join().unwrap();
}

#[test]
fn an_answer_that_is_a_part_says_so_and_a_whole_one_takes_it_back() {
    let there = now_ns() / 1_000_000_000;
    let whole = |rest: &str| {
        let at = there - 1;
        let series = busy("s1:9100", &format!("[{at},\"1\"]"));
        let body = format!("{{\"status\":\"success\"{rest},\"data\":{{\"result\":[{series}]}}}}");
        format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{body}")
    };
    for (rest, words) in [
        (
            ",\"warnings\":[\"store s2\\u001b is away\",\"b\",\"c\"]",
            Some("missing: store s2\u{fffd} is away; b"),
        ),
        (",\"isPartial\":true", Some("a part of what it has")),
        (",\"warnings\":[],\"isPartial\":false", None),
    ] {
        let (url, _) = server(vec![answer(&format!("[{there}, \"{there}\"]")), whole(rest)]);
        let news = source(&url).ask().unwrap();
        let missing = news.into_iter().find_map(|one| match one {
            News::Missing(who) => Some(who),
            _ => None,
        });
        let missing = missing.unwrap();
        assert_eq!(missing.is_some(), words.is_some(), "{missing:?}");
        let said = missing.unwrap_or_default();
        assert!(said.contains(words.unwrap_or_default()) && !said.contains("; c"), "{said}");
    }
}

#[test]
fn file_systems_of_the_store_are_asked_for_where_they_are_wanted_and_missed_until_they_come() {
    let there = now_ns() / 1_000_000_000;
    let clock = || answer(&format!("[{there}, \"{there}\"]"));
    let of = |name: &str, place: &str, ago: u64, value: u64| {
        format!(
            "{{\"metric\":{{\"__name__\":\"node_filesystem_{name}_bytes\",\"device\":\"/dev/sdb\",\"mountpoint\":\"{place}\",\
             \"instance\":\"s1:9100\"}},\"values\":[[{},\"{value}\"]]}}",
            there - ago
        )
    };
    let both = |place: &str, ago: u64| {
        answer(&format!("[{},{}]", of("size", place, ago, 100), of("free", place, ago, 40)))
    };
    let (url, asked) =
        server(vec![clock(), both("/mnt", 9), clock(), both("/srv/d1", 5), clock(), both("/srv/d1", 5)]);
    let source = source(&url).with_filesystems(vec!["/srv".to_owned()]);
    let look = || {
        let (mut missing, mut found) = (None, Vec::new());
        for one in source.ask().unwrap() {
            match one {
                News::Missing(why) => missing = why,
                News::Reading(reading) => found.extend(reading.samples),
                _ => {}
            }
        }
        let found = found.into_iter().map(|one| (one.quantity.id, one.unit, one.value)).collect::<Vec<_>>();
        (missing, found)
    };
    let (missing, found) = look();
    assert!(missing.is_some_and(|why| why.contains("at or below /srv: ")) && found.is_empty(), "{found:?}");
    let room = |id, value| (id, "/srv/d1".to_owned(), value);
    let rooms = vec![room("store_capacity_bytes", 100.0), room("store_free_bytes", 40.0)];
    assert_eq!(look(), (None, rooms));
    assert_eq!(look(), (None, Vec::new()), "nothing new, and nothing that is missing");
    let asked = asked.join().unwrap();
    assert!(asked[1].contains("filesystem"), "{}", asked[1]);
}

/// They were unmounted: the machine is scraped as before.
#[test]
fn file_systems_that_came_and_come_no_more_are_missed_again() {
    let there = now_ns() / 1_000_000_000;
    let clock = |after: u64| answer(&format!("[{0}, \"{0}\"]", there + after));
    let rooms = |after: u64| {
        let of = |name: &str| {
            format!(
                "{{\"metric\":{{\"__name__\":\"node_filesystem_{name}_bytes\",\"device\":\"/dev/sdb\",\
                 \"mountpoint\":\"/srv/d1\",\"instance\":\"s1:9100\"}},\"values\":[[{},\"7\"]]}}",
                there + after
            )
        };
        answer(&format!("[{},{}]", of("size"), of("free")))
    };
    let others = |after: u64| {
        let point = format!("[{},\"{after}\"]", there + after);
        answer(&format!("[{}]", busy("s1:9100", &point)))
    };
    let answers = [(0, true), (30, false), (80, false), (120, false), (150, true), (165, true)];
    let (url, asked) = server(
        answers
            .into_iter()
            .flat_map(|(after, with)| [clock(after), if with { rooms(after) } else { others(after) }])
            .collect(),
    );
    let source = source(&url).with_filesystems(vec!["/srv".to_owned()]);
    let is_missed = || {
        let all = source.ask().unwrap().into_iter();
        let missing = |one| if let News::Missing(why) = one { why } else { None };
        { all }.find_map(missing).is_some()
    };
    let missed: Vec<bool> = answers.iter().map(|_| is_missed()).collect();
    assert_eq!(missed, [false, false, false, true, false, false]);
    asked.join().unwrap();
}

/// The exporter of the machine is down: the server answers as before, with nothing new.
#[test]
fn a_machine_that_is_scraped_no_more_is_lost_and_its_sentence_stays_the_same() {
    let mut seen = Seen::default();
    let mut at_s = 1_000;
    let mut after = |seconds: u64, is_new: bool| {
        at_s += seconds;
        seen.silent_for_s(at_s * 1_000, is_new)
    };
    assert_eq!((after(0, true), after(80, false), after(11, false)), (None, None, Some(90)));
    // It is scraped again, four times a minute: that it was away for long makes nobody wait longer.
    assert_eq!((after(9, true), after(15, true)), (None, None));
    assert_eq!((after(45, false), after(1, false), after(50, false)), (None, Some(45), Some(45)));
    assert_eq!((after(1, true), after(15, true), after(46, false)), (None, None, Some(45)));
}

#[test]
fn a_server_whose_clock_is_set_back_is_heard_again() {
    let mut seen = Seen::default();
    let series = number_of(&[("instance".to_owned(), "s1".to_owned())]);
    assert!(seen.is_new(series, 5_000_000));
    seen.follow_clock(4_995_000);
    assert!(!seen.is_new(series, 4_996_000), "servers behind one address differ by a little");
    seen.follow_clock(1_400_000);
    assert!(seen.is_new(series, 1_399_000));
}

#[test]
fn what_is_no_answer_is_one_sentence() {
    let clock = || answer("[1, \"1\"]");
    for (answers, words) in [
        (vec![clock(), answer("[]")], "no series of a machine with {instance=\"s1:9100\"}"),
        (
            vec![clock(), answer(&format!("[{},{}]", busy("a:1", "[1,\"2\"]"), busy("b:1", "[1,\"2\"]")))],
            "knows 2 machines",
        ),
        (vec!["HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n<html>".to_owned()], "as a Prometheus server"),
        (
            vec!["HTTP/1.1 400 x\r\nconnection: close\r\n\r\n{\"error\":\"parse error\"}".to_owned()],
            "answers 400: parse error",
        ),
        (vec![answer("[]")], "tells no time"),
    ] {
        let (url, _) = server(answers);
        let said = source(&url).ask().unwrap_err();
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn matchers_that_select_nothing_are_refused() {
    for matchers in ["", "{}", "storage1", "a=\"b\"}[5m] or x{"] {
        assert!(
            Server::new("http://x", matchers, Login::default(), Duration::from_secs(5)).is_err(),
            "{matchers}"
        );
    }
}

#[test]
fn quotes_hold_any_sign_and_nothing_else_holds_braces() {
    let of = |select: &str| Server::new("http://x", select, Login::default(), Duration::from_secs(5));
    for (select, matchers) in [
        ("{pod=~\"osd-[0-9]{1,2}\"}", "pod=~\"osd-[0-9]{1,2}\""),
        ("pod=~\"osd-[0-9]{1,2}\",", "pod=~\"osd-[0-9]{1,2}\""),
        ("a=\"\\\"}\", b='{'", "a=\"\\\"}\", b='{'"),
        ("a=~`\\d{3}`", "a=~`\\d{3}`"),
    ] {
        assert_eq!(of(select).unwrap().matchers, matchers, "{select}");
    }
    for select in ["a", "{}", "a=\"b\"} or {c=\"d\"", "a=\"b", "a=\"b\\\"", "a=\"b\"\nc=\"d\"", "a=`\\`{`"] {
        assert!(of(select).unwrap_err().contains("selects nothing"), "{select}");
    }
}
