//! Attacks: what somebody who may submit, who reaches the network, who owns the store, or who pulls plugs could try, against
//! the real binary on loopback. Attacks are rows of tables where they can be; each tells in one line what it tried, on
//! whom, and what came of it (`make attack` prints the lines as a table). Attacks that take long are ignored here and
//! named `attack_long_..`; `make attack` runs them, too. What holds, and against whom, stands in
//! `docs/reference/security.md`.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test may stop at the first surprise"
)]

#[path = "../distributed/bed.rs"]
mod fleet_bed;
#[path = "../service/bed.rs"]
mod service_bed;
#[path = "../support/mod.rs"]
mod support;

mod canary;
mod deadlines;
mod keys;
mod lease;
mod liar;
mod logins;
mod orders;
mod rates;
mod roles;
mod secrets;
mod table;
mod text;
