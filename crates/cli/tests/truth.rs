//! Proves Cosmark's own numbers: the real binary against a store whose behaviour is known, case by case. The truth of a case
//! follows from its script by arithmetic or from the server's own log, never from another tool. What each case proves stands
//! in `docs/reference/truth.md`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]
#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts and nanoseconds of a minute fit 53 bits"
)]

mod support;

#[path = "truth/bench.rs"]
mod bench;
#[path = "truth/client.rs"]
mod client;
#[path = "truth/consistency.rs"]
mod consistency;
#[path = "truth/data.rs"]
mod data;
#[path = "truth/dips.rs"]
mod dips;
#[path = "truth/faults.rs"]
mod faults;
#[path = "truth/latency.rs"]
mod latency;
#[path = "truth/rates.rs"]
mod rates;
#[path = "truth/spent.rs"]
mod spent;
#[cfg(target_os = "linux")]
#[path = "truth/wire_time.rs"]
mod wire_time;
