//! Pictures and exports of runs, seen from outside.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod alike;
mod exports;
mod independent;
mod lines;
mod pictures;
mod support;
