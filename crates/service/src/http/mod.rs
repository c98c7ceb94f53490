//! HTTP below the routes: listening with and without TLS, and passing requests on to the controller that leads.

pub mod relay;
pub mod serve;
