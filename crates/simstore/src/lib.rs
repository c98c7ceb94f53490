//! A store with known truth: an in-memory S3 and Swift server over real HTTP/1.1, whose delays, stalls,
//! limits, errors, damage and staleness follow a seeded script, and which logs what it really did.
//!
//! It proves that a benchmark's numbers are right: the script says what must be measured, the log says what
//! happened on the server's side.
//!
//! ```
//! use cosmark_simstore::{Behaviour, SimStore};
//!
//! let behaviour = Behaviour::from_yaml("delay: {op: get, law: {constant_ms: 5}}")?;
//! let store = SimStore::start(behaviour, "127.0.0.1:0")?;
//! // ... drive it at store.url() ...
//! assert_eq!(store.counters()?.total(), 0);
//! store.stop();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The life of a request, and what is true of it
//!
//! 1. The head is read (`arrival_ns`). Rules of `bandwidth`, `reset`, `errors`, `redirect_loop` and
//!    `error_body_with_200` are asked in this order.
//! 2. The body is read (`complete_ns`; the same as the arrival when there is none).
//! 3. `rate_cap` and `schedule` may refuse it. Otherwise it passes the queue of `capacity`, then the sum of the
//!    `delay` rules that select it. `stalls` freeze or gate all of that. The result is `due_ns`.
//! 4. At `due_ns` the operation is executed: its effect and its acknowledgement have the same time, and versions
//!    rise in the order of acknowledgements.
//! 5. The answer is sent (`headers_ns`, `end_ns`), perhaps harmed. Bodies under way are not stalled.
//!
//! One thread serves everything, so the order of requests is total. Scripted times do not depend on the load of
//! the machine; how late the server was is in the log (`headers_ns - due_ns`).

mod admin;
pub mod behaviour;
mod clock;
mod connection;
mod content;
mod exchange;
mod handle;
mod http;
mod log;
mod peer;
mod read;
mod route;
mod rules;
mod s3;
mod server;
mod sharded;
mod state;
mod store;
mod swift;
mod timer;
mod tls;
pub mod truth;

pub use behaviour::{Behaviour, BehaviourError, Law, Op, OpSet};
pub use clock::Clock;
pub use content::pattern_byte;
pub use handle::{Handle, SimStore, StartError, Stopped};
pub use http::answer::Outcome;
pub use log::{CSV_HEADER, Counters, LogRecord};
pub use route::Protocol;
