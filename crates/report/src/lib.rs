//! What is made from archives for people and for other programs: the verdict, the HTML report, plots, comparisons,
//! exports. It reads archives through `cosmark-archive` alone and never touches a store.

pub mod data;
mod error;
pub mod evidence;
pub mod export;
pub mod html;
pub mod judge;
mod judge_cosbench;
pub mod plot;

pub use error::ReportError;
pub use judge::{judge, preflight};
pub use judge_cosbench::judge_cosbench;
