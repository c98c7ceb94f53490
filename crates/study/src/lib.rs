//! Studies: experiments that anyone can run again. [`spec`] says what `study.yaml` may say, [`design`] makes cells and their order
//! out of it, [`engine`] takes them to their end through whatever kills the program, [`measured`] reads what the archive has of
//! them, [`claims`] and [`tables`] put it beside what was published, [`paper`] makes the report. It starts nothing and makes no load:
//! an [`engine::Runner`] does.

mod balanced;
mod bottleneck;
pub mod claims;
pub mod course;
pub mod design;
pub mod differences;
pub mod effects;
pub mod engine;
pub mod estimate;
mod failure;
pub mod figures;
pub mod formula;
pub mod grid;
mod index;
pub mod journal;
mod knee;
pub mod library;
pub mod measured;
pub mod memory;
mod metric;
pub mod page;
pub mod paper;
pub mod place;
pub mod published;
mod regular;
mod runner;
pub mod scalar;
pub mod select;
pub mod selected;
pub mod spec;
pub mod statistics;
pub mod tables;
pub mod template;
pub mod weighed;
