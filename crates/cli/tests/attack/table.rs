//! The table of attacks: a line for each, and a failure at the end that names every one that got through.

use std::io::Write as _;

/// The attacks of one test.
pub struct Attacks {
    subject: &'static str,
    /// The rows go where `make attack` wants them.
    table: Option<std::ffi::OsString>,
    told: usize,
    through: Vec<String>,
}

impl Attacks {
    pub fn on(subject: &'static str) -> Self {
        let table = std::env::var_os("COSMARK_ATTACK_TABLE");
        Self { subject, table, told: 0, through: Vec::new() }
    }

    /// One attack: what was tried, on whom, and what came of it: `Ok` what held it off, `Err` what it reached. The rest of the
    /// rows is tried whatever came of this one.
    pub fn tell(&mut self, attack: &str, victim: &str, outcome: Result<String, String>) {
        self.told += 1;
        let (verdict, what) = match outcome {
            Ok(what) => ("held", what),
            Err(what) => {
                self.through.push(format!("{attack}, on {victim}: {what}"));
                ("GOT THROUGH", what)
            }
        };
        // Fields are apart by tabs; what others wrote may have some in it.
        let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let fields = [self.subject, attack, victim, verdict, &what].map(flat);
        // The harness would swallow `eprintln` of a test that passes.
        let _ = writeln!(std::io::stderr().lock(), "{}", fields.join(" | "));
        if let Some(path) = &self.table {
            let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
            writeln!(file.unwrap(), "{}", fields.join("\t")).unwrap();
        }
    }

    /// The same for a condition that has to hold.
    pub fn judge(&mut self, attack: &str, victim: &str, held: bool, what: &str) {
        self.tell(attack, victim, if held { Ok(what.to_owned()) } else { Err(what.to_owned()) });
    }
}

impl Drop for Attacks {
    /// A test that told of no attack has proved nothing.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert!(self.told > 0, "{}: no attack was made", self.subject);
            let through = self.through.join("\n  ");
            assert!(self.through.is_empty(), "{}: these got through:\n  {through}", self.subject);
        }
    }
}

#[test]
#[should_panic(expected = "these got through:\n  b, on c: d")]
fn an_attack_that_gets_through_fails_its_test_and_the_others_are_still_made() {
    let mut attacks = Attacks::on("the table itself");
    attacks.table = None;
    attacks.judge("b", "c", false, "d");
    attacks.judge("a made-up attack that is held", "nobody", true, "refused");
}

#[test]
#[should_panic(expected = "no attack was made")]
fn a_table_without_attacks_proves_nothing() {
    drop(Attacks::on("the table itself"));
}
