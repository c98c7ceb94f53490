//! Studies on this machine: how their systems are brought up, and how their cells are run.

pub mod bed;
pub mod fio;
pub mod runner;
