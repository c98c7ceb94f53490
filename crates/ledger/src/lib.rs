//! What a store has acknowledged, object by object, and what reading it back says about that.
//!
//! What Cosmark writes is a function of an object's name and of the number of the write, so a ledger needs no content: for
//! each object it keeps the changes that may be the last one. One write whose answer came is one change. Writes that
//! overlapped in time are several, any of which is right, and a change without an answer stays possible for ever. Nothing
//! that may have been right is ever called wrong.
//!
//! Everything here is pure: samples go in, verdicts come out. Files are `archive/src/ledger/mod.rs`, the reading is
//! `driver/src/readback/mod.rs`.

mod change;
mod entry;
mod judge;
mod numbers;
mod plan;
#[cfg(test)]
mod tests;

pub use change::{Change, Key, Row, What};
pub use entry::Entry;
pub use judge::{Class, Doubt, Found, judge};
pub use numbers::NumberSet;
pub use plan::{Plan, Role, Site, Space, Template};
