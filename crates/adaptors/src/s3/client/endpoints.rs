//! Which of several endpoints the next request goes to.

use std::sync::Arc;

use super::S3Client;
use crate::s3::channel::Channel;
use crate::s3::choice::EndpointChoice;
use crate::s3::config::Config;

/// A request in flight; dropped when it is over or given up.
pub(super) struct Busy {
    config: Arc<Config>,
    at: usize,
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.config.in_flight.end(self.at);
    }
}

impl S3Client {
    /// Makes the chosen endpoint's connections the ones in use, for the request that comes now.
    pub(super) fn choose_endpoint(&mut self) -> Option<Busy> {
        let count = self.config.addresses.len();
        if count < 2 || self.config.endpoint_choice == EndpointChoice::Sticky {
            return None;
        }
        let next = (self.at + 1) % count;
        if self.config.endpoint_choice == EndpointChoice::RoundRobin {
            self.turn_to(next);
            return None;
        }
        let at = self.config.in_flight.least(next);
        self.turn_to(at);
        let is_counted = self.config.in_flight.begin(at);
        is_counted.then(|| Busy { config: Arc::clone(&self.config), at })
    }

    fn turn_to(&mut self, at: usize) {
        if at == self.at {
            return;
        }
        let (Some(address), Ok(keys)) =
            (self.config.addresses.get(at).cloned(), self.config.keys(&self.session))
        else {
            return;
        };
        self.parked.resize_with(self.config.addresses.len(), || None);
        let (main, lanes) = self.parked[at]
            .take()
            .unwrap_or_else(|| (Channel::new(&self.config, &address, &keys), Vec::new()));
        let main = std::mem::replace(&mut self.main, main);
        let lanes = std::mem::replace(&mut self.lanes, lanes);
        self.parked[self.at] = Some((main, lanes));
        (self.at, self.address) = (at, address);
    }
}
