//! The console's types are generated from these types.

use std::path::Path;

use ts_rs::{Config, TS};

use super::*;

/// `console/src/data/api.ts`.
fn types() -> String {
    let config = Config::new().with_large_int("number");
    let declared = [
        Role::decl(&config),
        SessionInfo::decl(&config),
        Status::decl(&config),
        DriverState::decl(&config),
        DriverInfo::decl(&config),
        DriverDoing::decl(&config),
        NicInfo::decl(&config),
        Submission::decl(&config),
        Mistake::decl(&config),
        CheckResult::decl(&config),
        StagePreview::decl(&config),
        Submitted::decl(&config),
        LostDriver::decl(&config),
        RunSummary::decl(&config),
        QueueMove::decl(&config),
        FileInfo::decl(&config),
        Login::decl(&config),
        Drain::decl(&config),
        Cancel::decl(&config),
        TagChange::decl(&config),
        Note::decl(&config),
        Baseline::decl(&config),
        SourceText::decl(&config),
        TargetText::decl(&config),
        TargetTest::decl(&config),
        LibraryEntry::decl(&config),
        ConvertText::decl(&config),
        Converted::decl(&config),
        SecretValue::decl(&config),
        Refusal::decl(&config),
        SystemEvent::decl(&config),
        RunEvent::decl(&config),
        StageNews::decl(&config),
        Interval::decl(&config),
        IntervalRow::decl(&config),
        LogLine::decl(&config),
        VerdictNews::decl(&config),
        StudyState::decl(&config),
        StudySummary::decl(&config),
        StudyFactor::decl(&config),
        StudyClaim::decl(&config),
        Study::decl(&config),
        StudyRunState::decl(&config),
        StudyRun::decl(&config),
        StudyCell::decl(&config),
        StudyPoint::decl(&config),
        StudyGrid::decl(&config),
        StudyField::decl(&config),
        StudyPart::decl(&config),
    ];
    let mut text = format!(
        "// Generated from crates/service/src/api/types/mod.rs, which says what each field means:\n\
         // UPDATE_TYPES=1 cargo test -p cosmark-service --lib types\n\
         \nimport type {{ SeriesNews }} from \"./types\";\n\
         \nexport const API_VERSION = {API_VERSION};\n"
    );
    for one in declared {
        text.push_str(&format!("\nexport {one}\n"));
    }
    text
}

#[test]
fn the_types_of_the_console_are_these() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../console/src/data/api.ts");
    if std::env::var_os("UPDATE_TYPES").is_some() {
        std::fs::write(&path, types()).unwrap();
    }
    let is = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(is == types(), "run UPDATE_TYPES=1 cargo test -p cosmark-service --lib types");
}
