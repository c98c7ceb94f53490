//! The registration of a driver: what it is, and with each heartbeat what it is doing.

use cosmark_driver::{Catalog, proc};
use cosmark_wire::MESSAGE_VERSION;
use cosmark_wire::message::{Nic, Registration};
use tokio::time::Instant;

use super::{DriverError, RemoteOptions};
use crate::nats::{Bus, Key};

/// What a driver says about itself when it joins.
///
/// # Errors
/// When its key cannot sign.
pub fn registration(
    bus: &Bus,
    catalog: Catalog,
    options: &RemoteOptions,
    key: &Key,
) -> Result<Registration, DriverError> {
    let mut labels = options.labels.clone();
    labels.sort();
    let mut registration = Registration {
        name: options.options.name.clone(),
        message_version: MESSAGE_VERSION,
        version: options.version.clone(),
        labels,
        host: options.host.clone(),
        cores: options.cores,
        memory_bytes: proc::memory_bytes().unwrap_or(0),
        nics: nics(),
        adaptors: catalog.adaptors.iter().map(|def| def.name.to_owned()).collect(),
        reaches: Some(options.options.permit.reaches().iter().map(|reach| reach.word().to_owned()).collect()),
        ceiling_ops_per_s: None,
        public_key: key.public(),
        life: draw(),
        runs: Vec::new(),
        load: None,
        waiting: 0,
        trouble: None,
        doing: Vec::new(),
        trusts: Vec::new(),
        forged: 0,
        identity: String::new(),
        proof: Vec::new(),
    };
    if let Some(identity) = bus.identity() {
        identity.public().clone_into(&mut registration.identity);
        registration.proof =
            identity.sign_bytes(&registration.what_is_proved()).map_err(DriverError::Name)?;
    }
    Ok(registration)
}

fn nics() -> Vec<Nic> {
    let addresses = proc::addresses();
    let of = |name: &str| {
        addresses.iter().filter(|(nic, _)| nic == name).map(|(_, address)| address.to_string()).collect()
    };
    proc::interfaces()
        .into_iter()
        .map(|nic| Nic { addresses: of(&nic.name), speed_bits_per_s: nic.speed_bits_per_s, name: nic.name })
        .collect()
}

/// A number that no other start of a driver has.
fn draw() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}

/// Share of the machine's processors that was busy since the last question.
#[derive(Default)]
pub struct Busy(Option<(proc::Processors, Instant)>);

impl Busy {
    /// The share, 0 to 1; `None` the first time, and where the system does not say it.
    #[expect(clippy::cast_precision_loss, reason = "a share needs no more than 53 bits")]
    pub fn share(&mut self) -> Option<f64> {
        let now = proc::processors()?;
        let (before, at) = self.0.replace((now, Instant::now()))?;
        let whole_ns = at.elapsed().as_nanos() as f64 * f64::from(now.cpus.max(1));
        (whole_ns > 0.0).then(|| now.busy_ns.saturating_sub(before.busy_ns) as f64 / whole_ns)
    }
}
