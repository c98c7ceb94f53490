//! Who owns a file that one user writes for another: root into the directory of a service, whose user has to read it afterwards.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, fchown, lchown};
use std::path::Path;

/// The user and group that a file is to have.
#[derive(Debug, Clone, Copy)]
pub struct Owner {
    user: u32,
    group: u32,
    /// It is that of a file which is replaced.
    replaces: bool,
    /// Whose the directory is.
    directory: u32,
}

/// Somebody else would own a file afterwards.
#[derive(Debug, thiserror::Error)]
#[error(
    "it belongs to {who}, who could not read it any more, and this user may not give files away: run the command as its \
     owner, `{as_owner} cosmark ..`"
)]
pub struct Foreign {
    who: String,
    /// What the command begins with.
    as_owner: String,
}

impl Foreign {
    fn of(user: u32, group: u32) -> Self {
        match name_of(user) {
            Some(name) => Self { as_owner: format!("runuser -u {name} --"), who: name },
            // One of another machine, or of a directory service.
            None => Self {
                who: format!("user {user}"),
                as_owner: format!("setpriv --reuid {user} --regid {group} --clear-groups"),
            },
        }
    }
}

/// What this machine itself calls a user.
fn name_of(user: u32) -> Option<String> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let mut lines = users.lines().map(|line| line.split(':'));
    lines.find_map(|mut fields| {
        let name = fields.next().filter(|name| !name.is_empty())?;
        (fields.nth(1)?.parse::<u32>() == Ok(user)).then(|| name.to_owned())
    })
}

impl Owner {
    /// Of the file at a path; where none is there, of the directory that it would be in.
    ///
    /// # Errors
    /// When nobody can tell.
    pub fn of(path: &Path) -> io::Result<Self> {
        let there = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file);
        let replaces = there.is_some();
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = fs::metadata(parent.unwrap_or(Path::new(".")))?;
        // What root left in the directory of somebody else is to be theirs.
        let found = there.filter(|there| there.uid() != 0).unwrap_or_else(|| parent.clone());
        Ok(Self { user: found.uid(), group: found.gid(), replaces, directory: parent.uid() })
    }

    /// Gives it a directory that this process has just made; a link that somebody put in its place leads nowhere else.
    fn give_directory(self, path: &Path) -> io::Result<()> {
        if fs::symlink_metadata(path)?.uid() == 0 && self.user != 0 {
            // Root of a container may not be allowed to.
            drop(lchown(path, Some(self.user), Some(self.group)));
        }
        Ok(())
    }

    /// Gives it a file that this process has just made. What is new stays with a user who may not give it away.
    ///
    /// # Errors
    /// When the file would replace one of somebody else ([`Foreign`]).
    pub fn give(self, file: &File) -> io::Result<()> {
        let made = file.metadata()?.uid();
        let is_root = made == 0;
        // In a directory of one's own one may take over what others left.
        if made == self.user || !is_root && (!self.replaces || made == self.directory) {
            return Ok(());
        }
        match fchown(file, Some(self.user), Some(self.group)) {
            Err(_) if self.replaces => Err(io::Error::other(Foreign::of(self.user, self.group))),
            // Root of a container may not be allowed to, and what is new was nobody's before.
            _ => Ok(()),
        }
    }
}

/// Makes a directory, and those above it, for their owner alone, who is that of the directory in which the first of them is made.
///
/// # Errors
/// When one cannot be made.
pub fn make_private(path: &Path) -> io::Result<()> {
    let is_missing = |at: &&Path| !at.as_os_str().is_empty() && !at.exists();
    let missing: Vec<&Path> = path.ancestors().take_while(is_missing).collect();
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    missing.iter().rev().try_for_each(|at| Owner::of(at)?.give_directory(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_a_name_is_called_by_it_in_the_command_that_helps() {
        let said = Foreign::of(0, 0).to_string();
        assert!(
            said.contains("belongs to root,") && said.contains("`runuser -u root -- cosmark ..`"),
            "{said}"
        );
        let said = Foreign::of(u32::MAX - 7, 5).to_string();
        assert!(said.contains("belongs to user 4294967288,"), "{said}");
        assert!(said.contains("`setpriv --reuid 4294967288 --regid 5 --clear-groups cosmark ..`"), "{said}");
    }
}
