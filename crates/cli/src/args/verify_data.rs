//! Arguments of `cosmark verify-data`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args as ClapArgs;
use cosmark_workload::units::parse_duration;

/// `cosmark verify-data`
#[derive(ClapArgs)]
#[command(after_help = "Examples:
  cosmark run load.yaml --ledger                     write, and record what was acknowledged
  cosmark verify-data last                           the same day or weeks later: is everything there?
  cosmark verify-data w7 --sample 100000 --rate 500  some of it, slowly; says what that proves
  cosmark verify-data w7 --target swift.yaml         written through S3, read through Swift
  cosmark verify-data w7 --resume                    continues after Ctrl-C, kill -9 or an outage of the store

Reads every object in the ledger and compares it byte by byte with what was written, and each container with its listing. Whatever \
looks broken is checked again after --settle. The archive keeps no secrets: a store that asks for a login needs --target. Broken \
promises are: lost, corrupt, stale, resurrected, listed_not_there, there_not_listed. Told apart from them are late, unanswered_done, \
unanswered_not_done (changes that got no answer), undecided (the ledger misses changes) and unreadable. Nothing is written to the \
store. The exit code is 9 if the store broke a promise.")]
pub struct VerifyDataArgs {
    /// Run: a directory, its number (7 or w7) or `last`
    #[arg(value_name = "RUN")]
    pub run: String,
    /// Archive to look for the run in
    #[arg(long, value_name = "DIR", default_value = "archive")]
    pub archive: PathBuf,
    /// File with the auth and storage to read through; another protocol of the same store is allowed
    #[arg(long, value_name = "FILE")]
    pub target: Option<PathBuf>,
    /// Read this many objects, chosen at random; default: all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub sample: Option<u64>,
    /// Seed of the random choice; default: that of the run
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Most objects per second
    #[arg(long, value_name = "N", value_parser = rate)]
    pub rate: Option<f64>,
    /// How many objects are read at the same time
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: u16,
    /// Look again after this time at what looks broken, such as 30s or 2m; 0 = do not look again
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = settle)]
    pub settle: Duration,
    /// Do not compare with the listings of containers
    #[arg(long)]
    pub no_listings: bool,
    /// Read back although `clean` removed objects of the run: what is missing is then undecided, not lost
    #[arg(long)]
    pub removed: bool,
    /// Continue the newest reading that was interrupted
    #[arg(long)]
    pub resume: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(long, short)]
    pub quiet: bool,
}

pub(super) fn rate(text: &str) -> Result<f64, String> {
    let rate: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if rate.is_finite() && rate >= 0.01 {
        Ok(rate)
    } else {
        Err("at least 0.01 objects per second".to_owned())
    }
}

/// A time of a day at most; a plain number is seconds.
fn settle(text: &str) -> Result<Duration, String> {
    const MOST: Duration = Duration::from_secs(86_400);
    let time = parse_duration(text).map_err(|(message, hint)| format!("{message}: {hint}"))?;
    if time > MOST { Err("give a day at most: 24h".to_owned()) } else { Ok(time) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_broken_is_looked_at_again_after_a_time_with_or_without_its_unit() {
        for (text, seconds) in [("30s", 30), ("2m", 120), ("0", 0), ("5", 5), ("24h", 86_400)] {
            assert_eq!(settle(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["25h", "-1", "soon", "", "1e99h"] {
            assert!(settle(text).is_err(), "{text}");
        }
    }
}
