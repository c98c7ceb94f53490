#![allow(clippy::unwrap_used)]
use cosmark_workload::*;
use std::time::Instant;
fn go(name: &str, text: &str, f: Format) {
    let t = Instant::now();
    let (w, d) = parse(text, f, &Environment::default());
    println!(
        "{name}: {:?} {} {} {:?}",
        t.elapsed(),
        w.is_some(),
        d.len(),
        d.first().map(|d| d.message.chars().take(90).collect::<String>())
    );
}
#[test]
fn same() {
    let r = "/work/shared/reference/cosbench-archives/";
    for (a, b) in [
        ("submitted/mock-full2.xml", "w3-mock-full/workload-config.xml"),
        ("submitted/swift-real.xml", "w23-swift-real/workload-config.xml"),
        ("submitted/delay.xml", "w2-delay-test/workload-config.xml"),
    ] {
        let strip = |p: &str| {
            let t = std::fs::read_to_string(format!("{r}{p}")).unwrap();
            let mut w = parse(&t, Format::Xml, &Environment::default()).0.unwrap();
            for o in w.stages.iter_mut().flat_map(|s| &mut s.works).flat_map(|w| &mut w.operations) {
                o.config_text.clear();
            }
            w
        };
        assert_eq!(strip(a), strip(b));
    }
}
#[test]
fn perf() {
    std::fs::write("/tmp/schema.json", json_schema().to_string()).unwrap();
    for k in ["${k0}", "x"] {
        let ops = "<operation type='read' config='objects=u(1,2);a1=1;a2=2;a3=3;a4=4;a5=5;a6=6;a7=7;a8=8'/>"
            .repeat(1000);
        let keys: String = (0..99).map(|i| format!("k{i}={k};")).collect();
        let works = format!("<work name='w' workers='1' runtime='1'>{ops}</work>").repeat(60);
        go(
            "ops",
            &format!(
                "<workload name='x' config='{keys}'><workflow config='{0}'><workstage name='s' config='{0}'>{works}</workstage></workflow></workload>",
                keys.replace('k', "m")
            ),
            Format::Xml,
        );
    }
}
