//! Runs of others: archives as COSBench 0.4.2 writes them, with what is known to be wrong with them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]

use cosmark_archive::cosbench::CosbenchRun;
use cosmark_archive::{Check, CheckStatus, Overall, Verdict};
use cosmark_verdict::{judge_cosbench, preflight};
use cosmark_workload::{Environment, Format, parse_what_is_there};

const TABLE_HEAD: &str = "Stage,Op-Name,Op-Type,Op-Count,Byte-Count,Avg-ResTime,Avg-ProcTime,60%-ResTime,80%-ResTime,\
                          90%-ResTime,95%-ResTime,99%-ResTime,100%-ResTime,Throughput,Bandwidth,Succ-Ratio,Status,\
                          Detailed Status\n";

/// An 80/15/5 mix over the keys that it reads, 10 minutes, 8 workers: what a well known study ran.
const CONFIG: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<workload name="mix" description="">
  <storage type="s3" config="endpoint=http://h"/>
  <workflow>
    <workstage name="init"><work type="init" workers="1" config="containers=r(1,1)"/></workstage>
    <workstage name="prepare"><work type="prepare" workers="8" config="containers=r(1,1);objects=r(1,1000);sizes=c(4)KB"/></workstage>
    <workstage name="mix"><work name="mix" workers="8" rampup="120" runtime="600">
      <operation type="read" ratio="80" config="containers=c(1);objects=u(1,1000)"/>
      <operation type="write" ratio="15" config="containers=c(1);objects=u(1,1000);sizes=c(4)KB"/>
      <operation type="delete" ratio="5" config="containers=c(1);objects=u(1,1000)"/>
    </work></workstage>
    <workstage name="reads"><work name="reads" workers="8" rampup="120" runtime="600">
      <operation type="read" ratio="100" config="containers=c(1);objects=u(1,1000)"/>
    </work></workstage>
  </workflow>
</workload>
"#;

fn line(stage: &str, name: &str, values: &str) -> String {
    format!(
        "{stage},{name},{values},completed,waiting @ 2014-05-07 10:00:00,running @ 2014-05-07 10:01:00,completed @ 2014-05-07 10:13:00\n"
    )
}

fn table(reads: &str) -> String {
    let nothing = "0,0,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,0,0,N/A";
    [
        TABLE_HEAD.to_owned(),
        line("s1-init", "init-write", &format!("init,{nothing}")),
        line("s2-prepare", "prepare-write", "prepare,1000,4000000,5.1,5.1,10,10,10,10,20,30,190,760000,100%"),
        line("s3-mix", "read", "read,288000,1152000000,7.02,7,10,10,10,20,20,80,480,1920000,75.03%"),
        line("s3-mix", "write", "write,72000,288000000,15.2,15,20,20,20,30,40,90,120,480000,100%"),
        line("s3-mix", "delete", "delete,24000,0,12.1,12.1,20,20,20,30,40,90,40,0,100%"),
        line("s4-reads", "read", reads),
    ]
    .concat()
}

fn judged(table: &str, config: &str) -> Verdict {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("w55-mix");
    std::fs::create_dir(&path).unwrap();
    std::fs::write(path.join("w55-mix.csv"), table).unwrap();
    std::fs::write(path.join("workload-config.xml"), config).unwrap();
    judge_cosbench(&CosbenchRun::open(&path).unwrap())
}

fn check<'a>(verdict: &'a Verdict, stage: &str, id: &str) -> &'a Check {
    let found = verdict.checks.iter().find(|check| check.stage.as_deref() == Some(stage) && check.id == id);
    found.unwrap_or_else(|| panic!("no {id} of {stage}: {verdict:#?}"))
}

const READS: &str = "read,432000,1728000000,8.05,8,10,10,10,20,20,80,720,2880000,73.4%";

#[test]
fn a_published_read_test_that_missed_a_quarter_is_false_and_the_missing_objects_are_the_cause() {
    let verdict = judged(&table(READS), CONFIG);
    assert_eq!(verdict.overall, Overall::False);
    for stage in ["s3-mix", "s4-reads"] {
        let existence = check(&verdict, stage, "V13");
        assert_eq!(existence.status, CheckStatus::Fail);
        assert!((existence.value.unwrap() - 0.25).abs() < 0.01, "{existence:?}");
        let errors = check(&verdict, stage, "V12");
        let words = ["`delete` of s3-mix deletes objects 1 to 1000 of container 1", "w/(w+d) = 75 %"];
        assert!(words.iter().all(|word| errors.message.contains(word)), "{errors:?}");
    }
    let errors = check(&verdict, "s4-reads", "V12");
    assert!((errors.value.unwrap() - 0.266).abs() < 1e-3, "{errors:?}");
}

#[test]
fn time_that_is_in_no_figure_is_found_and_coarse_times_are_not_blamed() {
    // 720/s of 8.05 ms are 5.8 of 8 workers; even with 1 ms more each 6.5.
    let missing = judged(&table(READS), CONFIG);
    let found = check(&missing, "s4-reads", "C1");
    assert!(found.status == CheckStatus::Fail && found.message.contains("8 workers"), "{found:?}");
    // 4000/s of 1.6 ms are 6.4 workers, with the cut millisecond more than there are.
    let coarse = READS.replace("432000,1728000000,8.05", "2400000,9600000000,1.6").replace(",720,", ",4000,");
    let coarse = judged(&table(&coarse), CONFIG);
    let found = check(&coarse, "s4-reads", "C1");
    assert!(found.status == CheckStatus::NotRun && found.message.contains("whole milliseconds"), "{found:?}");
}

#[test]
fn a_rate_that_the_table_does_not_have_takes_no_time_from_the_workers() {
    // 720/s of 10.9 ms are all of 8 workers, whether the table has the rate, has none, or one over no time.
    for rate in ["720,2880000", "N/A,N/A", "\u{221e},\u{221e}", "?,?"] {
        let reads = ALL_READS.replace("720,2880000", rate);
        let found = check(&judged(&table(&reads), CONFIG), "s4-reads", "C1").clone();
        assert_eq!(found.status, CheckStatus::Pass, "{rate}: {found:?}");
    }
    // One operation of a mix that lacks its rate does not make the others look idle.
    let mixed = |rate: &str| {
        let table = table(ALL_READS).replace(
            "7.02,7,10,10,10,20,20,80,480,1920000,75.03%",
            &format!("10.9,7,10,10,10,20,20,80,{rate},100%"),
        );
        let verdict = judged(&table, CONFIG);
        let found = check(&verdict, "s3-mix", "C1");
        (found.status, found.value)
    };
    assert_eq!(mixed("480,1920000"), mixed("N/A,N/A"));
}

#[test]
fn no_infinite_time_or_rate_of_a_table_stands_in_a_sentence() {
    const BEYOND: &str = "9223372036854775807";
    let beyond = format!("10,10,10,{BEYOND},{BEYOND},{BEYOND},720,");
    let (times, rates) =
        (READS.replace("10,10,10,20,20,80,720,", &beyond), READS.replace(",720,", ",\u{221e},"));
    assert!(times.contains(BEYOND) && rates.contains('\u{221e}'));
    for reads in [&times, &rates] {
        let verdict = judged(&table(reads), CONFIG);
        let words = |text: &str| text.split(|sign: char| !sign.is_alphanumeric()).any(|word| word == "inf");
        assert!(!verdict.checks.iter().any(|check| words(&check.message)), "{verdict:#?}");
    }
    let verdict = judged(&table(&times), CONFIG);
    let length = check(&verdict, "s4-reads", "V9");
    assert!(length.message.contains("30 times the p99 of 500 s"), "{length:?}");
}

#[test]
fn a_table_that_was_cut_is_warned_of_and_one_with_fewer_stages_is_not() {
    let whole = table(ALL_READS);
    let warned = |table: &str| {
        let verdict = judged(table, CONFIG);
        verdict.checks.iter().any(|check| check.stage.is_none() && check.message.contains("middle of a line"))
    };
    assert!(!warned(&whole));
    let without_last = whole.lines().count() - 1;
    let fewer: String = whole.lines().take(without_last).map(|line| format!("{line}\n")).collect();
    assert!(!warned(&fewer), "a run that was ended in its third stage");
    assert!(warned(whole.trim_end()));
    assert!(warned(whole.strip_suffix(",completed @ 2014-05-07 10:13:00\n").unwrap()));
}

#[test]
fn what_was_asked_for_is_known_of_a_run_that_lacks_its_last_stages_and_not_of_that_of_others() {
    let whole = table(ALL_READS);
    let lines = whole.lines().count() - 1;
    let fewer: String = whole.lines().take(lines).map(|line| format!("{line}\n")).collect();
    let says = |verdict: &Verdict, words: &str| {
        verdict.checks.iter().any(|check| check.stage.is_none() && check.message.contains(words))
    };
    for table in [fewer.clone(), fewer.replace(",completed,waiting", ",cancelled,waiting")] {
        let verdict = judged(&table, CONFIG);
        // The missing objects are the workload's own, which the table alone does not tell.
        assert_eq!(check(&verdict, "s3-mix", "V13").status, CheckStatus::Fail, "{verdict:#?}");
        assert!(!says(&verdict, "workload-config.xml") && !says(&verdict, "missing"), "{verdict:#?}");
    }
    // Files of two runs in one directory, and no workload at all.
    let other = CONFIG.replace(r#"name="mix"><work"#, r#"name="blend"><work"#);
    assert!(!says(&judged(&whole, &other), "workload-config.xml"), "as many, in any encoding of their names");
    let verdict = judged(&fewer, &other);
    assert!(says(&verdict, "has 4 stages, and the 3 of the result table are not its first"), "{verdict:#?}");
    assert!(says(&judged(&whole, "<workload/>"), "cannot be read as a workload"));
    // The history knows that the run came to its end.
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("w55-mix");
    std::fs::create_dir(&path).unwrap();
    let date = "2014-05-07 10:00:00";
    let history = format!("w55,mix,{date},{date},{date},read,finished,processing @ {date}\n");
    std::fs::write(directory.path().join("run-history.csv"), history).unwrap();
    std::fs::write(path.join("workload-config.xml"), CONFIG).unwrap();
    for (table, lacks) in [(&whole, false), (&fewer, true)] {
        std::fs::write(path.join("w55-mix.csv"), table).unwrap();
        let verdict = judge_cosbench(&CosbenchRun::open(&path).unwrap());
        assert_eq!(says(&verdict, "has 3 of its 4 stages"), lacks, "{verdict:#?}");
    }
}

#[test]
fn rates_that_are_sums_over_workers_are_compared_with_the_count() {
    let summed = READS.replace(",720,", ",1692,");
    let found = judged(&table(&summed), CONFIG);
    let found = check(&found, "s4-reads", "C2");
    assert!(found.status == CheckStatus::Fail && (found.value.unwrap() - 1.35).abs() < 0.01, "{found:?}");
    let found = judged(&table(READS), CONFIG);
    assert_eq!(check(&found, "s4-reads", "C2").status, CheckStatus::Pass);
}

#[test]
fn rows_from_which_works_are_left_out_do_not_show_that_the_end_of_a_stage_is_missing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("w55-mix");
    std::fs::create_dir(&path).unwrap();
    std::fs::write(path.join("w55-mix.csv"), table(ALL_READS)).unwrap();
    std::fs::write(path.join("workload-config.xml"), CONFIG).unwrap();
    let judged = |rows: &str| {
        let columns = [
            "Op-Count",
            "Byte-Count",
            "Avg-ResTime",
            "Avg-ProcTime",
            "Throughput",
            "Bandwidth",
            "Succ-Ratio",
        ];
        let head = columns.map(|column| format!("{column},,,")).concat();
        let names = "read,write,delete,".repeat(columns.len());
        let text = format!("Timestamp,{head}Version-Info,,\n,{names}Min-Version,Version,Max-Version\n{rows}");
        std::fs::write(path.join("s3-mix.csv"), text).unwrap();
        let found = check(&judge_cosbench(&CosbenchRun::open(&path).unwrap()), "s3-mix", "C3").clone();
        (found.status, found.message)
    };
    let whole = "10:02:05,2000,500,150,8000000,2000000,0,7,15,12,7,15,12,400,100,30,1600000,400000,0,100%,100%,100%,0,0,0\n";
    let two = "10:02:10,2100,520,8400000,2080000,7,15,7,15,420,104,1680000,416000,100%,100%,1,1,1\n";
    let (status, message) = judged(whole);
    assert!(status == CheckStatus::Warn && message.contains("lacks the end"), "{message}");
    let (status, message) = judged(&format!("{whole}{two}"));
    assert!(status == CheckStatus::NotRun && message.contains("1 of 2 rows"), "{message}");
}

#[test]
fn a_stage_that_a_total_or_somebody_ended_before_its_time_is_not_divided_by_its_runtime() {
    // 72 000 operations in 100 s are 720/s, and over the 600 s of the runtime a sixth of that.
    let reads = READS.replace("432000,1728000000", "72000,288000000");
    let total = |end: &str| {
        let config = CONFIG.replace(
            r#"name="reads" workers="8" rampup="120" runtime="600""#,
            r#"name="reads" workers="8" rampup="0" runtime="600" totalOps="72000""#,
        );
        let table = table(&reads).replace("10:13:00", end);
        check(&judged(&table, &config), "s4-reads", "C2").status
    };
    assert_eq!(total("10:02:40"), CheckStatus::NotRun);
    assert_eq!(total("10:11:00"), CheckStatus::Fail, "its runtime was over before its total");
    for state in ["terminated", "cancelled", "aborted"] {
        assert_eq!(
            check(&ended(&reads, state, None), "s4-reads", "C2").status,
            CheckStatus::NotRun,
            "{state}"
        );
    }
}

/// The reads of the last stage replaced, in this state, with what the index file says of the workers.
fn ended(reads: &str, state: &str, index: Option<&str>) -> Verdict {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("w55-mix");
    std::fs::create_dir(&path).unwrap();
    let mut table = table(reads);
    let at = table.rfind(",completed,waiting").unwrap();
    table.replace_range(at..at + ",completed".len(), &format!(",{state}"));
    std::fs::write(path.join("w55-mix.csv"), table).unwrap();
    std::fs::write(path.join("workload-config.xml"), CONFIG).unwrap();
    if let Some(rows) = index {
        std::fs::write(directory.path().join("workloads.csv"), rows).unwrap();
    }
    judge_cosbench(&CosbenchRun::open(&path).unwrap())
}

const NO_READS: &str = "read,0,0,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,0,0,N/A";
const ALL_READS: &str = "read,432000,1728000000,10.9,8,10,10,10,20,20,80,720,2880000,100%";

#[test]
fn what_has_no_figure_is_named_and_is_no_success() {
    // Marked failed without a count: the store answered, with what is only in the log.
    let failed = ended(NO_READS, "failed", None);
    let found = check(&failed, "s4-reads", "V12");
    assert!(found.status == CheckStatus::Fail && found.message.contains("no read succeeded"), "{found:?}");
    assert!(!found.message.contains("no answer at all"), "{found:?}");
    let refused = ended(&NO_READS.replace("N/A,0,0,N/A", "N/A,0,0,0%"), "failed", None);
    let found = check(&refused, "s4-reads", "V12");
    assert!(found.message.contains("every operation of it failed"), "{found:?}");
    // Finished, and nothing in it: worse than too little.
    let finished = ended(NO_READS, "completed", None);
    let found = check(&finished, "s4-reads", "V12");
    assert!(found.status == CheckStatus::Fail && found.message.contains("has not one figure"), "{found:?}");
    assert_eq!(finished.overall, Overall::False);
    for state in ["terminated", "cancelled", "aborted"] {
        let found = ended(NO_READS, state, None);
        let length = check(&found, "s4-reads", "V9");
        assert!(length.message.contains(&format!("the stage was {state}")), "{length:?}");
        assert_eq!(check(&found, "s4-reads", "V12").status, CheckStatus::NotRun);
    }
    let full = ended(ALL_READS, "failed", None);
    let found = check(&full, "s4-reads", "V12");
    assert!(
        found.status == CheckStatus::Fail && found.message.contains("calls the stage failed"),
        "{found:?}"
    );
}

#[test]
fn one_operation_without_a_figure_is_not_hidden_by_the_others() {
    let without = table(READS).replace(
        "write,72000,288000000,15.2,15,20,20,20,30,40,90,120,480000,100%",
        &NO_READS.replace("read,", "write,"),
    );
    let verdict = judged(&without, CONFIG);
    let found = check(&verdict, "s3-mix", "V12");
    assert!(
        found.status == CheckStatus::Fail && found.message.contains("of write there is no figure"),
        "{found:?}"
    );
}

#[test]
fn a_finished_run_whose_every_stage_is_empty_is_false() {
    let bare = |name: &str| {
        let nothing = ["N/A"; 15].join(",");
        format!("{name},{nothing},completed,waiting @ 2014-05-07 10:00:00,completed @ 2014-05-07 10:01:00\n")
    };
    for config in [CONFIG, "<workload"] {
        let verdict = judged(
            &[TABLE_HEAD.to_owned(), bare("init"), bare("prepare"), bare("mix"), bare("reads")].concat(),
            config,
        );
        assert_eq!(verdict.overall, Overall::False, "{verdict:?}");
    }
}

#[test]
fn a_read_of_what_an_earlier_run_wrote_finds_it_and_is_believed() {
    let config = CONFIG.replace(r#"<workstage name="mix">"#, r#"<workstage name="mix"><!--"#).replace(
        r#"</work></workstage>
    <workstage name="reads">"#,
        r#"--><work name="mix" workers="8" rampup="120" runtime="600"><operation type="read" ratio="100" config="containers=c(1);objects=u(1,5000)"/></work></workstage>
    <workstage name="reads">"#,
    );
    let only_reads = [
        TABLE_HEAD.to_owned(),
        line("s1-init", "init-write", "init,0,0,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,0,0,N/A"),
        line("s2-prepare", "prepare-write", "prepare,1000,4000000,5.1,5.1,10,10,10,10,20,30,190,760000,100%"),
        line("s3-mix", "read", ALL_READS),
        line("s4-reads", "read", ALL_READS),
    ];
    let found = judged(&only_reads.concat(), &config);
    let found = check(&found, "s3-mix", "V13");
    assert!(
        found.status == CheckStatus::Pass && found.message.contains("a run before it wrote them"),
        "{found:?}"
    );
}

#[test]
fn workers_that_died_are_missing_and_unknown_ones_make_no_operations_per_worker() {
    let row = |workers: u64| {
        format!(
            "Id,Op-Name\nw55-s4-reads-1,read,432000,1728000000,{workers},10.9,8,10,10,10,20,20,80,720,2880000,100%,100% containers=c(1)\n"
        )
    };
    for (workers, status) in [(8, CheckStatus::Pass), (6, CheckStatus::Fail)] {
        let found = ended(ALL_READS, "completed", Some(&row(workers)));
        let found = check(&found, "s4-reads", "C6");
        assert!(
            found.status == status && found.message.contains(&format!("{workers} of 8 workers")),
            "{found:?}"
        );
    }
    let unknown = judged(&table(ALL_READS), "<workload");
    let length = check(&unknown, "s4-reads", "V9");
    assert!(!length.message.contains("per worker"), "{length:?}");
}

#[test]
fn a_listing_that_takes_no_time_was_never_sent() {
    let config = CONFIG.replace(
        r#"<operation type="delete" ratio="5" config="containers=c(1);objects=u(1,1000)"/>"#,
        r#"<operation type="list" ratio="5" config="containers=c(1)"/>"#,
    );
    let rows = |times: &str| {
        table(READS).replace("delete,delete,24000,0,12.1,12.1", &format!("list,list,24000,0,{times}"))
    };
    let sent = judged(&rows("12.1,12.1"), &config);
    assert_eq!(check(&sent, "s3-mix", "C7").status, CheckStatus::Pass);
    let never = judged(&rows("0.1,0.1"), &config);
    let found = check(&never, "s3-mix", "C7");
    assert!(found.status == CheckStatus::Fail && found.message.contains("nothing was sent"), "{found:?}");
    let swift = judged(&rows("0.1,0.1"), &config.replace(r#"type="s3""#, r#"type="swift""#));
    assert_eq!(check(&swift, "s3-mix", "C7").status, CheckStatus::Pass);
}

#[test]
fn without_a_workload_nothing_is_invented() {
    let verdict = judged(&table(READS), "<workload");
    assert!(check(&verdict, "s4-reads", "V13").status == CheckStatus::NotRun);
    assert!(check(&verdict, "s4-reads", "V12").message.contains("26.6 % of all operations failed"));
}

#[test]
fn the_workload_alone_tells_the_same_before_the_run() {
    let (workload, mistakes) = parse_what_is_there(CONFIG, Format::Xml, &Environment::default());
    let said = preflight(&workload.unwrap_or_else(|| panic!("{mistakes:?}")));
    let of = |stage: &str, id: &str| {
        said.iter()
            .find(|check| check.stage.as_deref() == Some(stage) && check.id == id)
            .map(|check| check.value)
    };
    for stage in ["s3-mix", "s4-reads"] {
        assert!((of(stage, "V13").flatten().unwrap() - 0.25).abs() < 1e-9, "{said:?}");
        assert!(of(stage, "V14").is_some(), "4 MB fit into any memory: {said:?}");
    }
}
