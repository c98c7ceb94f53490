//! What is known of the machines of a store: the table of quantities, what a collector reads of them at one moment, and what
//! is shown of them over time.

pub mod costs;
pub mod course;
pub mod machines;
pub mod quantity;
pub mod reading;
pub mod server_time;
pub mod skew;
