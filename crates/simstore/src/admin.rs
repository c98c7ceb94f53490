//! The server's own paths, for tests that drive it from another process. They are not logged, not counted and
//! not touched by any rule: `GET /_simstore/counters`, `POST /_simstore/zero`, `POST /_simstore/clear`.

use serde_json::{Map, Value, json};

use crate::http::answer::{Answer, Payload};
use crate::http::head::Method;
use crate::log::Counters;
use crate::read::Call;
use crate::state::Shared;

/// Answers a request to the server itself.
pub(crate) fn handle(shared: &Shared, call: &Call<'_>, answer: &mut Answer) {
    match (call.head.method, call.route.path) {
        (Method::Get, "/_simstore/counters") => {
            answer.header("Content-Type", "application/json");
            let mut value = to_json(&shared.counters());
            value["epoch_monotonic_ns"] = json!(shared.clock.epoch_monotonic_ns());
            value["epoch_unix_ns"] = json!(shared.clock.unix(0).as_nanos() as u64);
            answer.payload = Payload::Text(value.to_string().into_bytes());
        }
        (Method::Post, "/_simstore/zero") => {
            shared.zero();
            answer.status = 204;
        }
        (Method::Post, "/_simstore/clear") => {
            shared.log.borrow_mut().clear();
            answer.status = 204;
        }
        _ => answer.status = 404,
    }
}

fn to_json(counters: &Counters) -> Value {
    let mut requests = Map::new();
    for ((op, status), count) in &counters.requests {
        let of_op = requests.entry(op.name()).or_insert_with(|| json!({}));
        of_op[status.to_string()] = json!(count);
    }
    let rules: Map<String, Value> =
        counters.rules.iter().map(|(label, count)| (label.clone(), json!(count))).collect();
    json!({
        "requests": requests,
        "outcomes": counters.outcomes,
        "connections_accepted": counters.connections_accepted,
        "connections_refused": counters.connections_refused,
        "connections_reset": counters.connections_reset,
        "connections_open": counters.connections_open,
        "bad_requests": counters.bad_requests,
        "distinct_keys": counters.distinct_keys,
        "bytes_in": counters.bytes_in,
        "body_bytes_out": counters.body_bytes_out,
        "objects": counters.objects,
        "stored_bytes": counters.stored_bytes,
        "rules": rules,
        "log_dropped": counters.log_dropped,
        "csv_dropped": counters.csv_dropped,
        "csv_error": counters.csv_error,
    })
}
