//! The studies that come with the program, and the beginning of a new one.

/// A study of the library.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// `study.yaml`.
    pub text: &'static str,
    /// `published.csv`; empty where nothing was published.
    pub published: &'static str,
}

macro_rules! entry {
    ($name:literal) => {
        Entry {
            name: $name,
            text: include_str!(concat!("../../../studies/", $name, "/study.yaml")),
            published: include_str!(concat!("../../../studies/", $name, "/published.csv")),
        }
    };
}

/// All of them.
pub const LIBRARY: &[Entry] = &[
    entry!("slides"),
    entry!("iccl"),
    entry!("iccl-replicas"),
    entry!("thesis-object"),
    entry!("thesis-block"),
    entry!("zmanda-ssd"),
    entry!("zmanda-pebbles"),
    entry!("baseline"),
    entry!("signatures"),
    entry!("proxies"),
    entry!("erasure"),
    entry!("tls"),
];

/// What `cosmark study new` writes: a whole small study, to be changed.
pub const NEW_STUDY: &str = include_str!("new.yaml");
/// The same for `published.csv`.
pub const NEW_PUBLISHED: &str = "# mine.read  src=where the numbers are from\nworkers,rate\n1,100\n8,500\n";

/// The study of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Entry> {
    LIBRARY.iter().find(|entry| entry.name == name)
}
