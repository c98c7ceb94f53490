//! Files of recorded arrivals that a workload names, looked at before anything is sent.

use std::path::Path;

use cosmark_engine::{Recorded, look_at_recorded};
use cosmark_workload::Workload;
use cosmark_workload::model::{Arrivals, Load};

/// A file of recorded arrivals on this machine.
#[derive(Debug)]
pub struct RecordedFile {
    /// The stage, as in its directory and messages.
    pub stage: String,
    /// The work.
    pub work: String,
    /// As given; from the working directory.
    pub path: String,
    /// What is in it.
    pub found: Result<Recorded, RecordedProblem>,
}

/// Why a load that replays it would end at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordedProblem {
    /// It is not there; where the load is made it may be.
    Missing(String),
    /// It is there, and nothing of the kind, or wrong; a sentence.
    Wrong(String),
}

/// All that the workload names. `beside`: the directory of the workload's file, for a remedy.
#[must_use]
pub fn recorded_files(workload: &Workload, beside: &Path) -> Vec<RecordedFile> {
    let stages = workload.stages.iter().enumerate();
    let works = stages.flat_map(|(index, stage)| stage.works.iter().map(move |work| (stage.id(index), work)));
    let named = works.filter_map(|(stage, work)| match &work.load {
        Load::Open { arrivals: Arrivals::Recorded { path, .. }, .. } => Some((stage, work, path)),
        _ => None,
    });
    named
        .map(|(stage, work, path)| RecordedFile {
            stage: stage.clone(),
            work: work.name.clone(),
            path: path.clone(),
            found: look(path, beside),
        })
        .collect()
}

fn look(path: &str, beside: &Path) -> Result<Recorded, RecordedProblem> {
    match std::fs::metadata(path) {
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => {
            let near = beside.join(path);
            let remedy = if near.is_file() {
                format!("it lies beside the workload: write {}", near.display())
            } else {
                "the path counts from the working directory".to_owned()
            };
            Err(RecordedProblem::Missing(format!("there is no file {path}; {remedy}")))
        }
        Err(cause) => Err(RecordedProblem::Wrong(format!("{path}: {cause}"))),
        // Each thread reads it for itself: a pipe would give each of them another part.
        Ok(about) if !about.is_file() => {
            Err(RecordedProblem::Wrong(format!("{path} is no regular file: write the times into one")))
        }
        Ok(_) => look_at_recorded(path).map_err(|error| RecordedProblem::Wrong(error.to_string())),
    }
}
