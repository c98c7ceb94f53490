//! Keys and payload: does Cosmark ask for what the workload says, and write what no store can cheat on?

use std::collections::{HashMap, HashSet};
use std::io::Write as _;
use std::path::Path;

use cosmark_simstore::Op;

use crate::bench::{against, alone, alone_with, one_work, say};
use crate::support::{run, stderr, stdout};

/// Probability of each rank of a Zipf law.
fn zipf(keys: u32, exponent: f64) -> Vec<f64> {
    let weights: Vec<f64> = (1..=keys).map(|rank| f64::from(rank).powf(-exponent)).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / sum).collect()
}

/// The exponent whose probability that two draws meet is the one observed. Needs no knowledge of which key has which rank.
fn fitted_exponent(counts: &HashMap<u64, u64>, draws: u64, keys: u32) -> f64 {
    let pairs: f64 = counts.values().map(|n| *n as f64 * (*n as f64 - 1.0)).sum();
    let meet = pairs / (draws as f64 * (draws as f64 - 1.0));
    let (mut low, mut high) = (0.0, 3.0);
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        let here: f64 = zipf(keys, middle).iter().map(|p| p * p).sum();
        if here < meet { low = middle } else { high = middle }
    }
    low
}

#[test]
fn g18_zipf_keeps_its_exponent_and_its_working_set_for_any_number_of_workers() {
    const KEYS: u32 = 100_000;
    const DRAWS: u64 = 400_000;
    let _alone = alone();
    let law = zipf(KEYS, 0.9);
    let distinct: f64 = law.iter().map(|p| 1.0 - (1.0 - p).powf(DRAWS as f64)).sum();
    let mut hottest = HashSet::new();
    for workers in [1, 7, 64] {
        let fields = format!(
            "workers: {workers}, total_ops: {DRAWS}, operations: [{{type: read, containers: c(1), objects: 'z(1,{KEYS},0.9)'}}]"
        );
        let ran = alone_with(&one_work(&fields).replace("${STORE}", "{type: none}"));
        let mut counts: HashMap<u64, u64> = HashMap::new();
        ran.rows.iter().for_each(|row| *counts.entry(row.sample.object).or_default() += 1);
        assert_eq!(ran.rows.len() as u64, DRAWS);
        assert!(counts.keys().all(|key| (1..=u64::from(KEYS)).contains(key)));
        let exponent = fitted_exponent(&counts, DRAWS, KEYS);
        say(&format!(
            "G18 Zipf, {workers} workers: exponent 0.9 is {exponent:.4}, {distinct:.0} distinct keys are {}",
            counts.len()
        ));
        assert!((exponent - 0.9).abs() <= 0.02, "{workers} workers: {exponent}");
        assert!((counts.len() as f64 / distinct - 1.0).abs() <= 0.01, "{workers} workers: {}", counts.len());
        let mut ranked: Vec<(u64, u64)> = counts.into_iter().map(|(key, count)| (count, key)).collect();
        ranked.sort_unstable_by(|a, b| b.cmp(a));
        for (rank, p) in law.iter().take(20).enumerate() {
            let expected = p * DRAWS as f64;
            let found = ranked[rank].0 as f64;
            assert!(
                (found - expected).abs() <= 5.0 * expected.sqrt(),
                "{workers} workers, rank {rank}: {found}"
            );
        }
        hottest.insert(ranked[0].1);
    }
    assert_eq!(hottest.len(), 1, "the hottest key is the same one for any number of workers");
}

/// Prepares 500 objects, settles, measures.
fn deleting() -> String {
    let mix = "acceptable_failure_ratio: 1, operations: [{type: read, ratio: 80}, {type: write, ratio: 15}, {type: delete, \
               ratio: 5}]";
    let stage = |name: &str, work: &str| format!("  - name: {name}\n    works:\n      - {{{work}}}\n");
    "name: truth\nseed: 7\nstorage: ${STORE}\ndefaults: {containers: 'r(1,1)', objects: 'u(1,500)', sizes: c(128)B}\nstages:\n"
        .to_owned()
        + &stage("init", "type: init, workers: 1")
        + &stage("prepare", "type: prepare, workers: 4, objects: 'r(1,500)'")
        + &stage("settle", &format!("name: settle, workers: 8, total_ops: 12000, {mix}"))
        + &stage("main", &format!("name: main, workers: 8, total_ops: 40000, {mix}"))
}

#[test]
fn g25_a_workload_that_deletes_what_it_reads_is_warned_of_and_its_losses_are_shown() {
    let _alone = alone();
    let workload = deleting();
    let ran = against("seed: 3\n", "30s", &workload);
    let read = ran.operation("main", 0);
    assert_eq!(read.errors.keys().collect::<Vec<_>>(), ["http_404"]);
    let of_reads: u64 = ran.rows.iter().filter(|row| row.sample.status == 404).count() as u64;
    assert_eq!(of_reads, ran.counters.of(Op::Get, 404), "the server's count of reads that found nothing");
    let share = read.failed as f64 / (read.ok + read.failed) as f64;
    say(&format!("G25 deleting: 25 % expected, {:.2} % of {} reads", share * 100.0, read.ok + read.failed));
    assert!((share - 0.25).abs() <= 0.02, "{share}");
    std::fs::write(ran.path("check.yaml"), workload.replace("${STORE}", "{type: none}")).unwrap();
    let output = run(ran.directory.path(), &["check", "check.yaml"]);
    let text = (stdout(&output) + &stderr(&output)).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("expect about 25 %"), "{text}");
}

/// All files below a directory.
fn files(directory: &Path, found: &mut Vec<Vec<u8>>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, found) } else { found.push(std::fs::read(&path).unwrap()) }
    }
}

#[test]
fn g27_payload_can_neither_be_compressed_nor_deduplicated() {
    let _alone = alone();
    let store = tempfile::tempdir().unwrap();
    let workload = format!(
        "name: truth\nstorage: {{type: file, directory: '{}'}}\ndefaults: {{containers: 'r(1,2)', objects: 'r(1,1000)', sizes: \
         c(16)KiB}}\nstages:\n  - name: main\n    works:\n      - {{type: prepare, workers: 7, create_container: true}}\n",
        store.path().display()
    );
    let ran = alone_with(&workload);
    assert_eq!((ran.main().ok, ran.main().failed), (2000, 0));
    let mut bodies = Vec::new();
    files(store.path(), &mut bodies);
    bodies.retain(|body| body.len() == 16_384);
    assert_eq!(bodies.len(), 2000);
    let mut blocks = HashSet::new();
    let mut packed = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
    for body in &bodies {
        assert!(body.chunks(4096).all(|block| blocks.insert(block)), "two blocks of 4 KiB are the same");
        packed.write_all(body).unwrap();
    }
    let ratio = packed.finish().unwrap().len() as f64 / (bodies.len() * 16_384) as f64;
    say(&format!("G27 payload: deflate leaves {ratio:.4} of 2000 bodies, {} different blocks", blocks.len()));
    assert!(ratio >= 0.99, "{ratio}");
    assert_eq!(blocks.len(), 8000);
}
