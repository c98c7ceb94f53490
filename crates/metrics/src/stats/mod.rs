//! Statistics over results. Pure and seeded: the same numbers give the same answers. Sources stand in each file.

pub mod batches;
pub mod bootstrap;
pub mod difference;
pub mod rank;
pub mod settle;
pub mod special;
pub mod usl;
