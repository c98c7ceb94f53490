//! How many drivers a run wants, which, and how long it waits for them.

use std::fmt;
use std::time::Duration;

use cosmark_units::parse_integer;

/// Drivers that were asked for and are not there are waited for so long.
pub const DEFAULT_WAIT: Duration = Duration::from_secs(120);
/// More drivers than this are a mistake.
const MOST: u32 = 1_000_000;

/// What is asked for. The default is all drivers that are not drained, when all of them are free.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DriversWanted {
    /// So many; `None` = all that are meant.
    pub count: Option<u32>,
    /// Names, or labels `key=value`; a driver is meant by any of them. Empty = all.
    pub which: Vec<String>,
    /// How long those that are not there are waited for; `None` = [`DEFAULT_WAIT`], and for ever where nothing is asked for.
    pub wait: Option<Duration>,
}

/// A driver that is alive and not drained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriverThere {
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: Vec<(String, String)>,
    /// It has no other run.
    pub is_free: bool,
}

/// A driver that may be given work.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its labels: key and value.
    pub labels: &'a [(String, String)],
}

impl Candidate<'_> {
    /// Whether `driver:` of a work means this one: its name, or a label `key=value`.
    pub(crate) fn is_meant(&self, pin: &str) -> bool {
        let label = pin.split_once('=');
        self.name == pin
            || label.is_some_and(|(key, value)| self.labels.iter().any(|(k, v)| k == key && v == value))
    }
}

/// Whether a run can begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// On these, in the order of their names.
    Ready(Vec<String>),
    /// Enough are there, but they have other runs.
    Busy {
        /// Of those that are meant.
        there: usize,
        /// Of these.
        free: usize,
    },
    /// Not enough are there.
    Short {
        /// Of those that are meant.
        there: usize,
    },
}

impl DriversWanted {
    /// Reads `3`, `zone=a`, `d1,d2`, `3,zone=a`: at most one number, and names or labels.
    ///
    /// # Errors
    /// Message and hint.
    pub fn of_text(text: &str) -> Result<Self, (String, String)> {
        let mut wanted = Self::default();
        for part in text.split(',').map(str::trim) {
            let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            match part {
                "" if text.trim().is_empty() => {}
                "" => {
                    return Err((
                        "an empty name among the drivers".to_owned(),
                        "write e.g. 3,zone=a".to_owned(),
                    ));
                }
                "all" if text.trim() == "all" => {}
                _ if is_number => {
                    let count = parse_integer(part).and_then(|count| u32::try_from(count).ok());
                    let count = count.filter(|count| (1..=MOST).contains(count)).ok_or_else(|| {
                        (
                            format!("{part} is no number of drivers"),
                            "give a number from 1 on, or `all`".to_owned(),
                        )
                    })?;
                    if wanted.count.replace(count).is_some() {
                        let hint = "write one number; names of drivers have a letter";
                        return Err(("two numbers of drivers".to_owned(), hint.to_owned()));
                    }
                }
                _ if part.chars().any(|c| c.is_whitespace() || c.is_control()) => {
                    let message =
                        format!("`{}` is no name or label of a driver", crate::diagnostics::shown(part));
                    return Err((message, "write names or labels such as zone=a, behind commas".to_owned()));
                }
                _ => wanted.which.push(part.to_owned()),
            }
        }
        Ok(wanted)
    }

    /// True when nothing is asked for.
    #[must_use]
    pub fn is_any(&self) -> bool {
        self.count.is_none() && self.which.is_empty()
    }

    /// What was asked for beside the workload comes before what it says.
    #[must_use]
    pub fn or(mut self, other: &Self) -> Self {
        if self.is_any() {
            (self.count, self.which) = (other.count, other.which.clone());
        }
        self.wait = self.wait.or(other.wait);
        self
    }

    /// How long those that are not there are waited for; `None` = for ever.
    #[must_use]
    pub fn patience(&self) -> Option<Duration> {
        self.wait.or((!self.is_any()).then_some(DEFAULT_WAIT))
    }

    /// Whether this driver is meant.
    #[must_use]
    pub fn means(&self, driver: &DriverThere) -> bool {
        let candidate = Candidate { name: &driver.name, labels: &driver.labels };
        self.which.is_empty() || self.which.iter().any(|one| candidate.is_meant(one))
    }

    /// Whether a run that wants this can begin with these.
    #[must_use]
    pub fn stand(&self, all: &[DriverThere]) -> Standing {
        let meant: Vec<&DriverThere> = all.iter().filter(|driver| self.means(driver)).collect();
        let mut free: Vec<&str> =
            meant.iter().filter(|driver| driver.is_free).map(|driver| driver.name.as_str()).collect();
        let (there, free_ones) = (meant.len(), free.len());
        // Of names, each has to be there: who writes three names wants three drivers.
        let names = self.which.iter().filter(|one| !one.contains('=')).count();
        let least = self.count.map_or(names.max(1), |count| usize::try_from(count).unwrap_or(usize::MAX));
        if there < least {
            return Standing::Short { there };
        }
        let take = if self.count.is_some() { least } else { there };
        if free_ones < take {
            return Standing::Busy { there, free: free_ones };
        }
        free.sort_unstable();
        free.truncate(take);
        Standing::Ready(free.into_iter().map(str::to_owned).collect())
    }

    /// What is waited for, in words: `waiting for 250 drivers, 200 are there`. `None` when nothing is.
    #[must_use]
    pub fn waits_for(&self, standing: &Standing) -> Option<String> {
        let are = |count: usize| if count == 1 { "1 is".to_owned() } else { format!("{count} are") };
        match standing {
            Standing::Ready(_) => None,
            Standing::Short { there } => {
                Some(format!("waiting for {}, {} there", self.in_words(), are(*there)))
            }
            Standing::Busy { there, free } => Some(format!(
                "waiting for {}, {} there and {} free",
                if self.is_any() { "all drivers".to_owned() } else { self.in_words() },
                are(*there),
                if *free == 0 { "none is".to_owned() } else { are(*free) }
            )),
        }
    }

    /// Why a run that waited in vain did not begin.
    #[must_use]
    pub fn in_vain(&self, there: usize) -> String {
        let are = if there == 1 { "1 is".to_owned() } else { format!("{there} are") };
        let waited = self
            .patience()
            .map_or_else(String::new, |wait| format!(" within {}", cosmark_units::duration_text(wait)));
        format!(
            "it did not begin: it wants {}, and {are} there{waited}; start more with `cosmark driver --join`, take them out of \
             drain, or ask for fewer",
            self.in_words()
        )
    }

    /// `250 drivers`, `all drivers of zone=a`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let number = match self.count {
            None if self.which.is_empty() => "a driver".to_owned(),
            None => "all drivers".to_owned(),
            Some(1) => "1 driver".to_owned(),
            Some(count) => format!("{count} drivers"),
        };
        if self.which.is_empty() { number } else { format!("{number} of {}", self.which.join(", ")) }
    }
}

/// As [`DriversWanted::of_text`] reads it, without the time to wait; empty when nothing is asked for.
impl fmt::Display for DriversWanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.count.map(|count| count.to_string());
        let parts: Vec<&str> =
            count.as_deref().into_iter().chain(self.which.iter().map(String::as_str)).collect();
        f.write_str(&parts.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fleet(count: usize, free: impl Fn(usize) -> bool) -> Vec<DriverThere> {
        let driver = |at: usize| DriverThere {
            name: format!("d{at:03}"),
            labels: vec![("zone".to_owned(), if at.is_multiple_of(2) { "a" } else { "b" }.to_owned())],
            is_free: free(at),
        };
        (0..count).map(driver).collect()
    }

    fn wanted(text: &str) -> DriversWanted {
        DriversWanted::of_text(text).unwrap_or_else(|(message, _)| panic!("{text}: {message}"))
    }

    #[test]
    fn a_wish_is_read_and_written_in_one_form() {
        for text in ["3", "zone=a", "3,zone=a", "d1,d2", ""] {
            assert_eq!(wanted(text).to_string(), text);
        }
        assert_eq!(wanted(" zone=a , 3 ").to_string(), "3,zone=a");
        assert!(wanted("all").is_any());
        for text in ["0", "3,4", "a,,b", ",", "a b", "99999999999"] {
            assert!(DriversWanted::of_text(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_default_is_all_and_a_busy_fleet_is_waited_for() {
        let any = DriversWanted::default();
        let Standing::Ready(all) = any.stand(&fleet(200, |_| true)) else { panic!() };
        assert_eq!((all.len(), any.patience()), (200, None));
        assert_eq!(any.stand(&fleet(200, |at| at != 7)), Standing::Busy { there: 200, free: 199 });
        assert_eq!(any.stand(&[]), Standing::Short { there: 0 });
    }

    #[test]
    fn a_number_is_waited_for_and_what_is_missing_is_said() {
        let many = wanted("250");
        let short = many.stand(&fleet(200, |_| true));
        assert_eq!(short, Standing::Short { there: 200 });
        assert_eq!(many.waits_for(&short).unwrap(), "waiting for 250 drivers, 200 are there");
        let reason = many.in_vain(200);
        assert!(reason.contains("250 drivers") && reason.contains("200 are there within 120s"), "{reason}");
        let Standing::Ready(some) = wanted("3").stand(&fleet(9, |at| at > 2)) else { panic!() };
        assert_eq!(some, ["d003", "d004", "d005"]);
    }

    #[test]
    fn labels_and_names_mean_their_drivers_only() {
        let Standing::Ready(zone) = wanted("zone=b").stand(&fleet(6, |at| at % 2 == 1)) else { panic!() };
        assert_eq!(zone, ["d001", "d003", "d005"]);
        assert_eq!(
            wanted("2,zone=a").stand(&fleet(6, |at| at % 2 == 1)),
            Standing::Busy { there: 3, free: 0 }
        );
        assert_eq!(wanted("zone=c").stand(&fleet(6, |_| true)), Standing::Short { there: 0 });
        assert_eq!(wanted("d001,d900").stand(&fleet(6, |_| true)), Standing::Short { there: 1 });
    }

    #[test]
    fn what_is_asked_for_beside_the_workload_comes_first() {
        let workload = DriversWanted { wait: Some(Duration::from_secs(5)), ..wanted("3,zone=a") };
        assert_eq!(wanted("7").or(&workload), DriversWanted { wait: workload.wait, ..wanted("7") });
        let longer = DriversWanted { wait: Some(Duration::from_secs(9)), ..DriversWanted::default() };
        assert_eq!(longer.clone().or(&workload), DriversWanted { wait: longer.wait, ..wanted("3,zone=a") });
    }
}
