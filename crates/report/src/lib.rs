//! What is made from archives for people and for other programs: the verdict, the HTML report, plots, comparisons,
//! exports. It reads archives through `cosmark-archive` alone and never touches a store.

pub mod export;
pub mod plot;
