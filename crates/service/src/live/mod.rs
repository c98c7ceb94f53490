//! What is going on now: events for those who watch, sums of the stages that run.

pub mod feed;
mod run;
pub mod sums;
mod watcher;

pub use feed::{Batch, Feed, Line};
pub use run::{LiveRun, class_word, news_of, overall_word};
pub use watcher::{RunListener, Watcher};
