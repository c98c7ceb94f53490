// Generated from crates/metrics/src/results, where is said what each field means:
// UPDATE_TYPES=1 cargo test -p cosmark-metrics --lib types

export type OperationResult = { 
/**
 * Name of the work.
 */
work: string, 
/**
 * Name of the operation, e.g. `1-read`.
 */
name: string, 
/**
 * What it does, e.g. `read`, `prepare`.
 */
op: string, 
/**
 * What its samples are, e.g. `read`, `write` for `prepare`.
 */
sample: string, 
/**
 * `op1`, `op2`, .. over the whole stage.
 */
id: string, 
/**
 * Its tag in `histograms.hlog`, without the kind of time.
 */
tag: string, 
/**
 * Workers of the work, over all drivers.
 */
workers: number, 
/**
 * How its operations are started.
 */
arrival: LoopKind | null, 
/**
 * Length of the measured window in seconds.
 */
window_s: number, 
/**
 * Arrivals that were due in the window, whatever became of them; null without an open loop.
 */
intended: number | null, 
/**
 * Successes.
 */
count: number, 
/**
 * Failures.
 */
failures: number, 
/**
 * Arrivals of an open loop that were dropped for want of a free worker.
 */
missed: number, 
/**
 * Arrivals that had to wait for a free worker.
 */
delayed: number, 
/**
 * Operations that were due by the end of the window and had not finished then.
 */
unfinished: number, 
/**
 * Bodies that were compared with what they should be; listings that ended with all that must be in them.
 */
checked: number, 
/**
 * Body bytes of successes.
 */
bytes: number, 
/**
 * Body bytes of failures: what had arrived of a read; what the driver's system had taken of a write, of which the store
 * may have received less.
 */
partial_bytes: number, 
/**
 * Successes per second of the window; null without a window.
 */
throughput_per_s: number | null, 
/**
 * Body bytes of successes per second of the window; null without a window.
 */
bandwidth_bytes_per_s: number | null, 
/**
 * Successes of all that ended, 0 to 1; null when nothing ended.
 */
success_ratio: number | null, 
/**
 * Mean number of operations in flight over the window; null without a window.
 */
in_flight_mean: number | null, 
/**
 * Seconds that the operations in flight at the start of the window had been in flight by then, all together; null where
 * it was not recorded. With `age_at_end_s` it makes Little's law exact: `in_flight_mean x window_s` is the sum of all
 * service times, less this, and `age_at_end_s` more.
 */
age_at_start_s: number | null, 
/**
 * Seconds that the operations in flight at the end of the window had been in flight by then, all together; null where it
 * was not recorded.
 */
age_at_end_s: number | null, 
/**
 * Mean number, over the window, of the work's workers that had done their share of its total and waited for the others;
 * with the first operation of each work, 0 with its others. Null without a window, and where it was not recorded.
 */
workers_done_mean: number | null, 
/**
 * From the moment each operation was due.
 */
response_ms: Latencies | null, 
/**
 * From the moment each was sent.
 */
service_ms: Latencies | null, 
/**
 * From sent to the first byte of the answer.
 */
first_byte_ms: Latencies | null, 
/**
 * Time on the wire: from the moment a request left the client's host to the moment the last byte of its answer reached
 * it, by the system's stamps; of an operation of several requests, the time in which at least one was under way. `count`
 * is how many operations were stamped.
 */
wire_ms: Latencies | null, 
/**
 * What the client added to each of the operations that were stamped: its service time, without the opening of
 * connections, less its time on the wire.
 */
client_added_ms: Latencies | null, 
/**
 * Why there are no times on the wire; null where there are, and where nothing succeeded.
 */
wire_unmeasured?: string, 
/**
 * To open a connection.
 */
connect_ms: Latencies | null, 
/**
 * Service times of failures.
 */
failed_service_ms: Latencies | null, 
/**
 * By how much arrivals were sent late though a worker was free: the lateness of the client itself.
 */
lag_ms: Latencies | null, 
/**
 * Ages, at the end of the window, of what was due in it and had not finished.
 */
unfinished_age_ms: Latencies | null, 
/**
 * Failures by class, e.g. `http_503`, `timeout`.
 */
errors: { [key in string]: number }, 
/**
 * Failures by the protocol's own code, e.g. `SlowDown`.
 */
error_codes: { [key in string]: number }, 
/**
 * The first error texts, secrets removed.
 */
error_examples: Array<string>, 
/**
 * Requests on the wire.
 */
requests: number, 
/**
 * Retries among them.
 */
retries: number, 
/**
 * Connections opened.
 */
connections: number, 
/**
 * Logins made again because the store said 401.
 */
renewals: number, 
/**
 * Successes that the store only accepted (Swift's 202).
 */
accepted_only: number, 
/**
 * Figures that have no field of their own, by name; what the data cannot support is not in it.
 */
metrics?: { [id in string]: number } | undefined, 
/**
 * Between which values its figures lie, by name (`throughput_per_s`, `response_ms.p99`, `service_ms.p99`, ..). Empty
 * before a run has ended.
 */
bounds?: { [id in string]: Bound } | undefined, };

export type PartResult = { 
/**
 * Successes.
 */
count: number, 
/**
 * Failures; by size only those of writes, because the size of a read that failed is not known.
 */
failures: number, 
/**
 * Body bytes of successes.
 */
bytes: number, 
/**
 * From the moment each operation was due.
 */
response_ms: Latencies | null, 
/**
 * From the moment each was sent.
 */
service_ms: Latencies | null, 
/**
 * From sent to the first byte of the answer.
 */
first_byte_ms: Latencies | null, 
/**
 * On the wire, of those that the system stamped.
 */
wire_ms: Latencies | null, 
/**
 * What the client added to these.
 */
client_added_ms: Latencies | null, };

export type Latencies = { 
/**
 * How many times.
 */
count: number, 
/**
 * Exact mean.
 */
mean: number | null, 
/**
 * Least.
 */
min: number | null, 
/**
 * 50th percentile.
 */
p50: number | null, 
/**
 * 60th percentile.
 */
p60: number | null, 
/**
 * 80th percentile.
 */
p80: number | null, 
/**
 * 90th percentile.
 */
p90: number | null, 
/**
 * 95th percentile.
 */
p95: number | null, 
/**
 * 99th percentile.
 */
p99: number | null, 
/**
 * 99.9th percentile.
 */
p99_9: number | null, 
/**
 * 99.99th percentile.
 */
p99_99: number | null, 
/**
 * Greatest.
 */
max: number | null, 
/**
 * Why a percentile is null.
 */
withheld: string | null, };

export type Bound = { 
/**
 * A client that adds nothing would have measured no less, in the unit of the figure; null where nothing is known.
 */
low: number | null, 
/**
 * And no more.
 */
high: number | null, 
/**
 * Systematic: what the client itself can have added to the value, or kept from it.
 */
client: Spread, 
/**
 * Statistical: how far the value of a window as short as this one may be off (95 %).
 */
sampling: Spread, 
/**
 * The longer side, as a share of the value; of a share in points. Null where a side is not known.
 */
within: number | null, 
/**
 * What widens it most.
 */
cause: Cause | null, 
/**
 * Why the figure does not hold; null where it does.
 */
does_not_hold?: string | null, };

export type Spread = { 
/**
 * So much below.
 */
below: number | null, 
/**
 * So much above.
 */
above: number | null, };

export type Cause = "pauses" | "run_queue" | "busy_threads" | "lag" | "unfinished" | "measured" | "resolution" | "sampling";

export type LoopKind = "closed" | "paced" | "open" | "mixed";
