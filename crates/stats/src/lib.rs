//! Statistics on measured series and counts. Pure functions of their arguments, deterministic: the same data give the
//! same answer, on any machine. Each file names the paper its method is from.

pub mod amounts;
pub mod batches;
pub mod bootstrap;
pub mod changepoint;
pub mod difference;
pub mod dip;
pub mod linear;
pub mod proportions;
pub mod quantile;
pub mod rank;
pub mod settle;
pub mod slots;
pub mod special;
pub mod steady;
pub mod usl;
