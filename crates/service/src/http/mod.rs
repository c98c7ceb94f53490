//! HTTP below the routes: listening with and without TLS, places for connections, and passing requests on to the
//! controller that leads.

pub mod places;
pub mod relay;
pub mod serve;
