//! One file per subcommand.

pub mod adaptors;
pub mod arrivals;
pub mod baseline;
pub mod cancel;
pub mod check;
pub mod compare;
pub mod controller;
pub mod convert;
pub mod demo;
pub mod drivers;
pub mod export;
pub mod judge;
pub mod list;
pub mod logs;
pub mod plot;
pub mod quick;
pub mod report;
pub mod run;
pub mod schema;
pub mod serve;
pub mod shell;
pub mod show;
pub mod submit;
pub mod tag;
