//! `nats.conf`, the configuration of a nats-server that an operator starts. The part with the logins is ours and is replaced as
//! a whole; every other line belongs to the operator as soon as it is there.

use std::fs::OpenOptions;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::nats::error::BusError;
use crate::nats::owner::Owner;
use crate::nats::private_file::write_whole;
use crate::nats::roles::{Role, authorization, login, quoted};
use crate::nats::sign::to_hex;

/// The line before our part begins so, and ends with the digest of the part: who changes a login by hand is not overwritten.
const MARK: &str = "# The logins, one for each *.nk beside this file. Other lines stay when they are written again. SHA-256: ";

/// What our part begins and ends with.
const BEGIN: &str = "authorization {\n";
const END: &str = "\n}\n";

/// What was written.
#[derive(Debug)]
pub struct Written {
    /// The file.
    pub path: PathBuf,
    /// Where the server listens by it; `None` where an operator says it in another way.
    pub listen: Option<String>,
    /// Who has a login by it.
    pub roles: Vec<Role>,
    /// Who had one until now, and has none or another.
    pub gone: Vec<String>,
}

/// Writes a server's configuration with these drivers and agents, a controller and an observer to `nats.conf` in a directory, and
/// the seeds of their logins beside it. Logins whose seeds are there stay; a sort that has none gets one that all of it share.
/// Of a file that is there only the part with the logins is replaced.
///
/// # Errors
/// When a file cannot be written, or somebody else has changed the logins: then `nats.conf.new` has what was to be written.
pub fn write_config(directory: &Path, named: &[Role], listen: &str) -> Result<Written, BusError> {
    let roles = all_roles(directory, named)?;
    let users = roles.iter().map(|role| login(directory, role).map(|key| (role.clone(), key)));
    let users = users.collect::<Result<Vec<_>, _>>()?;
    let path = directory.join("nats.conf");
    let store = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned()).join("jetstream");
    let part = part(&users);
    let whole = format!(
        "# Written by `cosmark controller --write-nats-config`: public keys alone. Start: nats-server -c nats.conf\n\
         listen: \"{listen}\"\nmax_payload: 8MB\njetstream {{ store_dir: {} }}\n\
         # Between machines: tls {{ cert_file: \"cert.pem\", key_file: \"key.pem\" }}\n{part}",
        quoted(&store),
    );
    let fail = |path: &Path, cause: String| BusError::File {
        what: "NATS configuration",
        path: path.display().to_string(),
        cause,
    };
    let mut gone = Vec::new();
    let (text, is_new) = match std::fs::read_to_string(&path) {
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => (whole, true),
        Err(cause) => return Err(fail(&path, cause.to_string())),
        Ok(mut there) => {
            if !there.ends_with('\n') {
                there.push('\n');
            }
            let Some(at) = place_of_part(&there) else {
                let beside = directory.join("nats.conf.new");
                write_whole(&beside, &whole).map_err(|cause| fail(&beside, cause.to_string()))?;
                return Err(fail(
                    &path,
                    format!(
                        "somebody has changed its logins by hand, so it is left as it is; take the part `authorization` (with \
                         the line before it) over from {}, or move nats.conf away and run this again",
                        beside.display()
                    ),
                ));
            };
            let had = users_of(there.get(at.clone()).unwrap_or_default());
            gone.extend(had.into_iter().filter(|user| !users.contains(user)).map(|(role, _)| role.file()));
            there.replace_range(at, &part);
            (there, false)
        }
    };
    write(&path, &text, is_new).map_err(|cause| fail(&path, cause.to_string()))?;
    Ok(Written { path, listen: listens_at(&text), roles, gone })
}

/// Writes a new file, through no link, or the one that is there anew, which has its rights and its owner then: as a whole, as it
/// may hold what only the operator knows.
fn write(path: &Path, text: &str, is_new: bool) -> std::io::Result<()> {
    if !is_new {
        let place = std::fs::canonicalize(path)?;
        let rights = std::fs::metadata(&place)?.permissions();
        write_whole(&place, text)?;
        return std::fs::set_permissions(&place, rights);
    }
    let owner = Owner::of(path)?;
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    owner.give(&file)?;
    file.write_all(text.as_bytes())
}

/// Those who are to have a login: the named ones, and whose seeds are there.
fn all_roles(directory: &Path, named: &[Role]) -> Result<Vec<Role>, BusError> {
    let fail = crate::nats::private_file::io("directory of NATS logins", directory);
    let mut there = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(&fail)? {
        let name = entry.map_err(&fail)?.file_name().to_string_lossy().into_owned();
        there.extend(name.strip_suffix(".nk").and_then(Role::of_file));
    }
    there.sort_by_key(Role::file);
    let mut roles = vec![Role::Controller, Role::Observer];
    for role in named.iter().chain(&there) {
        if !roles.contains(role) {
            roles.push(role.clone());
        }
    }
    for shared in [Role::Driver(None), Role::Agent(None)] {
        let is_such = |role: &Role| std::mem::discriminant(role) == std::mem::discriminant(&shared);
        if !roles.iter().any(is_such) {
            roles.push(shared);
        }
    }
    Ok(roles)
}

fn digest(logins: &str) -> String {
    let digest: [u8; 32] = Sha256::digest(logins.as_bytes()).into();
    to_hex(&digest)
}

/// Our part, with the line before it.
fn part(users: &[(Role, String)]) -> String {
    let logins = authorization(users);
    format!("{MARK}{}\n{logins}", digest(&logins))
}

/// Where our part stands, with the line before it; `None` where it does not stand as it was written.
fn place_of_part(text: &str) -> Option<Range<usize>> {
    let line_of = |word: &str| {
        let later = || text.find(&format!("\n{word}")).map(|at| at + 1);
        if text.starts_with(word) { Some(0) } else { later() }
    };
    let logins_at = |begin: usize| {
        let rest = text.get(begin..).filter(|rest| rest.starts_with(BEGIN))?;
        rest.get(..rest.find(END)? + END.len())
    };
    if let Some(begin) = line_of(MARK) {
        let (line, _) = text.get(begin..)?.split_once('\n')?;
        let from = begin + line.len() + 1;
        let logins = logins_at(from)?;
        return (line.strip_prefix(MARK)? == digest(logins)).then_some(begin..from + logins.len());
    }
    // A version that wrote no digest: it is ours if we would write the same for its users.
    let begin = line_of(BEGIN)?;
    let logins = logins_at(begin)?;
    (authorization(&users_of(logins)) == logins).then_some(begin..begin + logins.len())
}

/// The users of a part of ours, with their public keys.
fn users_of(part: &str) -> Vec<(Role, String)> {
    let mut role = None;
    let mut users = Vec::new();
    for line in part.lines() {
        if let Some(name) = line.strip_prefix("    # ") {
            role = Role::of_file(name);
        } else if let Some((key, _)) = line.strip_prefix("    {nkey: ").and_then(|rest| rest.split_once(','))
        {
            users.extend(role.take().map(|role| (role, key.to_owned())));
        }
    }
    users
}

/// Where a server with this configuration listens.
fn listens_at(text: &str) -> Option<String> {
    let given = text.lines().find_map(|line| line.trim().strip_prefix("listen:"))?;
    Some(given.trim().trim_matches('"').to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn driver(name: &str) -> Role {
        Role::Driver(Some(name.to_owned()))
    }

    fn key(directory: &Path, name: &str) -> String {
        let role = Role::of_file(name).unwrap();
        assert!(directory.join(format!("{name}.nk")).exists(), "{name}");
        login(directory, &role).unwrap()
    }

    #[test]
    fn more_logins_leave_those_that_are_there_and_every_line_of_the_operator() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        let conf = directory.join("nats.conf");
        let write = |named: &[Role]| write_config(directory, named, "0.0.0.0:4222");
        write(&[driver("d1"), Role::Agent(Some("s1".to_owned()))]).unwrap();
        fs::set_permissions(&conf, fs::Permissions::from_mode(0o640)).unwrap();
        let first = fs::read_to_string(&conf).unwrap();
        assert!(first.contains("listen: \"0.0.0.0:4222\"") && !first.contains("# driver\n"), "{first}");
        // By hand: another address, and TLS behind our part.
        let theirs = "tls {\n  cert_file: \"cert.pem\"\n  key_file: \"key.pem\"\n}\n";
        let changed = first.replace("0.0.0.0:4222", "10.0.0.7:4333") + theirs;
        fs::write(&conf, changed.trim_end()).unwrap();
        let written = write(&[driver("d2")]).unwrap();
        assert_eq!((written.listen.as_deref(), written.gone.len()), (Some("10.0.0.7:4333"), 0));
        let second = fs::read_to_string(&conf).unwrap();
        for name in ["controller", "observer", "driver-d1", "driver-d2", "agent-s1"] {
            let line = format!("    # {name}\n    {{nkey: {},", key(directory, name));
            assert_eq!(second.matches(&line).count(), 1, "{name}: {second}");
        }
        // Who named drivers once is given no login for any driver later.
        assert!(!directory.join("driver.nk").exists() && !directory.join("agent.nk").exists());
        assert!(second.contains("listen: \"10.0.0.7:4333\"") && second.ends_with(theirs), "{second}");
        assert_eq!(second.matches("\nauthorization {").count(), 1, "{second}");
        // A login whose seed was deleted goes, and is named.
        fs::remove_file(directory.join("driver-d1.nk")).unwrap();
        let written = write(&[]).unwrap();
        assert_eq!(written.gone, ["driver-d1"]);
        assert!(written.roles.contains(&driver("d2")) && !written.roles.contains(&driver("d1")));
        let third = fs::read_to_string(&conf).unwrap();
        assert_eq!(fs::metadata(&conf).unwrap().permissions().mode() & 0o777, 0o640, "it is the operator's");
        // One whose seed was moved away has another key, and that is said, too.
        fs::remove_file(directory.join("agent-s1.nk")).unwrap();
        assert_eq!(write(&[Role::Agent(Some("s1".to_owned()))]).unwrap().gone, ["agent-s1"]);
        assert!(!third.contains("driver-d1") && third.contains("# driver-d2") && third.ends_with(theirs));
    }

    #[test]
    fn logins_that_were_changed_by_hand_are_left_and_what_they_would_be_stands_beside_them() {
        let directory = tempfile::tempdir().unwrap();
        let conf = directory.path().join("nats.conf");
        let write = |name: &str| write_config(directory.path(), &[driver(name)], "127.0.0.1:4222");
        write("d1").unwrap();
        let own = fs::read_to_string(&conf).unwrap();
        let by_hand = own.replace("    # observer", "    {user: mine, password: mine}\n    # observer");
        assert_ne!(by_hand, own);
        // Changed logins, with and without the line that has their digest; none that could be found; another line's ending.
        let without_line: String =
            by_hand.lines().filter(|line| !line.starts_with(MARK)).map(|line| format!("{line}\n")).collect();
        for text in [by_hand.clone(), without_line, "listen: 4222\n".to_owned(), own.replace('\n', "\r\n")] {
            fs::write(&conf, &text).unwrap();
            let why = write("d2").unwrap_err().to_string();
            assert!(why.contains("changed its logins by hand") && why.contains("nats.conf.new"), "{why}");
            assert_eq!(fs::read_to_string(&conf).unwrap(), text, "it is left as it is");
            let beside = fs::read_to_string(directory.path().join("nats.conf.new")).unwrap();
            assert!(beside.contains("# driver-d1\n") && beside.contains("# driver-d2\n"), "{beside}");
        }
        // An earlier version wrote the same without that line.
        let earlier: String =
            own.lines().filter(|line| !line.starts_with(MARK)).map(|line| format!("{line}\n")).collect();
        fs::write(&conf, earlier).unwrap();
        write("d2").unwrap();
        let now = fs::read_to_string(&conf).unwrap();
        assert!(
            now.contains(MARK) && now.contains("# driver-d1\n") && now.contains("# driver-d2\n"),
            "{now}"
        );
    }

    #[test]
    fn every_role_is_told_by_the_name_of_its_file() {
        let some = |name: &str| Some(name.to_owned());
        let all = [Role::Driver(None), Role::Driver(some("d-1")), Role::Agent(None), Role::Agent(some("s1"))];
        for role in all.into_iter().chain([Role::Controller, Role::Observer]) {
            assert_eq!(Role::of_file(&role.file()), Some(role));
        }
        for other in ["", "driver-", "driver-a.b", "drivers", "operator", "agent-a b"] {
            assert_eq!(Role::of_file(other), None, "{other}");
        }
    }
}
