//! What the response times of operations went into. Most of it follows from the sums that are kept anyway (of response times,
//! service times and times to first byte); only what does not is summed here: opening connections, operations of several
//! requests, and the sending of requests, which is seen of those operations that are drawn to be stamped.

use serde::{Deserialize, Serialize};

use crate::Sample;

/// Sums over successes, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TimeSums {
    /// Successes that these are of. Where there were more, the parts of their times are not known: they were read from what has
    /// none, or told by a driver of another version.
    pub count: u64,
    /// Opening connections, TLS included.
    pub connect_ns: u128,
    /// TLS handshakes in that.
    pub tls_ns: u128,
    /// Operations of several requests.
    pub several: u64,
    /// Their time, without opening connections.
    pub several_ns: u128,
    /// Their times to first byte, which are among those of all.
    pub several_first_ns: u128,
    /// Time of operations that saw no first byte, without opening connections.
    pub unseen_ns: u128,
    /// Opening connections for both of these.
    pub apart_connect_ns: u128,
    /// Operations of one request whose sending was seen.
    pub drawn: u64,
    /// From the open connection to the last byte of the request, each as often as it stands for others.
    pub drawn_send_ns: u128,
    /// From the open connection to the first byte of the answer, of the same.
    pub drawn_first_ns: u128,
}

impl TimeSums {
    /// Adds a success.
    #[inline]
    pub fn add(&mut self, sample: &Sample) {
        self.count += 1;
        // Most are of one request over an open connection, and all that is known of them is in the sums of their times.
        if (sample.connect_ns | u64::from(sample.stands_for)) != 0 || sample.requests > 1 {
            self.add_special(sample);
        } else if sample.first_byte_ns == 0 {
            self.unseen_ns += u128::from(sample.service_ns());
        }
    }

    #[inline(never)]
    fn add_special(&mut self, sample: &Sample) {
        let first_ns = sample.time_to_first_byte_ns();
        let is_one = sample.requests <= 1;
        // A connection is opened before the first byte of an only request; parts side by side open theirs at the same time.
        let most_ns = first_ns.filter(|_| is_one).unwrap_or(sample.service_ns());
        let connect_ns = sample.connect_ns.min(most_ns);
        self.connect_ns += u128::from(connect_ns);
        self.tls_ns += u128::from(sample.tls_ns.min(connect_ns));
        let rest_ns = u128::from(sample.service_ns().saturating_sub(connect_ns));
        match first_ns {
            _ if !is_one => {
                self.several += 1;
                self.several_ns += rest_ns;
                self.several_first_ns += u128::from(first_ns.unwrap_or(0));
                self.apart_connect_ns += u128::from(connect_ns);
            }
            None => {
                self.unseen_ns += rest_ns;
                self.apart_connect_ns += u128::from(connect_ns);
            }
            Some(first_ns) if sample.stands_for > 0 => {
                let first_ns = first_ns - connect_ns;
                // An answer may come before all is sent.
                let sent_ns = sample.request_sent_ns.saturating_sub(sample.sent_ns);
                let send_ns = sent_ns.saturating_sub(connect_ns).min(first_ns);
                let weight = u128::from(sample.stands_for);
                self.drawn += 1;
                self.drawn_send_ns += weight * u128::from(send_ns);
                self.drawn_first_ns += weight * u128::from(first_ns);
            }
            Some(_) => {}
        }
    }

    /// Adds others of the same operation. Order does not matter.
    pub fn merge(&mut self, other: &Self) {
        let Self {
            count,
            connect_ns,
            tls_ns,
            several,
            several_ns,
            several_first_ns,
            unseen_ns,
            apart_connect_ns,
            drawn,
            drawn_send_ns,
            drawn_first_ns,
        } = other;
        self.count += count;
        self.connect_ns += connect_ns;
        self.tls_ns += tls_ns;
        self.several += several;
        self.several_ns += several_ns;
        self.several_first_ns += several_first_ns;
        self.unseen_ns += unseen_ns;
        self.apart_connect_ns += apart_connect_ns;
        self.drawn += drawn;
        self.drawn_send_ns += drawn_send_ns;
        self.drawn_first_ns += drawn_first_ns;
    }
}
