//! Porcupine (github.com/anishathalye/porcupine) as the oracle: thousands of histories, right and changed, in one process of it.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use cosmark_history::{Operation, Rules, check, porcupine_json};

use super::made::{Draw, Shape, changed, valid};

/// Ends the test visibly: the gate counts these lines.
fn skipped(why: &str) {
    let mut out = std::io::stderr();
    let name = std::thread::current().name().unwrap_or("a test").to_owned();
    let _ = writeln!(out, "SKIPPED test {name}: {why}");
}

fn build(into: &Path) -> Result<std::path::PathBuf, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/porcupine");
    let program = into.join("porcupine");
    let built = Command::new("timeout")
        .args(["120", "go", "build", "-o"])
        .arg(&program)
        .arg(".")
        .current_dir(source)
        .env("GOFLAGS", "-mod=mod -buildvcs=false")
        .output();
    match built {
        Ok(output) if output.status.success() => Ok(program),
        Ok(output) => Err(format!(
            "go build did not work: {}",
            String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or("no reason given")
        )),
        Err(cause) => Err(format!("no Go to build Porcupine with: {cause}")),
    }
}

fn histories() -> Vec<Vec<Operation>> {
    let mut draw = Draw(3);
    let one = |round: u64| {
        let shape = Shape {
            operations: 10 + draw.below(60) as usize,
            processes: 2 + draw.below(6),
            one_writer: !round.is_multiple_of(3),
            deletes: round % 3 == 2,
            unknown: if round % 3 == 2 { 0 } else { [0, 5, 20][(round / 3 % 3) as usize] },
        };
        let mut history = valid(&mut draw, shape);
        for _ in 0..round % 4 {
            history = changed(&mut draw, history);
        }
        history
    };
    (0..6000).map(one).collect()
}

#[test]
fn porcupine_says_the_same_of_thousands_of_histories() {
    if Command::new("go").arg("version").output().is_err() {
        return skipped("no Go toolchain to build Porcupine with");
    }
    let directory = tempfile::tempdir().unwrap();
    let program = match build(directory.path()) {
        Ok(program) => program,
        Err(why) => return skipped(&why),
    };
    let histories = histories();
    let mut text = String::new();
    for history in &histories {
        porcupine_json(history, &mut text).unwrap();
        text.push('\n');
    }
    let file = directory.path().join("histories");
    std::fs::write(&file, text).unwrap();
    let mut command = Command::new("timeout");
    command.arg("300").arg(program).stdin(Stdio::from(std::fs::File::open(file).unwrap()));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(said.lines().count(), histories.len());
    let mut wrong = 0;
    for (history, said) in histories.iter().zip(said.lines()) {
        let report = check(history, Rules::default()).unwrap();
        assert_eq!(report.is_atomic(), said == "atomic", "{history:#?}\n{:#?}", report.violations);
        wrong += usize::from(said != "atomic");
    }
    assert!(wrong > 1000 && wrong < histories.len() - 1000, "{wrong} wrong ones prove too little");
}
