//! Bad input: never a panic, never without bounds, always with a reason.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use cosmark_workload::choose::below;
use cosmark_workload::{Diagnostic, Environment, Format, apply_setting, apply_target, parse, parse_target};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

fn diagnostics(text: &str, format: Format) -> Vec<Diagnostic> {
    let (_, diagnostics) = parse(text, format, &Environment::default());
    for d in &diagnostics {
        assert!(d.span.end() <= text.len() && text.get(d.span.start..d.span.end()).is_some(), "{d:?}");
    }
    diagnostics
}

fn refused(text: &str, format: Format, why: &str) {
    let found = diagnostics(text, format);
    assert!(found.iter().any(|d| d.message.contains(why)), "{why}: {found:?}");
}

#[test]
fn mutated_samples_never_panic() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut samples: Vec<(String, String)> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "xml" || e == "yaml"))
        // Its million nodes take a second each time.
        .filter(|p| p.file_stem().is_some_and(|s| s != "laughs"))
        .map(|p| (p.to_string_lossy().into_owned(), fs::read_to_string(p).unwrap()))
        .collect();
    samples.sort();
    assert!(samples.len() >= 20, "{}", samples.len());
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(20_260_101);
    for (name, text) in &samples {
        for round in 0..40 {
            let (_, other) = &samples[below(&mut rng, samples.len() as u64) as usize];
            let mutated = mutate(text, other, &mut rng);
            let format = if round % 8 == 7 { Format::Xml } else { Format::detect(name, &mutated) };
            diagnostics(&mutated, format);
            if round % 8 == 0 {
                let _ = parse_target(&mutated);
            }
        }
    }
}

/// One to four cuts, repeats, insertions or splices.
fn mutate(text: &str, other: &str, rng: &mut Xoshiro256PlusPlus) -> String {
    const PIECES: &[&str] = &[
        "<",
        ">",
        "\"",
        "'",
        "&",
        ";",
        "=",
        "${",
        "}",
        "{",
        "[",
        "]",
        "(",
        ")",
        ",",
        ":",
        "- ",
        "\n",
        "\t",
        "#",
        "*a",
        "&a ",
        "!!str ",
        "|\n",
        "\0",
        "é",
        "\u{feff}",
        "999999999999999999999",
        "-1",
        "<!--",
        "]]>",
        "<![CDATA[",
        "&#x0;",
        "%",
    ];
    let mut text = text.to_owned();
    for _ in 0..=below(rng, 4) {
        let mut place = |text: &str| {
            let mut at = below(rng, text.len() as u64 + 1) as usize;
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        let (a, b) = (place(&text), place(&text));
        let (start, end) = (a.min(b), a.max(b).min(a.min(b) + 40));
        let end = (end..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
        let (from, to) = (place(other), place(other));
        let splice = other[from.min(to)..from.max(to)].chars().take(200).collect::<String>();
        match below(rng, 5) {
            0 => text.truncate(start),
            1 => text.replace_range(start..end, ""),
            2 => {
                let piece = text[start..end].repeat(1 + below(rng, 20) as usize);
                text.insert_str(end, &piece);
            }
            3 => text.insert_str(start, PIECES[below(rng, PIECES.len() as u64) as usize]),
            _ => text.insert_str(start, &splice),
        }
    }
    text
}

#[test]
fn input_beyond_its_bounds_is_refused() {
    let large = " ".repeat((64 << 20) + 1);
    refused(&large, Format::Xml, "too large");
    refused(&large, Format::Yaml, "too large");
    refused(&"<a>".repeat(100), Format::Xml, "nested too deeply");
    refused(&("[".repeat(100) + &"]".repeat(100)), Format::Yaml, "nested too deeply");
    let chain = (1..40).fold("a0: &a0 [x]\n".to_owned(), |mut out, i| {
        let _ = writeln!(out, "a{i}: &a{i} [*a{}]", i - 1);
        out
    });
    refused(&chain, Format::Yaml, "nested too deeply");
    refused(&"- ".repeat(100), Format::Yaml, "nested too deeply");
    let attributes = (0..300).fold(String::new(), |mut out, i| {
        let _ = write!(out, " a{i}=\"\"");
        out
    });
    refused(&format!("<workload{attributes}/>"), Format::Xml, "too many attributes");
    refused(&format!("<workload name=\"x\" config=\"{}\"/>", "a=b;".repeat(5000)), Format::Xml, "too long");
    let stages = "<workstage name=\"p\" closuredelay=\"1\"><work type=\"delay\"/></workstage>".repeat(10_001);
    refused(
        &format!("<workload name=\"x\"><workflow>{stages}</workflow></workload>"),
        Format::Xml,
        "too many stages",
    );
    let stages = "- {name: p, delay: 1s}\n".repeat(10_001);
    refused(&format!("name: x\nstages:\n{stages}"), Format::Yaml, "too many stages");
    let keys = (0..101).fold(String::new(), |mut out, i| {
        let _ = write!(out, ", k{i}: v");
        out
    });
    for target in
        [format!("storage: {{type: mock{keys}}}"), format!("auth: {{type: none, config: {{a: b{keys}}}}}")]
    {
        let text = format!("name: x\n{target}\nstages:\n- {{name: p, delay: 1s}}\n");
        refused(&text, Format::Yaml, "too many keys");
    }
}

#[test]
fn values_that_grow_by_interpolation_are_stopped() {
    // Each key doubles the one before: 2^40 bytes, or with empty leaves 2^40 steps.
    for leaf in ["x", ""] {
        let mut config = format!("k0={leaf}");
        for i in 1..15 {
            let _ = write!(config, ";k{i}=${{k{0}}}${{k{0}}}${{k{0}}}${{k{0}}}${{k{0}}}${{k{0}}}", i - 1);
        }
        let text = format!(
            "<workload name=\"x\" config=\"{config}\"><storage type=\"mock\"/><workflow><workstage name=\"s\"><work name=\"w\" \
             workers=\"1\" runtime=\"1\"><operation type=\"list\"/></work></workstage></workflow></workload>"
        );
        assert!(diagnostics(&text, Format::Xml).iter().any(|d| d.message.contains("too long")), "{leaf}");
    }
}

#[test]
fn a_matrix_that_would_fill_the_memory_is_refused() {
    let description = "x".repeat(100_000);
    let text = format!(
        "name: x\nstages:\n- name: s\n  matrix: {{a: [{0}], b: [{0}], c: [{0}]}}\n  works: [{{name: {description}, workers: 1}}]\n",
        (0..20).map(|i| i.to_string()).collect::<Vec<_>>().join(", ")
    );
    refused(&text, Format::Yaml, "too large");
}

#[test]
fn text_that_is_repeated_or_inherited_fills_no_memory() {
    let long = "x".repeat(4 << 20);
    let works = |operations: &str| {
        format!("works: [{{name: w, workers: 1, runtime: 1s, operations: [{operations}]}}]")
    };
    let yaml = |outer: &str, stage: &str, stages: usize| {
        format!("name: x\n{outer}\nstages:\n{}", format!("- {{name: s, {stage}}}\n").repeat(stages))
    };
    let list = works("{type: list}");
    let fill =
        format!("- {{name: f, fill: {{dataset: d, objects: 10, sizes: c(1)KB, object_prefix: {long}}}}}\n");
    for (text, why) in [
        (format!("x: &a {long}\ny: [{}]\n", "*a, ".repeat(20)), "too much text, aliases included"),
        (
            format!("x: &a [&b {long}, {long}]\ny: &c [*a, *b]\nz: &d [*c]\n"),
            "too much text, aliases included",
        ),
        (yaml(&format!("storage: {{type: s3, accesskey: {long}}}"), &list, 80), "too much text"),
        (yaml(&format!("auth: {{type: {long}}}"), &list, 80), "too much text"),
        (
            yaml(&format!("defaults: {{object_prefix: {long}}}"), &works(&"{type: read}, ".repeat(40)), 1),
            "too much text",
        ),
        (
            yaml(&format!("storage: {{type: mock, a: {long}}}"), &format!("repeat: 100, {list}"), 1),
            "too much text",
        ),
        (yaml("", &format!("repeat: 100, trigger: {{script: a, args: [{long}]}}, {list}"), 1), "too large"),
        (
            yaml("", &format!("repeat: 900, {}", works(&"{type: list}, ".repeat(100))), 1),
            "too many operations",
        ),
        (yaml(&format!("consistency: {{container: {long}}}"), &list, 1), "too long"),
        (
            format!(
                "name: x\nstages:\n{fill}- {{name: s, {}}}\n",
                works(&"{type: read, dataset: d}, ".repeat(20))
            ),
            "that of data sets included",
        ),
    ] {
        refused(&text, Format::Yaml, why);
    }
    let xml = |outer: &str, stages: usize| {
        let stage = "<workstage name=\"s\"><work name=\"w\" workers=\"1\" runtime=\"1\"><operation type=\"list\"/></work>\
                     </workstage>";
        format!("<workload name=\"x\">{outer}<workflow>{}</workflow></workload>", stage.repeat(stages))
    };
    refused(&xml(&format!("<storage type=\"{long}\"/>"), 80), Format::Xml, "too much text");
    // What the largest workloads have is none of that.
    let storage = format!("storage: {{type: s3, endpoint: {}}}", "x".repeat(16 << 10));
    for text in [yaml(&storage, &list, 2000), yaml("", &format!("repeat: 1000, {list}"), 9)] {
        let found = diagnostics(&text, Format::Yaml);
        let words = ["too much", "too many", "too large"];
        assert!(!found.iter().any(|one| words.iter().any(|word| one.message.contains(word))), "{found:?}");
    }
    let (workload, _) = parse(&yaml("", &list, 80), Format::Yaml, &Environment::default());
    let mut workload = workload.unwrap();
    let (target, _) = parse_target(&format!("storage: {{type: s3, accesskey: {long}}}\n"));
    let refusal = apply_target(&mut workload, &target.unwrap()).unwrap_err();
    assert!(refusal.message.contains("too much text"), "{}", refusal.message);
    let refusal = apply_setting(&mut workload, &format!("object_prefix={long}")).unwrap_err();
    assert!(refusal.contains("too much text") && refusal.len() < 500, "{}", refusal.len());
}

#[test]
fn mistakes_without_end_are_counted_and_not_kept() {
    let attributes = (0..200).fold(String::new(), |mut out, i| {
        let _ = write!(out, " wrong{i}=\"\"");
        out
    });
    let stages = format!("<workstage name=\"p\"{attributes}/>").repeat(20);
    let found =
        diagnostics(&format!("<workload name=\"x\"><workflow>{stages}</workflow></workload>"), Format::Xml);
    assert_eq!(found.len(), 1001);
    assert!(found[1000].message.contains("more mistakes are not shown"));
}
