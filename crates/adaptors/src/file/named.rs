//! Names of objects and containers as file names.

use cosmark_adaptor_api::{Error, ErrorKind, ObjectName, Result};

use crate::http::path_names::to_file_name;

pub(super) fn checked_name(name: &str, what: &str) -> Result<String> {
    if name.is_empty() {
        return Err(Error::new(ErrorKind::Config, format!("the {what} has no name"))
            .with_hint("set `cprefix`/`oprefix` or a selector that gives names"));
    }
    Ok(to_file_name(name))
}

/// An object's name as given and as a file name.
pub(super) struct Named {
    pub(super) container: String,
    object: String,
    pub(super) file: String,
}

impl Named {
    /// # Errors
    /// `Config` for an empty name.
    pub(super) fn new(name: ObjectName<'_>) -> Result<Self> {
        let file = checked_name(name.object, "object")?;
        Ok(Self { container: name.container.to_owned(), object: name.object.to_owned(), file })
    }
}

impl std::fmt::Display for Named {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.container, self.object)
    }
}
