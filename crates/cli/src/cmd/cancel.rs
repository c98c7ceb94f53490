//! `cosmark cancel`: ends a run of a controller.

use cosmark_service::api::types::{Cancel, RunSummary};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::args::CancelArgs;
use crate::client::Client;
use crate::exit::{Exit, Outcome, Problem};

/// What is written otherwise in a segment of a path: all but what RFC 3986 calls unreserved.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Runs the subcommand.
pub fn run(args: &CancelArgs) -> Outcome {
    let client = Client::new(&args.client)?;
    let path = format!("{}/cancel", path_of(&run_id(&args.id)?));
    let run: RunSummary = client.send("POST", &path, &Cancel { abort: args.abort })?;
    if args.json {
        let text = serde_json::to_string_pretty(&run).map_err(|cause| Problem::ours(cause.to_string()))?;
        verbatim!("{text}");
    } else {
        println!("{} {} is told to end", run.id, run.name);
    }
    Ok(Exit::Done)
}

/// The id of a run of a controller: `w12` of `w12` or `12`, and `w12-mixed`, the name of its directory, where several have its
/// number.
///
/// # Errors
/// When it is none of these.
pub fn run_id(text: &str) -> Result<String, Problem> {
    let (number, name) = text.split_once('-').map_or((text, None), |(number, name)| (number, Some(name)));
    let digits = number.strip_prefix('w').unwrap_or(number);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    match name {
        None if is_number => Ok(format!("w{digits}")),
        Some(name) if is_number && number.starts_with('w') && !name.contains('/') => Ok(text.to_owned()),
        _ => Err(Problem::usage(format!(
            "{text} is not the id of a run: ids look like w12, or like w12-mixed where several runs have one number; \
             `cosmark list --controller URL` shows them"
        ))),
    }
}

/// The path of a run with this id in the controller's interface, with its id as one segment, whatever the directory is called.
pub fn path_of(id: &str) -> String {
    format!("/api/v1/runs/{}", utf8_percent_encode(id, SEGMENT))
}

/// The number of a run with this id; 0 where it has none.
pub fn number_of(id: &str) -> u64 {
    let number = id.split_once('-').map_or(id, |(number, _)| number);
    number.trim_start_matches('w').parse().unwrap_or(0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_a_controller_is_named_by_its_number_or_its_directory_and_stays_one_segment() {
        for (text, id, path) in [
            ("w12", "w12", "w12"),
            ("12", "w12", "w12"),
            ("w1-mixed", "w1-mixed", "w1-mixed"),
            ("w1-a b?c#d%2F", "w1-a b?c#d%2F", "w1-a%20b%3Fc%23d%252F"),
            ("w1-pr\u{fc}f", "w1-pr\u{fc}f", "w1-pr%C3%BCf"),
            ("w1-..", "w1-..", "w1-.."),
        ] {
            assert_eq!(run_id(text).unwrap(), id);
            assert_eq!(path_of(id), format!("/api/v1/runs/{path}"));
        }
        for text in
            ["", "w", "-", "w-mixed", "1-mixed", "wx-mixed", "mixed", "w1x", "..", "w1-a/../../status"]
        {
            let problem = run_id(text).unwrap_err().to_string();
            assert!(
                problem.contains("w12-mixed") && problem.contains("cosmark list --controller"),
                "{text}: {problem}"
            );
        }
        assert_eq!(["w12", "w7-mixed-2", "last"].map(number_of), [12, 7, 0]);
    }
}
