//! `certify.json`: what was asked, what was right, what was seen. docs/reference/certify.md describes every field.

use cosmark_adaptor_api::plain;
use serde::{Deserialize, Serialize};

/// Version of the format; readers refuse a higher one.
pub const SCHEMA: u32 = 1;

/// How a question was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// As the protocol's documents say.
    Yes,
    /// Not as they say, and nothing is lost by it: another status or code for a refusal, a feature that is refused as such.
    Differs,
    /// What has to hold does not.
    No,
    /// It could not be asked; why is said.
    NotAsked,
}

impl Answer {
    /// Every answer, the word for people and what it means.
    pub const TABLE: &'static [(Answer, &'static str, &'static str)] = &[
        (Self::Yes, "yes", "as the protocol's documents say"),
        (
            Self::Differs,
            "differs",
            "not as they say, but nothing is lost by it: a refusal by another status or code, a feature refused as such",
        ),
        (
            Self::No,
            "no",
            "what has to hold does not: data are wrong, a mistake is accepted, there is no answer",
        ),
        (Self::NotAsked, "not asked", "it could not be asked; the reason stands beside it"),
    ];

    /// The word.
    #[must_use]
    pub fn word(self) -> &'static str {
        Self::TABLE.iter().find(|row| row.0 == self).map_or("", |row| row.1)
    }
}

/// One request and what came back, without anything secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Exchange {
    /// `PUT /bucket/key?partNumber=1 (if-none-match: *), 5 bytes`; names relative to the certification's own prefix.
    pub request: String,
    /// `412 PreconditionFailed`, or why there was no answer.
    pub reply: String,
    /// How long it took, ms.
    pub took_ms: f64,
}

/// One question and its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// Which: a row of the table of questions.
    pub id: String,
    /// Its part of the page.
    pub group: String,
    /// What is asked.
    pub asks: String,
    /// What is right by the documents.
    pub right: String,
    /// Which document.
    pub source: String,
    /// The answer.
    pub answer: Answer,
    /// What was seen, in one sentence.
    pub saw: String,
    /// The requests that show it, the last ones if there were many.
    pub evidence: Vec<Exchange>,
    /// How long the question took, ms.
    pub took_ms: f64,
}

/// What was asked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// How the page calls it: the name given, else the address.
    pub name: String,
    /// The adaptor: `s3`, `swift`, ..
    pub adaptor: String,
    /// Address without login.
    pub endpoint: String,
    /// What it calls itself in its answers' `Server` line, if it does.
    pub server: Option<String>,
}

/// How many were answered how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// [`Answer::Yes`].
    pub yes: usize,
    /// [`Answer::Differs`].
    pub differs: usize,
    /// [`Answer::No`].
    pub no: usize,
    /// [`Answer::NotAsked`].
    pub not_asked: usize,
}

/// The whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Version of Cosmark that asked.
    pub cosmark: String,
    /// What was asked.
    pub target: Target,
    /// When it began, RFC 3339.
    pub began: String,
    /// How long it took, s.
    pub took_s: f64,
    /// Asked in full or quickly.
    pub quick: bool,
    /// It did not come to its end, and why.
    pub ended_early: Option<String>,
    /// How many were answered how.
    pub counts: Counts,
    /// What remained in the store although it should not, one sentence each.
    pub left_behind: Vec<String>,
    /// How soon what was written was seen, if that was probed.
    pub consistency: Option<cosmark_consistency::Outcome>,
    /// Every question of the target's protocol, in the order of the table.
    pub questions: Vec<Asked>,
    /// What the probe did and saw, for files of their own.
    #[serde(skip)]
    pub history: cosmark_consistency::History,
}

impl Certificate {
    /// When it began, to the second.
    pub(crate) fn began_to_the_second(&self) -> String {
        match self.began.split_once('.') {
            Some((second, fraction)) if fraction.ends_with('Z') => format!("{second}Z"),
            _ => self.began.clone(),
        }
    }

    /// Reads `certify.json`.
    ///
    /// # Errors
    /// One sentence: no certificate, or of a later version.
    pub fn from_json(text: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Head {
            schema: u32,
        }
        // What it complains of may be quoted.
        let shown = |error: serde_json::Error| plain(error.to_string().chars().take(200).collect());
        let head: Head = serde_json::from_str(text)
            .map_err(|error| format!("this is no certificate: {}", shown(error)))?;
        if head.schema != SCHEMA {
            return Err(format!(
                "the certificate has version {}, and this Cosmark reads version {SCHEMA}: use the version that wrote it",
                head.schema
            ));
        }
        serde_json::from_str(text).map_err(|error| format!("the certificate is not whole: {}", shown(error)))
    }

    /// Counts the answers.
    #[must_use]
    pub fn count(questions: &[Asked]) -> Counts {
        let of = |answer| questions.iter().filter(|one| one.answer == answer).count();
        Counts {
            yes: of(Answer::Yes),
            differs: of(Answer::Differs),
            no: of(Answer::No),
            not_asked: of(Answer::NotAsked),
        }
    }

    /// The questions with an answer.
    pub fn answered(&self, answer: Answer) -> impl Iterator<Item = &Asked> {
        self.questions.iter().filter(move |one| one.answer == answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_in_a_file_is_said_without_commanding_a_terminal() {
        let long = "x".repeat(100_000);
        for answer in ["\\u001b[2J\\u202e", long.as_str()] {
            let text = format!("{{\"schema\": 1, \"questions\": [{{\"answer\": \"{answer}\"}}]}}");
            let why = Certificate::from_json(&text).unwrap_err();
            assert!(why.starts_with("the certificate is not whole: unknown variant"), "{why:?}");
            assert!(!why.contains(['\u{1b}', '\u{202e}']) && why.len() < 300, "{why:?}");
        }
        // A file that was cut.
        let why = Certificate::from_json("{\"schema\": 1, \"cosmark\": \"0.1").unwrap_err();
        assert!(why.starts_with("this is no certificate: "), "{why}");
    }
}
