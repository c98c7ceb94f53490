//! Tokens: who may look, who may operate. A token is shown once, when it is made; the file `tokens` keeps its SHA-256. Tokens
//! are 256 random bits, so that a fast digest is as good as a slow one.

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use crate::ServiceError;
use crate::api::types::Role;
use crate::auth::keys::{digest, random};
use crate::state::StateDir;

const FILE: &str = "tokens";
/// The token of the commands on the controller's own machine, in the clear, for who may read the state directory.
pub const LOCAL_FILE: &str = "local-token";
const LOCAL: &str = "local";
/// More tokens than this nobody looks after.
const MOST: usize = 1000;

/// Who came with a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Name of the token.
    pub name: String,
    /// What it allows.
    pub role: Role,
}

struct Row {
    who: Identity,
    digest: [u8; 32],
}

/// File systems tell the time of a change in steps of up to this long.
const TICK: Duration = Duration::from_secs(2);

/// The tokens of a state directory. The file is read again when it changes.
pub struct Tokens {
    path: PathBuf,
    read: Mutex<Known>,
}

/// What was read, and the time of the change that it is known to hold; `None` = the file may have changed unseen.
#[derive(Default)]
struct Known {
    changed: Option<SystemTime>,
    rows: Vec<Row>,
}

/// The word of a role in the file.
fn word(role: Role) -> &'static str {
    match role {
        Role::View => "view",
        Role::Operate => "operate",
    }
}

/// The role with this word.
#[must_use]
pub fn role_of(word: &str) -> Option<Role> {
    match word {
        "view" => Some(Role::View),
        "operate" => Some(Role::Operate),
        _ => None,
    }
}

impl Tokens {
    /// Opens the file; at the first start makes a token `admin`, which is given back to be shown once. Where no token was ever
    /// made for the commands of this machine, as where `--add-token` came first, it makes that, too.
    ///
    /// # Errors
    /// When the file is damaged or cannot be written.
    pub fn open(state: &StateDir) -> Result<(Self, Option<String>), ServiceError> {
        let tokens = Self { path: state.path(FILE), read: Mutex::default() };
        let first =
            if state.read(FILE)?.is_none() { Some(add(state, "admin", Role::Operate)?) } else { None };
        // Who has removed that token still has its file; who has removed all of them has new ones made.
        let has_local = read_rows(state)?.iter().any(|row| row.who.name == LOCAL);
        if !has_local && (first.is_some() || state.read(LOCAL_FILE)?.is_none()) {
            let local = add(state, LOCAL, Role::Operate)?;
            state.write(LOCAL_FILE, format!("{local}\n").as_bytes())?;
        }
        Ok((tokens, first))
    }

    /// Who has this token.
    #[must_use]
    pub fn verify(&self, token: &str) -> Option<Identity> {
        let given = digest(token.trim().as_bytes());
        self.with_rows(|rows| {
            // Digests are compared, so that the time it takes tells nothing of a token.
            rows.iter().find(|row| row.digest == given).map(|row| row.who.clone())
        })
    }

    /// The role that a token of this name has now.
    #[must_use]
    pub fn role(&self, name: &str) -> Option<Role> {
        self.with_rows(|rows| rows.iter().find(|row| row.who.name == name).map(|row| row.who.role))
    }

    /// Tells the token that has this name now from every other that had it, and nothing else about it; `None` where nobody has.
    #[must_use]
    pub fn mark(&self, name: &str) -> Option<String> {
        self.with_rows(|rows| {
            let row = rows.iter().find(|row| row.who.name == name)?;
            let mark = digest(&[b"session of ".as_slice(), row.digest.as_slice()].concat());
            mark.get(..8).map(|part| HEXLOWER.encode(part))
        })
    }

    fn with_rows<T>(&self, look: impl FnOnce(&[Row]) -> T) -> T {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = std::fs::metadata(&self.path).and_then(|meta| meta.modified()).ok();
        if read.changed.is_none() || read.changed != changed {
            // A second change in the same tick would bear the same time: a time is believed once it lies behind.
            let is_past = |at: &SystemTime| at.elapsed().is_ok_and(|age| age > TICK);
            read.changed = changed.filter(is_past);
            let text = std::fs::read_to_string(&self.path).unwrap_or_default();
            // A file that is damaged while the controller runs lets nobody in whose line cannot be read.
            read.rows = text.lines().filter_map(parse).collect();
        }
        look(&read.rows)
    }
}

fn parse(line: &str) -> Option<Row> {
    let mut words = line.split_whitespace();
    let (name, role, hash) = (words.next()?, role_of(words.next()?)?, words.next()?);
    let digest = HEXLOWER_PERMISSIVE.decode(hash.as_bytes()).ok()?.try_into().ok()?;
    Some(Row { who: Identity { name: name.to_owned(), role }, digest })
}

fn read_rows(state: &StateDir) -> Result<Vec<Row>, ServiceError> {
    let bytes = state.read(FILE)?.unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| {
            parse(line).ok_or_else(|| ServiceError::Damaged {
                path: state.path(FILE),
                problem: format!("line {} is not a name, a role and a SHA-256", at + 1),
                remedy: "remove the line, or the file to have new tokens made",
            })
        })
        .collect()
}

fn write_rows(state: &StateDir, rows: &[Row]) -> Result<(), ServiceError> {
    let line = |row: &Row| {
        format!("{} {} {}\n", row.who.name, word(row.who.role), HEXLOWER.encode(row.digest.as_ref()))
    };
    state.write(FILE, rows.iter().map(line).collect::<String>().as_bytes())
}

/// Makes a token; one of the same name is no longer valid. Gives the token, which is kept nowhere.
///
/// # Errors
/// When the name is none, or the file cannot be written.
pub fn add(state: &StateDir, name: &str, role: Role) -> Result<String, ServiceError> {
    let bad = |c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | '.' | '@');
    let refused = |problem: &str| ServiceError::Damaged {
        path: state.path(FILE),
        problem: problem.to_owned(),
        remedy: "a token's name has 1 to 64 letters, digits, or one of - _ . @; there are at most 1000",
    };
    if name.is_empty() || name.len() > 64 || name.contains(bad) {
        return Err(refused("that is no name of a token"));
    }
    let mut rows = read_rows(state)?;
    rows.retain(|row| row.who.name != name);
    if rows.len() >= MOST {
        return Err(refused("too many tokens"));
    }
    let token = format!("cosmark_{}", HEXLOWER.encode(random::<32>()?.as_ref()));
    rows.push(Row { who: Identity { name: name.to_owned(), role }, digest: digest(token.as_bytes()) });
    write_rows(state, &rows)?;
    Ok(token)
}

/// Makes a token invalid; false when there is none of this name.
///
/// # Errors
/// When the file cannot be written.
pub fn remove(state: &StateDir, name: &str) -> Result<bool, ServiceError> {
    let mut rows = read_rows(state)?;
    let before = rows.len();
    rows.retain(|row| row.who.name != name);
    if rows.len() != before {
        write_rows(state, &rows)?;
    }
    Ok(rows.len() != before)
}

/// Names and roles of all tokens.
///
/// # Errors
/// When the file is damaged.
pub fn list(state: &StateDir) -> Result<Vec<Identity>, ServiceError> {
    Ok(read_rows(state)?.into_iter().map(|row| row.who).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_made_once_kept_as_digests_and_can_be_taken_back() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap();
        let (tokens, first) = Tokens::open(&state).unwrap();
        let admin = first.unwrap();
        assert_eq!(tokens.verify(&admin).unwrap(), Identity { name: "admin".into(), role: Role::Operate });
        assert!(tokens.verify("cosmark_0").is_none() && tokens.verify("").is_none());
        let file = String::from_utf8(state.read(FILE).unwrap().unwrap()).unwrap();
        assert!(!file.contains(&admin));
        let (_, again) = Tokens::open(&state).unwrap();
        assert!(again.is_none(), "a second start shows nothing");
        let viewer = add(&state, "wall-screen", Role::View).unwrap();
        assert_eq!(tokens.verify(&viewer).unwrap().role, Role::View);
        assert!(remove(&state, "wall-screen").unwrap() && !remove(&state, "wall-screen").unwrap());
        assert!(tokens.verify(&viewer).is_none());
        for _ in 0..50 {
            // Faster than the clock of a file system ticks.
            let viewer = add(&state, "wall-screen", Role::View).unwrap();
            assert!(tokens.verify(&viewer).is_some());
            assert!(remove(&state, "wall-screen").unwrap() && tokens.verify(&viewer).is_none());
        }
        for wrong in ["", "a b", "a\nb operate 00", &"x".repeat(65)] {
            assert!(add(&state, wrong, Role::View).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn the_commands_of_this_machine_have_a_token_also_where_another_was_made_first() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap();
        add(&state, "ci", Role::View).unwrap();
        let (tokens, first) = Tokens::open(&state).unwrap();
        assert!(first.is_none(), "who made one needs no other");
        let local = String::from_utf8(state.read(LOCAL_FILE).unwrap().unwrap()).unwrap();
        assert_eq!(tokens.verify(&local).unwrap().name, LOCAL);
        assert!(remove(&state, LOCAL).unwrap());
        let (tokens, _) = Tokens::open(&state).unwrap();
        assert!(tokens.verify(&local).is_none() && tokens.role(LOCAL).is_none(), "what was removed stays so");
        // Who has lost all tokens removes their file.
        std::fs::remove_file(state.path(FILE)).unwrap();
        let (tokens, first) = Tokens::open(&state).unwrap();
        assert_eq!(tokens.verify(&first.unwrap()).unwrap().name, "admin");
        let again = String::from_utf8(state.read(LOCAL_FILE).unwrap().unwrap()).unwrap();
        assert_eq!(tokens.verify(&again).unwrap().name, LOCAL);
        assert!(again != local && tokens.verify(&local).is_none());
    }

    #[test]
    fn a_damaged_line_lets_nobody_in_and_is_named_at_the_start() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap();
        state.write(FILE, b"admin operate zz\n").unwrap();
        let Err(error) = Tokens::open(&state) else { panic!("a damaged file was read") };
        assert!(error.to_string().contains("line 1"), "{error}");
    }
}
