//! Where the secrets of a workload come from when its user runs it: the user's own environment and files.

use cosmark_driver::secrets::SecretSource;

/// The environment and the files of who runs this program.
pub struct Own;

impl SecretSource for Own {
    fn variable(&self, name: &str) -> Result<String, String> {
        std::env::var(name).map_err(|_| "which is not set".to_owned())
    }

    fn file(&self, path: &str) -> Result<String, String> {
        let path = match path.strip_prefix("~/") {
            Some(rest) => format!("{}/{rest}", self.home().unwrap_or_default()),
            None => path.to_owned(),
        };
        let text = std::fs::read_to_string(path).map_err(|cause| cause.to_string())?;
        Ok(text.trim_end_matches(['\n', '\r']).to_owned())
    }

    fn named(&self, _name: &str) -> Result<String, String> {
        Err("which only a controller knows; give it as {env: NAME} or {file: PATH}, or use `cosmark submit`"
            .to_owned())
    }

    fn habitual(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn home(&self) -> Option<String> {
        std::env::var("HOME").ok()
    }
}

/// The same for a workload whose load is made by drivers elsewhere: paths are theirs, and on their machines this user has no
/// home.
pub struct ForElsewhere;

impl SecretSource for ForElsewhere {
    fn variable(&self, name: &str) -> Result<String, String> {
        Own.variable(name)
    }

    fn file(&self, path: &str) -> Result<String, String> {
        Own.file(path)
    }

    fn named(&self, name: &str) -> Result<String, String> {
        Own.named(name)
    }

    fn habitual(&self, name: &str) -> Option<String> {
        Own.habitual(name)
    }

    fn home(&self) -> Option<String> {
        None
    }
}
