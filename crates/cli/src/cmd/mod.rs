//! One file per subcommand.

pub mod adaptors;
pub mod check;
pub mod convert;
pub mod demo;
pub mod judge;
pub mod list;
pub mod quick;
pub mod report;
pub mod run;
pub mod schema;
pub mod serve;
pub mod shell;
pub mod show;
