// Generated from crates/service/src/api/types/mod.rs, which says what each field means:
// UPDATE_TYPES=1 cargo test -p cosmark-service --lib types

import type { SeriesNews } from "./types";

export const API_VERSION = 1;

export type Role = "view" | "operate";

export type SessionInfo = { 
/**
 * What they may do.
 */
role: Role, 
/**
 * Name of the token they came with.
 */
token_name: string, };

export type Status = { 
/**
 * Name of the controller that answers.
 */
controller: string, 
/**
 * Version of Cosmark.
 */
version: string, 
/**
 * [`API_VERSION`].
 */
api_version: number, 
/**
 * Name of the controller that leads.
 */
leader: string, 
/**
 * Names of all controllers that were seen lately.
 */
controllers: Array<string>, 
/**
 * Whether NATS is connected.
 */
nats_connected: boolean, 
/**
 * Address of NATS, without credentials.
 */
nats: string, 
/**
 * The controller's clock, RFC 3339.
 */
now: string, 
/**
 * Drivers that are alive.
 */
drivers_alive: number, 
/**
 * Runs that wait.
 */
queued: number, 
/**
 * Ids of runs that are running.
 */
running: Array<string>, 
/**
 * Runs that may run at the same time.
 */
concurrency: number, 
/**
 * The command that lets a driver of another machine join, where drivers can.
 */
join: string | null, };

export type DriverState = "idle" | "busy" | "drained" | "refused" | "lost";

export type DriverInfo = { 
/**
 * Its name, unique.
 */
name: string, 
/**
 * Labels such as `zone` = `a`, sorted by key.
 */
labels: Array<[string, string]>, 
/**
 * Version of Cosmark.
 */
version: string, 
/**
 * Version of the messages it speaks.
 */
message_version: number, 
/**
 * Host name.
 */
host: string, 
/**
 * Processors it may use.
 */
cores: number, 
/**
 * Memory of the machine.
 */
memory_bytes: number, 
/**
 * Network interfaces: name, addresses, speed.
 */
nics: Array<NicInfo>, 
/**
 * Storage types that it speaks.
 */
adaptors: Array<string>, 
/**
 * Operations per second of its null adaptor on one core, measured by itself at its start.
 */
ceiling_ops_per_s: number | null, 
/**
 * How it is doing.
 */
state: DriverState, 
/**
 * Why it is refused or lost, one sentence.
 */
trouble: string | null, 
/**
 * The run that it works on.
 */
run: string | null, 
/**
 * What it is really doing, whoever ordered it.
 */
doing: Array<DriverDoing>, 
/**
 * Share of its processors that is busy, 0 to 1.
 */
load: number | null, 
/**
 * Its clock minus the controller's, and how far that may be off; nanoseconds.
 */
clock_offset_ns: number | null, 
/**
 * Half of the fastest probe's round trip, nanoseconds.
 */
clock_error_ns: number | null, 
/**
 * When it was last heard of, RFC 3339.
 */
last_seen: string, 
/**
 * Orders and questions since its start that no controller which it trusts had signed.
 */
forged: number, 
/**
 * Its public key; null for the driver in the controller's own process.
 */
key: string | null, };

export type DriverDoing = { 
/**
 * The run.
 */
run: string, 
/**
 * This controller has ordered it.
 */
ordered: boolean, 
/**
 * Requests that it sends to stores.
 */
requests_per_s: number, 
/**
 * Whether it may: `makes`, `asks`, `rests` or `over`.
 */
lease: string, 
/**
 * Seconds since it heard a renewal of the run's lease; null = never.
 */
lease_age_s: number | null, 
/**
 * The stores: host and port.
 */
stores: Array<string>, };

export type NicInfo = { 
/**
 * Such as `eth0`.
 */
name: string, 
/**
 * Its addresses.
 */
addresses: Array<string>, 
/**
 * Speed in bits per second, where the system tells.
 */
speed_bits_per_s: number | null, };

export type Submission = { 
/**
 * The workload: COSBench's XML or native YAML.
 */
source: string, 
/**
 * Name of its file; its ending may tell the format.
 */
file_name: string | null, 
/**
 * A target file (YAML) that says where the store is; replaces what the workload says.
 */
target: string | null, 
/**
 * Settings `KEY=VALUE`, as `--set`.
 */
settings: Array<string>, 
/**
 * Runs with a higher one come first; among equals the order of submission decides.
 */
priority: number, 
/**
 * Tags for the history.
 */
tags: Array<string>, 
/**
 * Keep a log of every operation.
 */
operation_log: boolean, 
/**
 * Seed; drawn if none.
 */
seed: number | null, 
/**
 * How many drivers, or which: `3`, `zone=a`, `3,zone=a`; comes before what the workload says.
 */
drivers: string | null, 
/**
 * How long drivers that are not there are waited for, such as `2m`.
 */
wait_for_drivers: string | null, };

export type Mistake = { 
/**
 * `error` or `warning`.
 */
severity: string, 
/**
 * One sentence.
 */
message: string, 
/**
 * What to do.
 */
hint: string | null, 
/**
 * Line, from 1; 0 when it has no place in the source.
 */
line: number, 
/**
 * Column in UTF-16 units, from 1.
 */
column: number, 
/**
 * End of the place, same units.
 */
end_line: number, 
/**
 * End of the place, same units.
 */
end_column: number, };

export type CheckResult = { 
/**
 * True if it would be accepted.
 */
ok: boolean, 
/**
 * Every mistake, at its place.
 */
mistakes: Array<Mistake>, 
/**
 * Name of the workload.
 */
name: string | null, 
/**
 * Its stages, matrices expanded.
 */
stages: Array<StagePreview>, 
/**
 * Sentences of the verdict's checks that can be made before any load.
 */
preflight: Array<string>, };

export type StagePreview = { 
/**
 * Such as `s3-main`.
 */
id: string, 
/**
 * Its name.
 */
name: string, 
/**
 * Names of its works.
 */
works: Array<string>, 
/**
 * Workers of all its works.
 */
workers: number, 
/**
 * How long it lasts, seconds, where time ends it.
 */
seconds: number | null, 
/**
 * Operations it makes, where counts end it.
 */
operations: number | null, 
/**
 * Bytes that it writes, where that is known before.
 */
bytes_written: number | null, };

export type Submitted = { 
/**
 * Id of the run, such as `w12`.
 */
id: string, 
/**
 * Warnings.
 */
mistakes: Array<Mistake>, };

export type LostDriver = { 
/**
 * Its name.
 */
driver: string, 
/**
 * From when on its part is missing, seconds since the load began.
 */
from_s: number, 
/**
 * Share of the stage's workers that it had, 0 to 1.
 */
share: number, };

export type RunSummary = { 
/**
 * Such as `w12`.
 */
id: string, 
/**
 * Name of the workload.
 */
name: string, 
/**
 * `queuing`, `processing`, `finished`, `failed`, `terminated` or `cancelled`, as in COSBench, or `killed`.
 */
state: string, 
/**
 * Why it ended so, one sentence.
 */
reason: string | null, 
/**
 * RFC 3339.
 */
submitted: string | null, 
/**
 * RFC 3339.
 */
started: string | null, 
/**
 * RFC 3339.
 */
ended: string | null, 
/**
 * Priority in the queue.
 */
priority: number, 
/**
 * Place in the queue from 0; none when it does not wait.
 */
position: number | null, 
/**
 * Id of the stage that is running.
 */
stage: string | null, 
/**
 * Stages that are over, and all.
 */
stages_done: number, 
/**
 * All stages.
 */
stages: number, 
/**
 * Part of the running stage that is over, 0 to 1.
 */
progress: number | null, 
/**
 * Seconds until the running stage ends, where that is known.
 */
remaining_s: number | null, 
/**
 * Seconds until the run ends, as far as its stages say how long they last; none when it waits or is over.
 */
left_s: number | null, 
/**
 * Stages that run or are to come of which nobody knows how long they last: they come on top of `left_s`.
 */
left_open: number, 
/**
 * The store: type and address of the first storage of its workload.
 */
target: string | null, 
/**
 * Operations per second of its stage with the highest rate.
 */
throughput_per_s: number | null, 
/**
 * The 99th percentile of the response time of that stage's slowest operation, ms.
 */
p99_ms: number | null, 
/**
 * True: `p99_ms` is the least that it can be, since COSBench's tables say no more of a time above 500 s.
 */
p99_is_least: boolean, 
/**
 * `true`, `true_with_limits`, `not_proven` or `false`.
 */
verdict: string | null, 
/**
 * First reason of the verdict.
 */
verdict_reason: string | null, 
/**
 * Kinds of operations, such as `read` and `write`.
 */
operations: Array<string>, 
/**
 * Tags.
 */
tags: Array<string>, 
/**
 * Whether it is the baseline of its workload.
 */
baseline: boolean, 
/**
 * Who submitted it: the name of the token.
 */
submitted_by: string | null, 
/**
 * Drivers that work or worked on it.
 */
drivers: Array<string>, 
/**
 * Drivers that the running stage has lost: it goes on without them.
 */
lost: Array<LostDriver>, 
/**
 * What a run that waits waits for beside its turn, in words: `waiting for 250 drivers, 200 are there`.
 */
waits_for: string | null, 
/**
 * What the exit code of `cosmark submit --wait` is made of: `finished`, `missed`, `failed`, `target`, `workload`, `ours` or
 * `cancelled`; known of runs that ended lately.
 */
class: string | null, };

export type QueueMove = { 
/**
 * New priority.
 */
priority: number | null, 
/**
 * Put it directly before this run, and give it that run's priority.
 */
before: string | null, };

export type FileInfo = { 
/**
 * Path below the run's directory.
 */
name: string, 
/**
 * Length.
 */
bytes: number, 
/**
 * One phrase on what is in it.
 */
what: string, };

export type Login = { 
/**
 * The token.
 */
token: string, };

export type Drain = { 
/**
 * True: no new work.
 */
drained: boolean, };

export type Cancel = { 
/**
 * At once: operations in flight are dropped.
 */
abort: boolean, };

export type TagChange = { 
/**
 * Words without blanks and commas.
 */
add: Array<string>, 
/**
 * Tags to take away.
 */
remove: Array<string>, };

export type Note = { 
/**
 * One paragraph, up to 3000 bytes.
 */
text: string, };

export type Baseline = { 
/**
 * True: others are compared with it.
 */
baseline: boolean, };

export type SourceText = { 
/**
 * Name of the file it came in.
 */
file_name: string, 
/**
 * As it was given.
 */
source: string, 
/**
 * As it was understood, native YAML.
 */
yaml: string, 
/**
 * The same as COSBench XML.
 */
xml: string | null, };

export type TargetText = { 
/**
 * The YAML.
 */
target: string, };

export type TargetTest = { 
/**
 * True: it let us in and answered.
 */
ok: boolean, 
/**
 * How long that took, milliseconds.
 */
ms: number, 
/**
 * One sentence.
 */
message: string, 
/**
 * What to do, where that is known.
 */
hint: string | null, 
/**
 * The driver that tried it; none when none could.
 */
driver: string | null, };

export type LibraryEntry = { 
/**
 * `workload` or `target`.
 */
kind: string, 
/**
 * Name of its file without ending.
 */
name: string, 
/**
 * Its name inside.
 */
title: string, 
/**
 * Its first sentence.
 */
summary: string, 
/**
 * Path in the source tree.
 */
path: string, 
/**
 * The text.
 */
source: string, };

export type ConvertText = { 
/**
 * XML or YAML.
 */
source: string, };

export type Converted = { 
/**
 * COSBench XML.
 */
xml: string | null, 
/**
 * Native YAML.
 */
yaml: string | null, 
/**
 * Mistakes, and what the other format cannot say.
 */
mistakes: Array<Mistake>, };

export type SecretValue = { 
/**
 * The secret. It is never given back.
 */
value: string, 
/**
 * Where it may be sent: `https://host:port`, or a host alone for all its ports; a storage or auth type for that type's
 * usual address. Nowhere else.
 */
endpoints: Array<string>, };

export type Refusal = { 
/**
 * One sentence, with the remedy.
 */
error: string, 
/**
 * The mistakes of a workload, if that is why.
 */
mistakes: Array<Mistake>, };

export type SystemEvent = { "event": "everything", "data": { 
/**
 * The controller.
 */
status: Status, 
/**
 * All drivers.
 */
drivers: Array<DriverInfo>, 
/**
 * Runs that wait or run, in their order.
 */
active: Array<RunSummary>, } } | { "event": "status", "data": Status } | { "event": "driver", "data": DriverInfo } | { "event": "driver_gone", "data": string } | { "event": "run", "data": RunSummary };

export type RunEvent = { "event": "run", "data": RunSummary } | { "event": "stage", "data": StageNews } | { "event": "interval", "data": Interval } | { "event": "series", "data": SeriesNews } | { "event": "log", "data": LogLine } | { "event": "verdict", "data": VerdictNews } | { "event": "end", "data": { 
/**
 * State of the run.
 */
state: string, } };

export type StageNews = { 
/**
 * Such as `s3-main`.
 */
id: string, 
/**
 * Index from 0.
 */
index: number, 
/**
 * COSBench's words: `waiting`, `booting`, .. `completed`.
 */
state: string, 
/**
 * Start of the load, RFC 3339.
 */
load_started: string | null, 
/**
 * How long it should last, seconds.
 */
planned_s: number | null, 
/**
 * Why it failed.
 */
reason: string | null, };

export type Interval = { 
/**
 * Such as `s3-main`.
 */
stage: string, 
/**
 * Start of the interval since the stage's load began, seconds.
 */
start_s: number, 
/**
 * End of it.
 */
end_s: number, 
/**
 * One row per operation (all drivers together), then the same per driver and per endpoint where there are several.
 */
rows: Array<IntervalRow>, };

export type IntervalRow = { 
/**
 * Name of the work.
 */
work: string, 
/**
 * Name of the operation.
 */
operation: string, 
/**
 * The driver; none for all together.
 */
driver: string | null, 
/**
 * The endpoint; none for all together.
 */
endpoint: string | null, 
/**
 * `rampup`, `window`, `rampdown` or `drain`.
 */
phase: string, 
/**
 * Successes.
 */
count: number, 
/**
 * Failures.
 */
failures: number, 
/**
 * Arrivals dropped for want of a free worker.
 */
missed: number, 
/**
 * Body bytes of successes.
 */
bytes: number, 
/**
 * Operations in flight, mean over the interval; of an endpoint those that succeeded.
 */
in_flight: number, 
/**
 * Response times in ms: mean, p50, p90, p95, p99, p99.9, max; none without successes.
 */
response_ms: [number, number, number, number, number, number, number] | null, 
/**
 * Failures by label, such as `http_503`; not told of an endpoint.
 */
errors: Array<[string, number]>, 
/**
 * Successes by response time, of all drivers and endpoints together: (index of the class, count); the bound of class `i` is `2^(i/4)` microseconds.
 */
heat: Array<[number, number]>, };

export type LogLine = { 
/**
 * RFC 3339.
 */
at: string, 
/**
 * `INFO`, `WARN` or `ERROR`.
 */
level: string, 
/**
 * Who says it: `controller`, a driver's name, a stage's id.
 */
from: string, 
/**
 * The text, secrets removed.
 */
text: string, };

export type VerdictNews = { 
/**
 * `true`, `true_with_limits`, `not_proven` or `false`.
 */
overall: string, 
/**
 * First reason.
 */
reason: string | null, 
/**
 * Checks that warn or fail: id, stage, status, sentence.
 */
findings: Array<[string, string, string, string]>, };

export type StudyState = "running" | "stopping" | "complete" | "stopped" | "budget_spent" | "trouble" | "cut_off" | "unreadable";

export type StudySummary = { 
/**
 * Name of its directory, by which it is asked for.
 */
id: string, 
/**
 * Name of the study; empty where that cannot be read.
 */
name: string, 
/**
 * Its title.
 */
title: string, 
/**
 * How much of it is run: quick, scaled or full.
 */
scale: string, 
/**
 * With the published flaws.
 */
as_published: boolean, 
/**
 * How it stands.
 */
state: StudyState, 
/**
 * Why, one sentence.
 */
reason: string | null, 
/**
 * When it was begun, RFC 3339.
 */
begun: string | null, 
/**
 * When something was last written down, RFC 3339.
 */
changed: string | null, 
/**
 * Runs that are over, of those that are planned.
 */
done: number, 
/**
 * Runs that are planned: the least number of repetitions of each cell.
 */
planned: number, 
/**
 * Runs that failed.
 */
failed: number, 
/**
 * Seconds that its runs took so far.
 */
spent_s: number, 
/**
 * Seconds that the rest will take, as estimated and corrected by what is over; null where that is not known.
 */
left_s: number | null, 
/**
 * Name of the run that runs, or that was cut off.
 */
under_way: string | null, 
/**
 * When that was begun, RFC 3339.
 */
under_way_since: string | null, 
/**
 * Changes whenever something of the study does: what was asked for with the same is still right.
 */
version: string, };

export type StudyFactor = { 
/**
 * Its name; `system` is one.
 */
name: string, 
/**
 * For people, with unit.
 */
label: string, 
/**
 * Its levels, for people, in the order of the study.
 */
levels: Array<string>, 
/**
 * Its levels are stages of one run.
 */
within: boolean, };

export type StudyClaim = { 
/**
 * Its id.
 */
id: string, 
/**
 * What it says.
 */
says: string, 
/**
 * agrees, disagrees, not shown, emulated, or not testable here.
 */
finding: string, 
/**
 * Why: values, intervals, what is missing.
 */
why: string, };

export type Study = { 
/**
 * The study at a glance.
 */
summary: StudySummary, 
/**
 * What it asks.
 */
question: string, 
/**
 * Where the published numbers are from.
 */
source: string | null, 
/**
 * The machine that makes the load, a line each.
 */
machine: Array<string>, 
/**
 * What was made smaller at this scale, a sentence each.
 */
shrunk: Array<string>, 
/**
 * What is varied, systems first.
 */
factors: Array<StudyFactor>, 
/**
 * Figures that something was measured of, by their ids.
 */
metrics: Array<string>, 
/**
 * Operations that were measured.
 */
operations: Array<string>, 
/**
 * Bytes that its runs moved so far.
 */
bytes: number, 
/**
 * Runs that are over and not read yet: ask again.
 */
unread: number, 
/**
 * What the authors or readers concluded.
 */
claims: Array<StudyClaim>, 
/**
 * The command that goes on, for who may operate.
 */
command: string | null, 
/**
 * Whether this controller may be asked to go on.
 */
may_go_on: boolean, };

export type StudyRunState = "waiting" | "cut_off" | "running" | "done" | "failed" | "not_run";

export type StudyRun = { 
/**
 * Its name, by which its results are asked for.
 */
name: string, 
/**
 * Which repetition, from 1.
 */
repetition: number, 
/**
 * How it stands.
 */
state: StudyRunState, 
/**
 * Seconds that it took.
 */
took_s: number | null, 
/**
 * Why it failed.
 */
reason: string | null, };

export type StudyCell = { 
/**
 * System and levels.
 */
id: string, 
/**
 * How its runs stand together.
 */
state: StudyRunState, 
/**
 * Its runs.
 */
runs: Array<StudyRun>, };

export type StudyPoint = { 
/**
 * Number of its cell in `cells`.
 */
cell: number, 
/**
 * For each factor the number of its level.
 */
levels: Array<number>, 
/**
 * Why it is not run.
 */
refused: string | null, 
/**
 * The gravest verdict of its repetitions: true, true_with_limits, not_proven or false.
 */
verdict: string | null, 
/**
 * Why it is that, or why its responses are too long for the window.
 */
why: string | null, 
/**
 * The operation whose figure is shown, where the point did not make the chosen one.
 */
operation: string | null, 
/**
 * Mean of the figure over its repetitions.
 */
value: number | null, 
/**
 * Lower end of the 95 % interval of the mean, of two repetitions or more.
 */
low: number | null, 
/**
 * Upper end of it.
 */
high: number | null, 
/**
 * Repetitions that have the figure.
 */
repetitions: number, };

export type StudyGrid = { 
/**
 * The figure's id; empty where nothing was measured.
 */
metric: string, 
/**
 * The operation; empty where nothing was measured.
 */
operation: string, 
/**
 * Cells with their runs.
 */
cells: Array<StudyCell>, 
/**
 * Points.
 */
points: Array<StudyPoint>, 
/**
 * Points beyond the most that an answer has.
 */
left_out: number, 
/**
 * Of the study at this moment.
 */
version: string, };

export type StudyField = { 
/**
 * Its text, with a word where its look says something.
 */
text: string, 
/**
 * plain, false, hollow, best or not_run.
 */
look: string, };

export type StudyPart = { "kind": "heading", 
/**
 * Its order: 2, 3 or 4.
 */
order: number, 
/**
 * Its text.
 */
text: string, } | { "kind": "text", 
/**
 * Its text.
 */
text: string, } | { "kind": "list", 
/**
 * Its items.
 */
items: Array<string>, } | { "kind": "table", 
/**
 * Above it.
 */
caption: string, 
/**
 * Names of its columns.
 */
columns: Array<string>, 
/**
 * Its rows.
 */
rows: Array<Array<StudyField>>, } | { "kind": "figure", 
/**
 * Below it.
 */
caption: string, 
/**
 * SVG: to be shown as a picture, not as a part of the page.
 */
svg: string, };
