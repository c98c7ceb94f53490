//! What is made from archives for people and for other programs: the HTML report, plots, comparisons, exports. It reads
//! archives through `cosmark-archive` alone and never touches a store.

pub mod compare;
pub mod data;
mod error;
pub mod escape;
pub mod export;
pub mod html;
pub mod plot;
mod rounds;
mod row_ends;

pub use error::ReportError;
