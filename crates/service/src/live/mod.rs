//! What is going on now: events for those who watch, sums of the stages that run.

pub mod feed;
mod plan;
mod run;
mod series;
pub mod sums;
#[cfg(test)]
mod tests;
mod watcher;

pub use feed::{Batch, Feed, Line};
pub use plan::RunPlan;
pub use run::{LiveRun, class_word, news_of, overall_word};
pub use series::{CourseSeen, Courses};
pub use watcher::{RunListener, Watcher};
