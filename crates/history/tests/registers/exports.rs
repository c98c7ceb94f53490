//! What is written for other checkers.

use cosmark_history::{Kind, Operation, Outcome, jepsen_edn, porcupine_json};

fn history() -> Vec<Operation> {
    let one = |process, kind, value, call_ns, outcome| Operation {
        call_ns,
        return_ns: call_ns + 5,
        value,
        key: 3,
        process,
        kind,
        outcome,
    };
    vec![
        one(0, Kind::Write, 7, 10, Outcome::Done),
        one(1, Kind::Read, 7, 12, Outcome::Done),
        one(0, Kind::Write, 8, 20, Outcome::Unknown),
        one(2, Kind::Write, 9, 21, Outcome::Failed),
        one(3, Kind::Delete, 0, 40, Outcome::Done),
        one(1, Kind::Read, 0, 50, Outcome::Done),
        one(1, Kind::Read, 0, 60, Outcome::Unknown),
    ]
}

#[test]
fn porcupine_gets_each_operation_that_may_have_happened_and_those_without_an_answer_never_end() {
    let mut text = String::new();
    porcupine_json(&history(), &mut text).unwrap();
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 5, "{text}");
    assert_eq!(lines[0]["Input"], serde_json::json!({"Key": 3, "Op": "write", "Value": 7}));
    assert_eq!(lines[1]["Output"]["Value"], 7);
    let last = lines.iter().map(|line| line["Call"].as_u64().unwrap()).max().unwrap();
    assert!(lines[2]["Return"].as_u64().unwrap() > last, "{text}");
    assert_eq!((lines[3]["Input"]["Op"].as_str(), lines[3]["ClientId"].as_u64()), (Some("delete"), Some(3)));
}

#[test]
fn jepsen_gets_invocations_and_completions_in_the_order_of_time() {
    let mut text = String::new();
    jepsen_edn(&history(), &mut text).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 14);
    assert_eq!(lines[0], "{:index 0, :type :invoke, :f :write, :value [3 7], :process 0, :time 10}");
    assert_eq!(lines[1], "{:index 1, :type :invoke, :f :read, :value [3 nil], :process 1, :time 12}");
    assert_eq!(lines[3], "{:index 3, :type :ok, :f :read, :value [3 7], :process 1, :time 17}");
    assert!(
        text.contains(":type :info, :f :write, :value [3 8]")
            && text.contains(":type :fail, :f :write, :value [3 9]")
    );
    let times: Vec<u64> = lines
        .iter()
        .map(|line| line.rsplit(' ').next().unwrap().trim_end_matches('}').parse().unwrap())
        .collect();
    assert!(times.is_sorted(), "{times:?}");
}

/// Process and type of each line.
fn who(text: &str) -> Vec<(u64, String)> {
    let word = |line: &str, name: &str| {
        let rest = line.split_once(name).unwrap().1;
        rest.split([',', '}']).next().unwrap().trim().to_owned()
    };
    text.lines().map(|line| (word(line, ":process ").parse().unwrap(), word(line, ":type :"))).collect()
}

#[test]
fn jepsen_gets_one_open_operation_of_each_process_whatever_had_no_answer_or_fell_on_one_instant() {
    let mut history = history();
    // The writer goes on behind what had no answer, twice, and a reader begins at the instant at which it has ended.
    let goes_on =
        |value, call_ns, outcome| Operation { value, call_ns, return_ns: call_ns + 5, outcome, ..history[0] };
    let later = [
        goes_on(10, 30, Outcome::Done),
        goes_on(11, 70, Outcome::Unknown),
        goes_on(12, 80, Outcome::Done),
        Operation { call_ns: 17, return_ns: 19, ..history[1] },
    ];
    history.extend(later);
    let mut text = String::new();
    jepsen_edn(&history, &mut text).unwrap();
    let lines = who(&text);
    assert_eq!(lines.len(), 22, "{text}");
    let mut open = std::collections::BTreeSet::new();
    for (process, kind) in &lines {
        match kind.as_str() {
            "invoke" => assert!(open.insert(*process), "{process} has one already:\n{text}"),
            "info" => assert!(open.contains(process), "{text}"),
            _ => assert!(open.remove(process), "{process} has none:\n{text}"),
        }
    }
    // Each operation ends under the number under which it began, and those without an answer stay open.
    assert_eq!(open.len(), lines.iter().filter(|(_, kind)| kind == "info").count(), "{text}");
    assert_eq!(lines.iter().filter(|(process, _)| *process == 0).count(), 4, "{text}");
}

#[test]
fn what_nobody_has_written_fits_into_the_integers_of_others() {
    let mut read = history()[1];
    read.value = u64::MAX;
    let (mut porcupine, mut jepsen) = (String::new(), String::new());
    porcupine_json(&[read], &mut porcupine).unwrap();
    jepsen_edn(&[read], &mut jepsen).unwrap();
    assert!(porcupine.contains("\"Output\":{\"Value\":9223372036854775807}"), "{porcupine}");
    assert!(jepsen.contains(":type :ok, :f :read, :value [3 9223372036854775807]"), "{jepsen}");
}
