//! A paper as data, and its three forms: one HTML file, Markdown, and tables for LaTeX.

mod html;
mod latex;
mod markdown;

pub use html::html;
pub use latex::latex;
pub use markdown::markdown;

/// How a cell of a table looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Look {
    /// Like any other.
    #[default]
    Plain,
    /// Its numbers cannot be believed: hatched.
    False,
    /// Responses took too long for the window: hollow.
    Hollow,
    /// The best row.
    Best,
    /// It was not run.
    NotRun,
}

/// A cell of a table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Field {
    /// Its text.
    pub text: String,
    /// How it looks.
    pub look: Look,
}

impl Field {
    /// A cell like any other.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), look: Look::Plain }
    }

    /// A cell with a look.
    pub fn with(text: impl Into<String>, look: Look) -> Self {
        Self { text: text.into(), look }
    }

    /// The text with a word where colour does not tell.
    #[must_use]
    pub fn words(&self) -> String {
        match self.look {
            Look::Plain | Look::NotRun => self.text.clone(),
            Look::False => format!("{} (FALSE)", self.text),
            Look::Hollow => format!("{} (too long for the window)", self.text),
            Look::Best => format!("{} (best)", self.text),
        }
    }
}

/// A part of a paper.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// A heading of the second or third order.
    Heading(u8, String),
    /// A paragraph.
    Text(String),
    /// A list.
    List(Vec<String>),
    /// A table.
    Table {
        /// Above it.
        caption: String,
        /// Names of its columns.
        columns: Vec<String>,
        /// Its rows.
        rows: Vec<Vec<Field>>,
    },
    /// A picture.
    Figure {
        /// Name of its file, without ending.
        name: String,
        /// Below it.
        caption: String,
        /// SVG.
        svg: String,
    },
}

/// A paper.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Paper {
    /// Its title.
    pub title: String,
    /// Below the title.
    pub subtitle: String,
    /// Its parts.
    pub parts: Vec<Part>,
}
