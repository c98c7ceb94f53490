// Generated from crates/report/src/data/model.rs, which says what each field means:
// UPDATE_TYPES=1 cargo test -p cosmark-report --lib types
import type { OperationResult, PartResult } from "./results";

export type ReportData = { 
/**
 * [`FORMAT`].
 */
format: number, 
/**
 * Version of Cosmark that made the report.
 */
made_by: string, 
/**
 * The run as a whole.
 */
run: RunFacts, 
/**
 * Whether its numbers can be believed.
 */
verdict: VerdictData, 
/**
 * Its stages in order.
 */
stages: Array<StageData>, 
/**
 * Thresholds of its stages, and how they came out.
 */
thresholds: Array<ThresholdData>, 
/**
 * Searches for the highest load.
 */
searches: Array<SearchData>, 
/**
 * What limits the store, for each load that was measured at several rates.
 */
ladders: Array<LadderData>, 
/**
 * Which share users got of what the machines can do by themselves, stage by stage.
 */
raw_shares: Array<RawShare>, 
/**
 * The entry of the archive that says what the machines can do; null where none was there.
 */
raw_limits: string | null, 
/**
 * The workload as it was understood, native format, secrets removed; null when the archive lacks it.
 */
workload: string | null, 
/**
 * What could not be shown and why, one sentence each.
 */
notes: Array<string>, };

export type RunFacts = { 
/**
 * `w<N>`.
 */
id: string, 
/**
 * Name of the workload.
 */
name: string, 
/**
 * Its text.
 */
description: string | null, 
/**
 * How far it came: `finished`, `failed`, ..
 */
state: string, 
/**
 * Why it did not finish.
 */
reason: string | null, 
/**
 * Seed of every random choice, as text: it may exceed what a JSON number holds exactly.
 */
seed: string | null, 
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
 * Version of Cosmark that ran it.
 */
cosmark: string, 
/**
 * The program that made the run, where that was another.
 */
made_by: string | null, 
/**
 * Machine that wrote the archive.
 */
hostname: string, 
/**
 * Its processors.
 */
cpus: number, 
/**
 * Its kernel.
 */
kernel: string, 
/**
 * Which drivers it asked for and got, in words; null where the machine itself made the load.
 */
drivers: string | null, 
/**
 * Name of the run's directory.
 */
directory: string, };

export type VerdictData = { 
/**
 * `true`, `true_with_limits`, `not_proven` or `false`.
 */
overall: string, 
/**
 * The sentence that decided it.
 */
reason: string, 
/**
 * Check by check; empty when the run was not judged.
 */
checks: Array<CheckData>, };

export type CheckData = { 
/**
 * `V1` ..
 */
id: string, 
/**
 * Its name, blanks for underscores.
 */
name: string, 
/**
 * Stage it is about; null = the run.
 */
stage: string | null, 
/**
 * `pass`, `warn`, `fail` or `not_run`.
 */
status: string, 
/**
 * What was found.
 */
value: number | null, 
/**
 * What it was compared with.
 */
limit: number | null, 
/**
 * One sentence.
 */
message: string, };

export type StageData = { 
/**
 * `s<k>-<name>`.
 */
id: string, 
/**
 * Name as given.
 */
name: string, 
/**
 * `completed`, `failed`, ..
 */
state: string, 
/**
 * Why it did not complete.
 */
reason: string | null, 
/**
 * RFC 3339.
 */
started: string | null, 
/**
 * Seconds from start to end, pauses included.
 */
took_s: number | null, 
/**
 * Seconds of the longest measured window.
 */
window_s: number | null, 
/**
 * True for stages that only set up or clean up.
 */
setup: boolean, 
/**
 * `closed`, `paced`, `open` or `mixed`; null where the archive does not say.
 */
arrival: string | null, 
/**
 * Axis of the series; null when nothing was recorded over time.
 */
time: TimeAxis | null, 
/**
 * Phases of the load, in order.
 */
phases: Array<PhaseSpan>, 
/**
 * Its operations, in the order of the workload.
 */
operations: Array<OperationData>, 
/**
 * What response times went into; null where it is not known.
 */
spent: TimeSpent | null, 
/**
 * What each load-making machine was like.
 */
clients: Array<ClientData>, 
/**
 * What each of the store's machines was busy with.
 */
nodes: Array<NodeData>, 
/**
 * What the stage cost all of them.
 */
node_costs: Array<Fact>, 
/**
 * What they were busy with over time, by role.
 */
node_charts: Array<NodeChartData>, 
/**
 * When machines of the store did not answer.
 */
node_gaps: Array<NodeGap>, 
/**
 * What happened while it ran.
 */
events: Array<EventMark>, 
/**
 * What was made to fail, and what that cost.
 */
faults: Array<FaultData>, 
/**
 * How soon writes were seen beside the load; null where that was not asked.
 */
consistency: ConsistencyData | null, 
/**
 * How a pass over a data set went; null for other stages.
 */
fill: FillData | null, };

export type TimeAxis = { 
/**
 * Seconds per bin.
 */
bin_s: number, 
/**
 * Number of bins.
 */
bins: number, 
/**
 * End of the last bin in seconds.
 */
end_s: number, };

export type PhaseSpan = { 
/**
 * `rampup`, `window`, `rampdown` or `drain`.
 */
phase: string, 
/**
 * Start in seconds.
 */
from_s: number, 
/**
 * End in seconds.
 */
to_s: number, };

export type OperationData = { 
/**
 * Course of the counts; null when nothing was recorded over time.
 */
series: CountSeries | null, 
/**
 * Course of the times, by kind.
 */
latency: Array<LatencySeries>, 
/**
 * Distributions over the window, by kind.
 */
distributions: Array<Distribution>, 
/**
 * Response times over time.
 */
heat: HeatMap | null, 
/**
 * The same by size of the object, if there were several classes.
 */
size_classes: Array<GroupData>, 
/**
 * The same by endpoint, if there were several.
 */
endpoints: Array<GroupData>, 
/**
 * The same by driver, if there were several.
 */
drivers: Array<GroupData>, } & OperationResult;

export type GroupData = { 
/**
 * Its name.
 */
label: string, 
/**
 * Workers, of a driver.
 */
workers: number | null, 
/**
 * Successes per second of the operation's window.
 */
throughput_per_s: number | null, 
/**
 * Body bytes of successes per second of the operation's window.
 */
bandwidth_bytes_per_s: number | null, } & PartResult;

export type CountSeries = { 
/**
 * Successes.
 */
count: Array<number>, 
/**
 * Failures; null where the archive does not have them over time.
 */
failures: Array<number> | null, 
/**
 * Body bytes of successes.
 */
bytes: Array<number> | null, 
/**
 * Arrivals dropped.
 */
missed: Array<number> | null, 
/**
 * Arrivals that waited.
 */
delayed: Array<number> | null, 
/**
 * Mean number in flight.
 */
in_flight: Array<number> | null, 
/**
 * Failures by class.
 */
errors: { [key in string]: Array<number> }, 
/**
 * Successes by driver, if there were several.
 */
drivers: { [key in string]: Array<number> }, };

export type LatencySeries = { 
/**
 * `response`, `service` or `first_byte`.
 */
kind: string, 
/**
 * How many bins of the stage's axis make one of this series.
 */
every: number, 
/**
 * How many times lie in each bin.
 */
count: Array<number>, 
/**
 * Median in ms.
 */
p50: Array<number | null>, 
/**
 * 95th percentile in ms.
 */
p95: Array<number | null>, 
/**
 * 99th percentile in ms.
 */
p99: Array<number | null>, 
/**
 * Greatest in ms.
 */
max: Array<number | null>, };

export type Distribution = { 
/**
 * `response`, `service` or `first_byte`.
 */
kind: string, 
/**
 * How many times.
 */
count: number, 
/**
 * Place on the axis: log10(1 / (1 - quantile)); 1 is the 90th percentile, 2 the 99th. The last point is the greatest.
 */
nines: Array<number>, 
/**
 * Time in ms at each place.
 */
ms: Array<number>, 
/**
 * How many of the points have at least ten times beyond them; the others are uncertain.
 */
supported: number, };

export type HeatMap = { 
/**
 * How many bins of the stage's axis make one column.
 */
every: number, 
/**
 * Row r holds times from `10^((first_row + r) / rows_per_decade)` ns on.
 */
first_row: number, 
/**
 * Rows per factor of ten.
 */
rows_per_decade: number, 
/**
 * Number of rows.
 */
rows: number, 
/**
 * Filled cells, three numbers each: column, row, count.
 */
cells: Array<number>, };

export type ClientData = { 
/**
 * Name of the driver.
 */
driver: string, 
/**
 * Facts and figures, in the order in which they are shown.
 */
facts: Array<Fact>, 
/**
 * Course; null when the archive does not have it.
 */
series: ClientSeries | null, };

export type Fact = { 
/**
 * What it is.
 */
name: string, 
/**
 * Its value; null where the system does not tell.
 */
value: number | null, 
/**
 * `share`, `ms`, `ns`, `s`, `count`, `bytes_per_s` or `bits_per_s`.
 */
unit: string, };

export type ClientSeries = { 
/**
 * Busiest load thread, 0 to 1 of a processor.
 */
thread_busy_max: Array<number | null>, 
/**
 * Whole machine, 0 to 1.
 */
machine_busy: Array<number | null>, 
/**
 * Longest share of time that a load thread waited for a processor, 0 to 1.
 */
run_queue_wait_max: Array<number | null>, 
/**
 * Share of time that the hypervisor took, 0 to 1.
 */
steal: Array<number | null>, 
/**
 * Longest pause of the machine, in ms.
 */
pause_max_ms: Array<number | null>, 
/**
 * Segments sent again.
 */
tcp_retransmitted: Array<number | null>, 
/**
 * Bytes received per second.
 */
rx_bytes_per_s: Array<number | null>, 
/**
 * Bytes sent per second.
 */
tx_bytes_per_s: Array<number | null>, 
/**
 * Sockets in use.
 */
sockets: Array<number | null>, };

export type ClientNews = { 
/**
 * Name of the driver.
 */
driver: string, 
/**
 * The bins that are told.
 */
series: ClientSeries, };

export type SeriesNews = { 
/**
 * Id of the stage.
 */
stage: string, 
/**
 * The first bin that is told; 0 = all are.
 */
from: number, 
/**
 * Axis of the series.
 */
time: TimeAxis, 
/**
 * Phases of the load so far.
 */
phases: Array<PhaseSpan>, 
/**
 * Seconds of the measured window so far; null before it begins.
 */
window_s: number | null, 
/**
 * Drivers and endpoints that have no lines of their own because there are too many.
 */
left_out: number, 
/**
 * Its operations, in the order of the workload.
 */
operations: Array<OperationNews>, 
/**
 * The machines that make the load.
 */
clients: Array<ClientNews>, 
/**
 * The machines of the store, by role.
 */
node_charts: Array<NodeChartData>, 
/**
 * When they did not answer, all of them.
 */
node_gaps: Array<NodeGap>, };

export type OperationNews = { 
/**
 * Counts of the bins that are told.
 */
series: CountSeries, 
/**
 * Times of the points that are told, by kind.
 */
latency: Array<LatencyNews>, 
/**
 * Columns of the heat map that are told.
 */
heat: HeatNews | null, 
/**
 * The same by driver and endpoint, where there are several.
 */
parts: Array<PartNews>, } & OperationResult;

export type LatencyNews = { 
/**
 * Number of the first point.
 */
from: number, 
/**
 * `response`, `service` or `first_byte`.
 */
kind: string, 
/**
 * How many bins of the stage's axis make one of this series.
 */
every: number, 
/**
 * How many times lie in each bin.
 */
count: Array<number>, 
/**
 * Median in ms.
 */
p50: Array<number | null>, 
/**
 * 95th percentile in ms.
 */
p95: Array<number | null>, 
/**
 * 99th percentile in ms.
 */
p99: Array<number | null>, 
/**
 * Greatest in ms.
 */
max: Array<number | null>, };

export type HeatNews = { 
/**
 * Number of the first column.
 */
from: number, 
/**
 * How many bins of the stage's axis make one column.
 */
every: number, 
/**
 * Row r holds times from `10^((first_row + r) / rows_per_decade)` ns on.
 */
first_row: number, 
/**
 * Rows per factor of ten.
 */
rows_per_decade: number, 
/**
 * Number of rows.
 */
rows: number, 
/**
 * Filled cells, three numbers each: column, row, count.
 */
cells: Array<number>, };

export type PartNews = { 
/**
 * `driver` or `endpoint`.
 */
by: string, 
/**
 * Number of the first point.
 */
from: number, 
/**
 * How many bins of the stage's axis make a point.
 */
every: number, 
/**
 * Successes per point.
 */
series_count: Array<number>, 
/**
 * Body bytes of successes per point.
 */
series_bytes: Array<number>, 
/**
 * 99th percentile of the response time per point, in ms.
 */
p99: Array<number | null>, 
/**
 * Its name.
 */
label: string, 
/**
 * Workers, of a driver.
 */
workers: number | null, 
/**
 * Successes per second of the operation's window.
 */
throughput_per_s: number | null, 
/**
 * Body bytes of successes per second of the operation's window.
 */
bandwidth_bytes_per_s: number | null, } & PartResult;

export type NodeChartData = { 
/**
 * `processors-proxy`.
 */
id: string, 
/**
 * What the machines do for the store.
 */
role: string, 
/**
 * For people.
 */
title: string, 
/**
 * What one reads there.
 */
hint: string, 
/**
 * Of its values, as in [`super::Fact`]; `bytes`.
 */
unit: string, 
/**
 * Machines of which something is known.
 */
machines: number, 
/**
 * How many of these have lines: the busiest.
 */
drawn: number, 
/**
 * The first bin that is here.
 */
from: number, 
/**
 * The lines.
 */
lines: Array<NodeLine>, };

export type NodeLine = { 
/**
 * For people.
 */
name: string, 
/**
 * Number of its colour.
 */
colour: number, 
/**
 * Number of its kind of line.
 */
dash: number, 
/**
 * Mean of each bin; null where nothing was seen.
 */
values: Array<number | null>, };

export type NodeGap = { 
/**
 * Its name.
 */
node: string, 
/**
 * What it does for the store.
 */
role: string, 
/**
 * From then on, seconds since the load began.
 */
from_s: number, 
/**
 * Until then.
 */
to_s: number, 
/**
 * Why.
 */
why: string, };

export type EventMark = { 
/**
 * Seconds since the load began; below 0 before it.
 */
at_s: number, 
/**
 * `stage`, `driver`, `fault`, `command` or `note`.
 */
kind: string, 
/**
 * One sentence, or what was printed.
 */
text: string, };

export type FaultData = { 
/**
 * Apart from others of the page.
 */
id: string, 
/**
 * Its name.
 */
name: string, 
/**
 * How it was made.
 */
what: string, 
/**
 * `bed`, `command`, `signal`, `proxy` or `none`.
 */
kind: string, 
/**
 * Lower end of the band of the healthy rate.
 */
low_per_s: number | null, 
/**
 * Its upper end.
 */
high_per_s: number | null, 
/**
 * What a healthy second is worth.
 */
level_per_s: number | null, 
/**
 * Its slots.
 */
slots: Array<FaultSlotData>, 
/**
 * Its figures.
 */
figures: Array<FaultFigureData>, 
/**
 * What was seen without a fault, in words.
 */
quiet: string | null, 
/**
 * What its proxy added, in words.
 */
proxy: string | null, 
/**
 * What a reader should know.
 */
remarks: Array<string>, };

export type FaultSlotData = { 
/**
 * From 1.
 */
number: number, 
/**
 * Why it says nothing.
 */
void: string | null, 
/**
 * When the fault was asked for.
 */
from_s: number, 
/**
 * End.
 */
to_s: number, 
/**
 * What proved that it was there.
 */
proof: string | null, 
/**
 * Whether the rate fell.
 */
dip: boolean | null, 
/**
 * Where the course begins.
 */
course_from_s: number, 
/**
 * Seconds of each of its values.
 */
course_step_s: number, 
/**
 * Operations per second.
 */
course_per_s: Array<number>, 
/**
 * Its parts.
 */
parts: Array<FaultSlotPart>, 
/**
 * What happened in it.
 */
marks: Array<EventMark>, 
/**
 * Its values of the fault's figures, in their order.
 */
values: Array<number | null>, };

export type FaultSlotPart = { 
/**
 * `injection`, `detection`, `initiation`, `recovery` or `keep`.
 */
part: string, 
/**
 * Start.
 */
from_s: number, 
/**
 * End.
 */
to_s: number, };

export type ConsistencyData = { 
/**
 * Requests of the prober.
 */
requests: number, 
/**
 * Operations of the load in the same time.
 */
load_operations: number, 
/**
 * Writes and deletes that were acknowledged.
 */
changes: number, 
/**
 * Looks by class.
 */
classes: Array<ConsistencyClassData>, 
/**
 * What a reader should know.
 */
remarks: Array<string>, };

export type ConsistencyClassData = { 
/**
 * For people.
 */
title: string, 
/**
 * Who looked, where it is a part of the class before it.
 */
from: string | null, 
/**
 * Looks.
 */
looks: number, 
/**
 * Those that missed the change.
 */
stale: number, 
/**
 * Changes that were looked at; null of a part.
 */
changes: number | null, 
/**
 * Those that at least one look missed.
 */
missed_changes: number | null, 
/**
 * Upper end of the 95 % interval of their share.
 */
missed_at_most: number | null, 
/**
 * When the latest look that missed a change began, ms after the acknowledgement.
 */
longest_stale_ms: number | null, 
/**
 * From when on 90, 99 and 99.9 % of changes are missed by no look, ms, with 95 % confidence.
 */
visible_after_ms: Array<number | null>, 
/**
 * By time since the acknowledgement.
 */
points: Array<ConsistencyPointData>, };

export type ConsistencyPointData = { 
/**
 * Mean of the times since the acknowledgement, ms.
 */
mean_ms: number, 
/**
 * Looks.
 */
looks: number, 
/**
 * Share that missed the change.
 */
share: number, 
/**
 * Lower end of its 95 % interval.
 */
low: number, 
/**
 * Upper end.
 */
high: number, };

export type FaultFigureData = { 
/**
 * For people.
 */
title: string, 
/**
 * `s`, `ms`, `share`, `count` or `bytes`.
 */
unit: string, 
/**
 * Mean of the slots that have it.
 */
mean: number | null, 
/**
 * Lower end of its interval.
 */
low: number | null, 
/**
 * Upper end.
 */
high: number | null, 
/**
 * Why there is none.
 */
reason: string | null, };

export type FillData = { 
/**
 * Name of the data set.
 */
dataset: string, 
/**
 * Objects of the pass.
 */
objects: number, 
/**
 * Of them, those that were done before this run.
 */
before: number, 
/**
 * Of them, those that are done now.
 */
done: number, 
/**
 * The rate over the objects that were done, in order.
 */
curve: Array<FillPointData>, 
/**
 * The rate by how full the store was, 0 to 1, by that; empty where nobody said it.
 */
over_full: Array<[number, number]>, };

export type FillPointData = { 
/**
 * Objects that were done in its middle.
 */
objects: number, 
/**
 * Seconds since the load began, at its end.
 */
at_s: number, 
/**
 * Successes per second in it.
 */
per_s: number, 
/**
 * Their body bytes per second.
 */
bytes_per_s: number, };

export type NodeData = { 
/**
 * Its name.
 */
name: string, 
/**
 * What it does for the store.
 */
role: string, 
/**
 * Who gave its figures.
 */
source: string, 
/**
 * The busiest unit of each kind, the busiest first.
 */
busiest: Array<NodeUnit>, 
/**
 * Bytes per second received by the interface that received most; null where nothing is known.
 */
received_bytes_per_s: number | null, 
/**
 * The same of sent bytes.
 */
sent_bytes_per_s: number | null, 
/**
 * What makes its figures doubtful, and parts that are much busier than others like them: sentences.
 */
remarks: Array<string>, };

export type NodeUnit = { 
/**
 * For people: `processor`, `disk`.
 */
kind: string, 
/**
 * Its name on the machine.
 */
name: string, 
/**
 * Share of the window, 0 to 1.
 */
busy: number, 
/**
 * The same between the two readings where it was highest.
 */
highest_busy: number, 
/**
 * How many waited for it; null where that was not counted.
 */
queue: number | null, 
/**
 * Share of the time in which something waited; null where that was not measured.
 */
waiting: number | null, };

export type ThresholdData = { 
/**
 * Id of its stage.
 */
stage: string, 
/**
 * The operation; null = all together.
 */
operation: string | null, 
/**
 * As written.
 */
threshold: string, 
/**
 * `met`, `missed`, `not decided` or `not proven`.
 */
status: string, 
/**
 * One sentence.
 */
message: string, };

export type SearchData = { 
/**
 * Name of its stage in the workload.
 */
name: string, 
/**
 * `rate` or `workers`.
 */
over: string, 
/**
 * What every trial had to meet.
 */
thresholds: Array<string>, 
/**
 * The answer in one sentence.
 */
answer: string, 
/**
 * The highest load that met them; null = none did.
 */
best: number | null, 
/**
 * The lowest load above it that missed; null = none did.
 */
missed_at: number | null, 
/**
 * What a reader should know.
 */
notes: Array<string>, 
/**
 * Trials in their order.
 */
trials: Array<TrialData>, 
/**
 * The scalability law fitted to them; null where there is none.
 */
law: LawData | null, };

export type TrialData = { 
/**
 * Id of its stage.
 */
stage: string, 
/**
 * Operations per second asked for, or workers.
 */
load: number, 
/**
 * What it was for: `step`, `halve`, `confirm`, ..
 */
purpose: string, 
/**
 * Successes per second.
 */
throughput_per_s: number | null, 
/**
 * Mean response time.
 */
mean_ms: number | null, 
/**
 * 95th percentile of the response time.
 */
p95_ms: number | null, 
/**
 * Failures of all that ended, 0 to 1.
 */
error_ratio: number | null, 
/**
 * `met`, `missed`, `not decided` or `not proven`.
 */
status: string, 
/**
 * Why it did not pass.
 */
reason: string | null, };

export type LawData = { 
/**
 * Operations per second of one worker, and what the others are.
 */
parts: Array<LawPart>, 
/**
 * Workers and the throughput that the law gives them.
 */
curve: Array<[number, number]>, 
/**
 * The largest distance of a trial from it, relative.
 */
largest_residual: number, 
/**
 * Trials that it was fitted to.
 */
points: number, };

export type LawPart = { 
/**
 * What it is.
 */
name: string, 
/**
 * Its value.
 */
value: number, 
/**
 * Lower end of its interval.
 */
low: number, 
/**
 * Upper end.
 */
high: number, };

export type LadderData = { 
/**
 * `named`, `several`, `client`, ..
 */
answer: string, 
/**
 * `high`, `medium` or `low`; null unless something is named.
 */
confidence: string | null, 
/**
 * The answer in words.
 */
text: string, 
/**
 * What would be full next.
 */
second: string | null, 
/**
 * What would prove it wrong.
 */
refute: string | null, 
/**
 * Units that are much busier than others like them.
 */
skewed: Array<string>, 
/**
 * Operations per second where more load added nothing.
 */
plateau_per_s: number | null, 
/**
 * The steps by rising load.
 */
steps: Array<LadderStep>, 
/**
 * Units of the store's machines, the lowest ceiling first.
 */
candidates: Array<LadderUnit>, };

export type LadderStep = { 
/**
 * Id of its stage.
 */
stage: string, 
/**
 * Name of its stage.
 */
name: string, 
/**
 * Operations under way on average.
 */
in_flight: number, 
/**
 * Operations per second.
 */
throughput_per_s: number, 
/**
 * Mean service time in ms.
 */
service_ms: number, };

export type LadderUnit = { 
/**
 * For people.
 */
name: string, 
/**
 * It is what limits the store, or a part of it.
 */
named: boolean, 
/**
 * What an operation costs it, in ms.
 */
demand_ms: number, 
/**
 * Operations per second at which it has no time left; null where an operation does not need it.
 */
ceiling_per_s: number | null, 
/**
 * Lower end of the 95 % interval of that.
 */
ceiling_low_per_s: number | null, 
/**
 * Upper end.
 */
ceiling_high_per_s: number | null, 
/**
 * Share of the time in which it was busy at each step; null where that was not measured.
 */
busy: Array<number | null>, 
/**
 * Why it is not the limit.
 */
against: Array<string>, };

export type RawShare = { 
/**
 * Id of the stage.
 */
stage: string, 
/**
 * Its name.
 */
name: string, 
/**
 * `read` or `write`.
 */
direction: string, 
/**
 * Of what, for people: `disks`, `disk requests`, `network`.
 */
of: string, 
/**
 * Unit of both rates, as in [`super::Fact`].
 */
unit: string, 
/**
 * What users got per second.
 */
user_per_s: number, 
/**
 * What the machines can do per second.
 */
raw_per_s: number, 
/**
 * The one over the other, 0 to 1; more where what was read came out of memory.
 */
share: number, };

export type TimeSpent = { 
/**
 * The parts in which some operation spent time, in the order in which it goes through them.
 */
parts: Array<TimePartData>, 
/**
 * Operations, each as a whole and by size where there are several classes.
 */
rows: Array<TimeRow>, 
/**
 * What the store's own servers say of the same operations.
 */
servers: Array<ServerTimeData>, 
/**
 * What a reader has to know, one sentence each.
 */
remarks: Array<string>, };

export type TimePartData = { 
/**
 * `wait`, `connect`, `tls`, `send`, `first_byte`, `body`, `several` or `rest`.
 */
id: string, 
/**
 * For people.
 */
title: string, 
/**
 * What it is.
 */
help: string, 
/**
 * Number of its colour.
 */
colour: number, };

export type TimeRow = { 
/**
 * Its operation.
 */
operation: string, 
/**
 * Its class of sizes; null = all of the operation.
 */
size: string | null, 
/**
 * Successes.
 */
count: number, 
/**
 * Mean response time in ms: the length of the bar.
 */
mean_ms: number, 
/**
 * Each part in ms, in the order of `parts`; null where it is not known.
 */
ms: Array<number | null>, 
/**
 * What the client itself added, in ms; null where it is not known.
 */
client_added_ms: number | null, };

export type ServerTimeData = { 
/**
 * What the operations' samples are called: `read`.
 */
sample: string, 
/**
 * Which server.
 */
server: string, 
/**
 * What its time is of.
 */
of: string, 
/**
 * The way by which it was read.
 */
source: string, 
/**
 * Mean in ms.
 */
mean_ms: number, 
/**
 * Its requests per second, all machines together.
 */
requests_per_s: number, 
/**
 * Operations per second that the clients measured of this kind.
 */
measured_per_s: number, };
