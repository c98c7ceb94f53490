//! Black-box tests: a raw-socket client against a real store on loopback.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking")]

mod client;
mod damage;
mod load;
mod log;
mod robust;
mod s3;
mod stale;
mod swift;
#[cfg(feature = "tls")]
mod tls;
