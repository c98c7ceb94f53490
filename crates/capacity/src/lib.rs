//! What limits a store, and what more of it would give: service demands from a ladder of loads, the ceilings that follow
//! from them, the sentence that names the bottleneck, and predictions by queueing theory. Pure functions of their
//! arguments.
//!
//! Sources: P. J. Denning and J. P. Buzen, The Operational Analysis of Queueing Network Models (ACM Computing Surveys 10,
//! 1978); E. D. Lazowska, J. Zahorjan, G. S. Graham and K. C. Sevcik, Quantitative System Performance (1984).

pub mod bottleneck;
pub mod ceiling;
pub mod change;
pub mod demand;
pub mod energy;
pub mod ladder;
pub mod law;
pub mod model;
pub mod mva;
mod number;
pub mod others;
pub mod plan;
pub mod regression;
pub mod saturation;
pub mod sentence;
