//! What the value of a key reaches on the machine that uses it. It follows from the kind of the key, so that no row can
//! leave it out; who asks, and what the machine's own start options allow, decides what may be reached.

/// What a value reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reach {
    /// Nothing of the machine: a word, a number, a peer somewhere in the network.
    Nothing,
    /// A file that is opened.
    File,
    /// A directory below which files are read, written and deleted.
    Directory,
    /// A shared library, whose code runs.
    Library,
    /// A script that is run.
    Script,
    /// An address of the machine that connections are made from.
    Address,
}

impl Reach {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Nothing, Self::File, Self::Directory, Self::Library, Self::Script, Self::Address];

    /// For documents and answers.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::File => "file",
            Self::Directory => "directory",
            Self::Library => "library",
            Self::Script => "script",
            Self::Address => "address",
        }
    }

    /// The one with this word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reach| reach.word() == word)
    }

    /// What it is, as the middle of a sentence.
    #[must_use]
    pub const fn what(self) -> &'static str {
        match self {
            Self::Nothing => "nothing of the driver's machine",
            Self::File => "a file of the driver's machine",
            Self::Directory => "a directory of the driver's machine",
            Self::Library => "a library that the driver would load",
            Self::Script => "a script that the driver would run",
            Self::Address => "an address of the driver's machine",
        }
    }
}
