//! Controllers and drivers on machines of their own, over NATS: [`nats`] is the connection and what lies there,
//! [`controller`] a run over drivers elsewhere, [`driver`] a driver that dials out and works on orders.

pub mod controller;
pub mod driver;
pub mod nats;
