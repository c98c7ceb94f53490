//! What may be reached on a driver's machine, and by whom: the one gate through which every value goes that names a file, a
//! directory, a library, a script or an address of that machine. Who runs Cosmark on the machine reaches what he could reach
//! without it. Who asks from elsewhere (REST, NATS, the console) reaches what the start options of the driver, or of the
//! controller with a driver inside, allow; without them nothing.
//!
//! A path from outside is first compared letter by letter, so that nothing outside of the allowed directory is even looked
//! up, then followed through its symbolic links. What is used from then on is the path that this gave, never the one that
//! was written.

use std::borrow::Cow;
use std::net::IpAddr;
use std::path::{Component, Path, PathBuf};

use cosmark_adaptor_api::{Key, Reach};
use cosmark_workload::model::Work;
use cosmark_workload::places::{self, Named, Place};

/// Where what is asked comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A command line on this machine.
    Here,
    /// Elsewhere: an order over NATS, a submission, a target to be tried.
    Outside,
}

/// What the start options of a driver allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permit {
    /// Whoever asks.
    pub origin: Origin,
    /// `--files`: files and directories below it.
    pub files: Option<PathBuf>,
    /// `--plugins`: libraries below it.
    pub plugins: Option<PathBuf>,
    /// `--scripts`: trigger scripts in it, from wherever they are asked for.
    pub scripts: Option<PathBuf>,
    /// `--source-address`: the address to connect from, which is also put where none is given.
    pub source_address: Option<IpAddr>,
    /// The decision about a value is made elsewhere, by drivers of which one or another allows these.
    pub elsewhere: Option<Vec<Reach>>,
}

impl Permit {
    /// For who runs Cosmark on this machine.
    #[must_use]
    pub fn here() -> Self {
        Self { origin: Origin::Here, ..Self::outside() }
    }

    /// For those who are elsewhere: nothing.
    #[must_use]
    pub fn outside() -> Self {
        Self {
            origin: Origin::Outside,
            files: None,
            plugins: None,
            scripts: None,
            source_address: None,
            elsewhere: None,
        }
    }

    /// For a controller whose drivers are elsewhere: what one of them allows ([`Permit::reaches`]) is for them to decide about,
    /// what none of them allows is refused before they are asked.
    #[must_use]
    pub fn elsewhere(reaches: Vec<Reach>) -> Self {
        Self { elsewhere: Some(reaches), ..Self::outside() }
    }

    /// What it allows at all, for whoever asks from outside.
    #[must_use]
    pub fn reaches(&self) -> Vec<Reach> {
        let allowed = |reach: &Reach| match reach {
            Reach::Nothing => false,
            Reach::File | Reach::Directory => self.files.is_some(),
            Reach::Library => self.plugins.is_some(),
            Reach::Script => self.scripts.is_some(),
            Reach::Address => self.source_address.is_some(),
        };
        Reach::ALL.into_iter().filter(allowed).collect()
    }

    /// Decides about one value: `name` is what it is the value of, for people. Gives what is to be used in its place.
    ///
    /// # Errors
    /// One sentence with the option that would allow it; it does not repeat the value, which may be a secret.
    pub fn admit(&self, reach: Reach, name: &str, value: &str) -> Result<String, String> {
        if reach == Reach::Nothing || (self.origin == Origin::Here && reach != Reach::Script) {
            return Ok(value.to_owned());
        }
        if let Some(allowed) = &self.elsewhere {
            return if allowed.contains(&reach) {
                Ok(value.to_owned())
            } else {
                Err(not_by_any(reach, name))
            };
        }
        let (option, root) = match reach {
            Reach::Nothing => return Ok(value.to_owned()),
            Reach::File | Reach::Directory => ("--files", &self.files),
            Reach::Library => ("--plugins", &self.plugins),
            Reach::Script => ("--scripts", &self.scripts),
            Reach::Address => return self.admit_address(name, value),
        };
        let Some(root) = root else {
            return Err(format!(
                "{name} names {}, and this driver lets workloads reach none; start it with {option} DIR to allow what is \
                 below DIR",
                reach.what()
            ));
        };
        let real = if reach == Reach::Script {
            let plain = !value.is_empty() && !value.contains('/') && value != "." && value != "..";
            if !plain {
                return Err(format!(
                    "{name} has to be the name of a file in {}, the directory of this driver's {option}, without a path",
                    root.display()
                ));
            }
            below(root, &root.join(value))
        } else {
            below(root, &path_of(value))
        };
        let real = real.and_then(|path| is_a(reach, &path).map(|()| path));
        match real {
            Ok(path) => path.into_os_string().into_string().map_err(|_| format!("{name} is no UTF-8")),
            Err(Outlaw::Outside) => Err(format!(
                "{name} names {} that is not below {}, the directory of this driver's {option}; move it there, or start \
                 the driver with another {option} DIR",
                reach.what(),
                root.display()
            )),
            Err(Outlaw::Gone(cause)) => Err(format!(
                "{name} names {} below {}, the directory of this driver's {option}, that cannot be used: {cause}",
                reach.what(),
                root.display()
            )),
        }
    }

    fn admit_address(&self, name: &str, value: &str) -> Result<String, String> {
        match (value.trim().parse::<IpAddr>(), self.source_address) {
            (Ok(asked), Some(own)) if asked == own => Ok(own.to_string()),
            (_, own) => Err(format!(
                "{name} names {}, and this driver lets workloads use {}; start it with --source-address ADDR to allow ADDR",
                Reach::Address.what(),
                own.map_or_else(|| "none".to_owned(), |own| format!("only {own}"))
            )),
        }
    }

    /// The same for a key of an auth or storage; `spec` says which, such as `storage file`.
    pub(crate) fn admit_key(&self, spec: &str, key: &Key, value: &str) -> Result<String, String> {
        self.admit(key.kind.reach(), &format!("{spec}: `{}`", key.name), value)
    }

    pub(crate) fn admit_named(&self, named: Named<'_>) -> Result<(), String> {
        let reach = match named.place {
            Place::Directory => Reach::Directory,
            Place::File => Reach::File,
            Place::Script => Reach::Script,
        };
        *named.value = self.admit(reach, &format!("`{}`", named.key), named.value)?;
        Ok(())
    }

    /// The work with the places that it names itself as they are to be used; its targets are decided about when they are
    /// opened.
    ///
    /// # Errors
    /// One sentence.
    pub fn admit_work<'a>(&self, work: &'a Work) -> Result<Cow<'a, Work>, String> {
        if self.origin == Origin::Here {
            return Ok(Cow::Borrowed(work));
        }
        let mut admitted = work.clone();
        places::of_work(&mut admitted).try_for_each(|named| self.admit_named(named))?;
        Ok(Cow::Owned(admitted))
    }
}

fn not_by_any(reach: Reach, name: &str) -> String {
    let option = match reach {
        Reach::Nothing | Reach::File | Reach::Directory => "--files DIR",
        Reach::Library => "--plugins DIR",
        Reach::Script => "--scripts DIR",
        Reach::Address => "--source-address ADDR",
    };
    format!(
        "{name} names {}, and no driver that has joined lets workloads reach one; start a driver with {option}",
        reach.what()
    )
}

/// A path as a value says it, also as a `file:` URL (RFC 8089) of this machine.
fn path_of(value: &str) -> PathBuf {
    let Some(rest) = value.strip_prefix("file://") else { return PathBuf::from(value) };
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    let decoded = percent_encoding::percent_decode_str(path).decode_utf8_lossy();
    PathBuf::from(decoded.as_ref())
}

/// Why a path is not taken.
enum Outlaw {
    Outside,
    Gone(std::io::Error),
}

/// Where `path` really is, if that is below `root` or `root` itself. What does not even look so is not looked up.
fn below(root: &Path, path: &Path) -> Result<PathBuf, Outlaw> {
    let real_root = root.canonicalize().map_err(Outlaw::Gone)?;
    let written_root = plain(&std::path::absolute(root).map_err(Outlaw::Gone)?).ok_or(Outlaw::Outside)?;
    let absolute = std::path::absolute(path).map_err(Outlaw::Gone)?;
    let written = plain(&absolute).ok_or(Outlaw::Outside)?;
    if !written.starts_with(&written_root) && !written.starts_with(&real_root) {
        return Err(Outlaw::Outside);
    }
    let real = written.canonicalize().map_err(Outlaw::Gone)?;
    if real.starts_with(&real_root) { Ok(real) } else { Err(Outlaw::Outside) }
}

/// A file is a regular one: nobody from elsewhere makes a driver wait for a FIFO or read a device.
fn is_a(reach: Reach, path: &Path) -> Result<(), Outlaw> {
    let found = path.metadata().map_err(Outlaw::Gone)?;
    let (fits, what) = match reach {
        Reach::Directory => (found.is_dir(), "it is no directory"),
        Reach::File | Reach::Library | Reach::Script => (found.is_file(), "it is no regular file"),
        Reach::Nothing | Reach::Address => (true, ""),
    };
    if fits { Ok(()) } else { Err(Outlaw::Gone(std::io::Error::other(what))) }
}

/// Without `.` and `..`, by the letters alone; `None` when it climbs above the root, or holds a zero byte.
fn plain(path: &Path) -> Option<PathBuf> {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                if !out.pop() {
                    return None;
                }
            }
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    Some(out).filter(|path| !path.as_os_str().as_encoded_bytes().contains(&0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_of_many_drivers_allows_is_for_them_to_decide_and_what_none_allows_is_refused() {
        let of_one = Permit { files: Some("/srv".into()), ..Permit::outside() };
        let of_another = Permit { source_address: Some(IpAddr::from([127, 0, 0, 9])), ..Permit::outside() };
        assert_eq!(of_one.reaches(), [Reach::File, Reach::Directory]);
        assert_eq!(Permit::outside().reaches(), []);
        let all = Permit::elsewhere([of_one.reaches(), of_another.reaches()].concat());
        for reach in [Reach::Nothing, Reach::File, Reach::Directory, Reach::Address] {
            assert_eq!(all.admit(reach, "`k`", "value"), Ok("value".to_owned()), "{reach:?}");
        }
        for (reach, option) in [(Reach::Library, "--plugins DIR"), (Reach::Script, "--scripts DIR")] {
            let text = all.admit(reach, "`k`", "value").unwrap_err();
            assert!(text.contains(option) && text.contains("no driver that has joined"), "{text}");
            assert!(!text.contains("value"), "{text}");
        }
    }

    fn ground() -> (tempfile::TempDir, PathBuf) {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().canonicalize().unwrap().join("files");
        std::fs::create_dir_all(root.join("in")).unwrap();
        std::fs::create_dir_all(outer.path().join("secret")).unwrap();
        std::fs::create_dir_all(outer.path().join("files-too")).unwrap();
        std::fs::write(root.join("in/one"), "").unwrap();
        std::os::unix::fs::symlink(outer.path().join("secret"), root.join("link")).unwrap();
        std::os::unix::fs::symlink("/", root.join("all")).unwrap();
        (outer, root)
    }

    #[test]
    fn only_what_is_really_below_the_directory_is_admitted_and_its_real_path_is_used() {
        let (_outer, root) = ground();
        std::os::unix::fs::symlink("in", root.join("inner")).unwrap();
        let permit = Permit { files: Some(root.clone()), ..Permit::outside() };
        let admit = |path: &str| permit.admit(Reach::File, "`k`", path);
        let at = |path: &str| root.join(path).display().to_string();
        assert_eq!(admit(&at("in/one")), Ok(at("in/one")));
        assert_eq!(admit(&at("in/../in/./one")), Ok(at("in/one")));
        assert_eq!(
            admit(&at("inner/one")),
            Ok(at("in/one")),
            "what a link inside leads to is used by its own name"
        );
        assert_eq!(admit(&format!("file://{}", at("in/one"))), Ok(at("in/one")));
        assert!(admit(&at("in")).unwrap_err().contains("no regular file"));
        assert!(permit.admit(Reach::Directory, "`k`", &at("in/one")).unwrap_err().contains("no directory"));
        assert_eq!(permit.admit(Reach::Directory, "`k`", &at("")), Ok(root.display().to_string()));
        let dotted = permit.admit(Reach::Directory, "`k`", &at("link/.."));
        assert_eq!(dotted, Ok(root.display().to_string()), "by the letters, not through the link");
        let escapes = [
            at("../secret"),
            at("link"),
            at("all/etc/passwd"),
            at("in/../../secret"),
            format!("{}-too", root.display()),
            "/etc/passwd".to_owned(),
            "/proc/self/root/etc".to_owned(),
            "/proc/self/fd/0".to_owned(),
            "../../../../../../etc".to_owned(),
            format!("file://{}/%2e%2e/secret", root.display()),
            "file:///etc/passwd".to_owned(),
            "~/x".to_owned(),
            String::new(),
        ];
        for path in escapes {
            let refused = admit(&path).unwrap_err();
            assert!(refused.contains("`k`") && refused.contains("--files"), "{path}: {refused}");
            assert!(path.is_empty() || !refused.contains(&path), "{refused}");
        }
        let gone = admit(&at("in/gone")).unwrap_err();
        assert!(gone.contains("cannot be used"), "{gone}");
    }

    #[test]
    fn without_an_option_nothing_is_reached_from_outside_and_from_here_everything() {
        let options = [
            (Reach::File, "--files"),
            (Reach::Directory, "--files"),
            (Reach::Library, "--plugins"),
            (Reach::Script, "--scripts"),
            (Reach::Address, "--source-address"),
        ];
        for (reach, option) in options {
            let refused = Permit::outside().admit(reach, "`k`", "value").unwrap_err();
            assert!(refused.contains("`k`") && refused.contains(option), "{refused}");
            let here = Permit::here().admit(reach, "`k`", "value");
            assert_eq!(here.is_ok(), reach != Reach::Script, "scripts have a directory for everybody");
        }
        assert_eq!(options.len() + 1, Reach::ALL.len(), "what is reached newly has its option here");
        assert_eq!(Permit::outside().admit(Reach::Nothing, "`k`", "v"), Ok("v".to_owned()));
    }

    #[test]
    fn scripts_are_names_in_their_directory_and_an_address_is_the_drivers_own() {
        let (_outer, root) = ground();
        let own: IpAddr = "127.0.0.9".parse().unwrap();
        let permit =
            Permit { scripts: Some(root.join("in")), source_address: Some(own), ..Permit::outside() };
        assert_eq!(
            permit.admit(Reach::Script, "`trigger`", "one"),
            Ok(root.join("in/one").display().to_string())
        );
        for bad in ["../in/one", "/bin/ls", "", "..", "gone.sh", "a/b"] {
            assert!(permit.admit(Reach::Script, "`trigger`", bad).is_err(), "{bad}");
        }
        assert_eq!(permit.admit(Reach::Address, "`a`", " 127.0.0.9 "), Ok("127.0.0.9".to_owned()));
        let refused = permit.admit(Reach::Address, "`a`", "127.0.0.1").unwrap_err();
        assert!(refused.contains("only 127.0.0.9") && refused.contains("--source-address"), "{refused}");
    }
}
