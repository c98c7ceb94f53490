//! What the store's own machines say how long requests took them, by the operation that clients measured. The one place where
//! this is derived: the report, exports and the terminal read it from here. Where the machines report nothing there is nothing.
//!
//! Sources: Swift, Administrator's Guide, "Reporting metrics to `StatsD`" (`proxy-server.object.GET.200.timing` is the time of
//! the whole request, `.first-byte.timing` that to its first byte); Ceph, performance counters of `rgw`, `rgw_op` and `osd`.

use super::quantity as q;
use crate::NodeResult;

/// How long a kind of request took a kind of server.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerTime {
    /// Which server.
    pub server: &'static str,
    /// What its time is of.
    pub of: &'static str,
    /// Which operations of clients these requests are, as their samples are called.
    pub sample: &'static str,
    /// The way by which the machines were read.
    pub source: String,
    /// Requests per second of the measured window, all machines together.
    pub requests_per_s: f64,
    /// Mean time in milliseconds.
    pub mean_ms: f64,
}

const WHOLE: &str = "whole request";
const FIRST: &str = "to the first byte";

/// Operations by the method of HTTP.
const METHODS: [(&str, &str); 4] =
    [("GET", "read"), ("PUT", "write"), ("DELETE", "delete"), ("HEAD", "head")];

fn sample_of(method: &str) -> Option<&'static str> {
    METHODS.iter().find(|(name, _)| *name == method).map(|(_, sample)| *sample)
}

/// Server, what its time is of, and the operation, by the unit of a quantity; `None` for what is no request of a client.
/// Requests that failed are left out, where the name says so, as they are on the client's side.
fn meaning(unit: &str) -> Option<(&'static str, &'static str, &'static str)> {
    let after = |mark: &str| unit.find(mark).and_then(|at| unit.get(at + mark.len()..));
    if let Some(rest) = after("proxy-server.object.") {
        let parts: Vec<&str> = rest.split('.').collect();
        let (method, status, of) = match parts.as_slice() {
            [method, status] => (*method, *status, WHOLE),
            [method, status, "first-byte"] => (*method, *status, FIRST),
            // The same by storage policy.
            _ => return None,
        };
        return status.starts_with('2').then(|| Some(("Swift proxy", of, sample_of(method)?)))?;
    }
    if let Some(rest) = after("proxy-server.container.") {
        let is_listing = rest.strip_prefix("GET.2").is_some_and(|rest| !rest.contains('.'));
        return is_listing.then_some(("Swift proxy", WHOLE, "list"));
    }
    if let Some(method) = after("object-server.") {
        return Some(("Swift object server", WHOLE, sample_of(method)?));
    }
    let (daemon, kind) = unit.rsplit_once(' ')?;
    match (daemon.starts_with("osd."), kind) {
        (true, "read") => Some(("Ceph OSD", "one of its operations", "read")),
        (true, "write") => Some(("Ceph OSD", "one of its operations", "write")),
        (false, "get") => Some(("Ceph gateway", WHOLE, "read")),
        (false, "put") => Some(("Ceph gateway", WHOLE, "write")),
        _ => None,
    }
}

/// The times of servers in a stage, in the order of operations and servers.
#[must_use]
pub fn of_stage(nodes: &[NodeResult]) -> Vec<ServerTime> {
    let mut all: Vec<ServerTime> = Vec::new();
    for node in nodes {
        let known = |id: &str, unit: &str| {
            node.quantities.iter().find(|one| one.quantity == id && one.unit == unit).map(|one| one.mean)
        };
        for requests in node.quantities.iter().filter(|one| one.quantity == q::SERVER_REQUESTS.id) {
            let Some((server, of, sample)) = meaning(&requests.unit) else { continue };
            let Some(seconds) = known(q::SERVER_REQUEST_TIME.id, &requests.unit) else { continue };
            let same = |one: &&mut ServerTime| {
                (one.server, one.of, one.sample, one.source.as_str()) == (server, of, sample, &node.source)
            };
            // Until all are there `mean_ms` holds the sum.
            if let Some(own) = all.iter_mut().find(same) {
                own.requests_per_s += requests.mean;
                own.mean_ms += seconds * 1e3;
            } else {
                let source = node.source.clone();
                let (requests_per_s, mean_ms) = (requests.mean, seconds * 1e3);
                all.push(ServerTime { server, of, sample, source, requests_per_s, mean_ms });
            }
        }
    }
    all.retain(|one| one.requests_per_s > 0.0);
    all.iter_mut().for_each(|one| one.mean_ms /= one.requests_per_s);
    all.sort_by(|a, b| (a.sample, a.server, a.of, &a.source).cmp(&(b.sample, b.server, b.of, &b.source)));
    all
}

/// Why no server's time stands beside the client's, for people; `None` where one does.
#[must_use]
pub fn silence(nodes: &[NodeResult], known: &[ServerTime]) -> Option<&'static str> {
    match (nodes.is_empty(), known.is_empty()) {
        (_, false) => None,
        (true, true) => Some("the store's own time is not known: none of its machines is listed (nodes:)"),
        (false, true) => Some(
            "the store's own time is not known: what is listed under nodes: tells no times of requests (statsd of Swift and ceph do)",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::QuantityResult;

    fn node(source: &str, units: &[(&str, f64, f64)]) -> NodeResult {
        let one = |quantity: &str, unit: &str, mean: f64| QuantityResult {
            quantity: quantity.to_owned(),
            unit: unit.to_owned(),
            mean,
            highest: mean,
        };
        let both = |(unit, per_s, seconds): &(&str, f64, f64)| {
            [one("server_requests", unit, *per_s), one("server_request_s", unit, *seconds)]
        };
        NodeResult {
            source: source.to_owned(),
            quantities: units.iter().flat_map(both).collect(),
            ..NodeResult::default()
        }
    }

    fn said(nodes: &[NodeResult]) -> Vec<(&'static str, &'static str, &'static str, f64, f64)> {
        let all = of_stage(nodes).into_iter();
        all.map(|one| (one.sample, one.server, one.of, one.requests_per_s, one.mean_ms)).collect()
    }

    #[test]
    fn swifts_timings_are_those_of_requests_that_succeeded_and_none_is_counted_twice() {
        let statsd = node(
            "statsd",
            &[
                ("proxy-server.object.GET.200", 90.0, 0.9),
                ("proxy-server.object.GET.206", 10.0, 0.3),
                ("proxy-server.object.GET.404", 50.0, 9.0),
                ("proxy-server.object.GET.200.first-byte", 90.0, 0.45),
                ("proxy-server.object.policy.0.GET.200", 90.0, 0.9),
                ("host7.proxy-server.object.PUT.201", 4.0, 0.1),
                ("proxy-server.container.GET.200", 2.0, 0.01),
                ("object-server.PUT", 12.0, 0.06),
                ("object-server.REPLICATE", 12.0, 0.06),
                ("container-server.PUT", 12.0, 0.06),
            ],
        );
        assert_eq!(
            said(&[statsd]),
            [
                ("list", "Swift proxy", WHOLE, 2.0, 5.0),
                ("read", "Swift proxy", FIRST, 90.0, 5.0),
                ("read", "Swift proxy", WHOLE, 100.0, 12.0),
                ("write", "Swift object server", WHOLE, 12.0, 5.0),
                ("write", "Swift proxy", WHOLE, 4.0, 25.0),
            ]
        );
    }

    #[test]
    fn daemons_of_several_machines_are_one_server_and_two_ways_of_reading_them_are_not_added_up() {
        let ceph = [
            node("ceph", &[("osd.0 read", 10.0, 0.02), ("client.rgw.a get", 5.0, 0.02)]),
            node(
                "ceph",
                &[("osd.1 read", 30.0, 0.02), ("osd.1 copy", 9.0, 9.0), ("osd.1 journal", 9.0, 9.0)],
            ),
            node("prometheus", &[("rgw.a get", 5.0, 0.02), ("cpu0", 1.0, 1.0)]),
        ];
        assert_eq!(
            said(&ceph),
            [
                ("read", "Ceph OSD", "one of its operations", 40.0, 1.0),
                ("read", "Ceph gateway", WHOLE, 5.0, 4.0),
                ("read", "Ceph gateway", WHOLE, 5.0, 4.0),
            ]
        );
        assert_eq!(silence(&ceph, &of_stage(&ceph)), None);
        assert!(silence(&[], &[]).is_some_and(|why| why.contains("nodes:")));
        let silent = [node("local", &[])];
        assert!(silence(&silent, &of_stage(&silent)).is_some_and(|why| why.contains("statsd")));
    }
}
