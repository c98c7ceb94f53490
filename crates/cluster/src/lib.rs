//! Controllers and drivers on different machines, over NATS: [`nats`] holds connections and everything that is stored
//! in NATS, [`controller`] runs a workload over remote drivers, [`driver`] is a driver that joins and follows orders, [`agent`] reads
//! one of the store's machines for whoever runs.

pub mod agent;
pub mod controller;
pub mod driver;
pub mod nats;
