//! What `cosmark plan` asks, and what it answers: a store that is changed, in words and as JSON.

pub mod answer;
pub mod prices;
pub mod wish;
