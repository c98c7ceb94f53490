//! One file per subcommand.

pub mod adaptors;
pub mod arrivals;
pub mod baseline;
pub mod check;
pub mod compare;
pub mod convert;
pub mod demo;
pub mod driver;
pub mod export;
pub mod judge;
pub mod list;
pub mod mission;
pub mod plot;
pub mod quick;
pub mod remote;
pub mod report;
pub mod run;
pub mod schema;
pub mod serve;
pub mod shell;
pub mod show;
pub mod tag;
