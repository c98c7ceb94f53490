//! What is known of the machines of a store: the table of quantities, and what a collector reads of them at one moment.

pub mod quantity;
pub mod reading;
