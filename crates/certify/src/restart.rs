//! How a store is restarted, where its operator allows that.

use std::future::Future;
use std::pin::Pin;

/// Restarts the store.
pub trait Restart {
    /// Restarts it and comes back when that is done; the store need not answer yet. Bounded in time by who implements it.
    ///
    /// # Errors
    /// One sentence.
    fn restart(&self) -> Pin<Box<dyn Future<Output = Result<(), String>> + '_>>;
}
