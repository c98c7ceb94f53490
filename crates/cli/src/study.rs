//! Studies on this machine: how their systems are brought up, and how their cells are run.

pub mod bed;
pub mod fio;
pub mod go_on;
pub mod inside;
pub mod json;
pub mod room;
pub mod runner;
pub mod status;
pub mod stops;
pub mod writeback;
