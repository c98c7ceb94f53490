// A controller that is not one: the console's REST and events with scripted drivers and runs, in simulated time.
//   node e2e/mock.mjs [PORT]          serves console/dist/console too; token: operate (or view)
// As a module: `startMock({ speed, drivers, manual })`. Speed: simulated seconds per second; manual: time goes by `step` alone.
import { createServer } from "node:http";
import { existsSync, readFileSync } from "node:fs";
import { extname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { studyRoutes } from "./studies.mjs";

const DIST = fileURLToPath(new URL("../dist/console", import.meta.url));
const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };
const STAGES = [["init", 4], ["prepare", 12], ["main", 60], ["cleanup", 8], ["dispose", 4]];
const HEAT_FROM = 20;
/** Bins of a stage's axis, as in the report of two operations. */
const BINS = 600;
const HEAT_COLUMNS = 160;
const ROWS_PER_DECADE = 16;
const FIRST_ROW = 80;
/** Points of single drivers are fewer. */
const PART_EVERY = 4;

/** Numbers that look random and are the same every time. */
function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

export async function startMock({ port = 0, speed = 1, drivers = 3, mainS = 60, intervalS = 1, schema = "{}", queued = 3, ended = 14, autoStart = true, manual = false } = {}) {
  const epoch = Date.now();
  let stepped = 0;
  const simulated = () => (manual ? epoch + stepped : epoch + (Date.now() - epoch) * speed);
  const stamp = (ms = simulated()) => new Date(ms).toISOString();
  const sessions = new Map();
  const secrets = new Set(["s3-prod", "swift-lab"]);
  const runs = new Map();
  const systemClients = new Set();
  let number = 0;
  let eventId = 0;
  let isCut = false;

  const driverNames = Array.from({ length: drivers }, (_, at) => `driver-${at + 1}`);
  const fleet = new Map(driverNames.map((name, at) => [name, {
    name, labels: [["zone", "abc"[at % 3]]], version: "0.1.0", message_version: 1, host: `node${at + 1}.lab`, cores: 16, memory_bytes: 64 * 2 ** 30,
    nics: [{ name: "eth0", addresses: [`10.0.0.${at + 1}`], speed_bits_per_s: 25e9 }], adaptors: ["s3", "swift", "rados"], ceiling_ops_per_s: 412_000 + 9000 * at,
    state: "idle", trouble: null, run: null, load: 0.02, clock_offset_ns: 12_300 * (at - 1), clock_error_ns: 41_000, last_seen: stamp(),
    doing: [], forged: 0, key: null,
  }]));
  const doing = (run) => ({ run, ordered: true, requests_per_s: 5000, lease: "makes", lease_age_s: 0.6, stores: ["store.lab:80"] });
  if (drivers > 1) Object.assign(fleet.get("driver-2"), { state: "busy", doing: [{ ...doing("r7f3"), ordered: false, requests_per_s: 240 }] });
  if (drivers > 2) Object.assign(fleet.get("driver-3"), { state: "lost", trouble: "Not heard of for 42 s; look whether it runs and reaches NATS.", load: null, last_seen: stamp(epoch - 42_000) });

  const status = () => ({
    controller: "lab-1", version: "0.1.0", api_version: 1, leader: "lab-1", controllers: ["lab-1", "lab-2"], nats_connected: true, nats: "nats://127.0.0.1:4222",
    now: stamp(), drivers_alive: [...fleet.values()].filter((one) => ["idle", "busy", "drained"].includes(one.state)).length,
    queued: waiting().length, running: running().map((run) => run.summary.id), concurrency: 1,
    join: "cosmark driver --join nats://127.0.0.1:4222 --nats-nkey-file driver.nkey --trust UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4",
  });
  const isOver = (run) => ["finished", "failed", "terminated", "cancelled"].includes(run.summary.state);
  const waiting = () => [...runs.values()].filter((run) => run.summary.state === "queuing").sort((a, b) => b.summary.priority - a.summary.priority || a.order - b.order);
  const running = () => [...runs.values()].filter((run) => run.summary.state === "processing");
  const active = () => {
    waiting().forEach((run, at) => (run.summary.position = at));
    return [...running(), ...waiting()].map((run) => run.summary);
  };

  function write(client, name, data, id) {
    client.write(`${id === undefined ? "" : `id: ${id}\n`}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
  }
  function tell(name, data) {
    eventId += 1;
    for (const client of systemClients) write(client, name, data, eventId);
  }

  function make(name, more = {}) {
    number += 1;
    const id = `w${number}`;
    const run = {
      order: number, clients: new Set(), news: [], random: random(number * 7919), timer: null, at: null, bins: [], source: more.source ?? "name: mixed\nstages: []\n",
      summary: {
        id, name, state: "queuing", reason: null, waits_for: null, class: null, lost: [], submitted: stamp(), started: null, ended: null, priority: 0, position: null, stage: null, stages_done: 0, stages: STAGES.length,
        progress: null, remaining_s: null, left_s: null, left_open: 0, target: `s3 10.0.0.${1 + (number % 3)}`, throughput_per_s: more.summary?.ended ? 5200 - ((number * 37) % 400) : null, p99_ms: more.summary?.ended ? 15.5 + (number % 7) : null, p99_is_least: false, verdict: null, verdict_reason: null, operations: ["read", "write"], tags: [], baseline: false, submitted_by: "laptop", drivers: [], ...more.summary,
      },
    };
    runs.set(id, run);
    return run;
  }

  function say(run, name, data) {
    const id = run.news.length + 1;
    run.news.push([name, data]);
    for (const client of run.clients) write(client, name, data, id);
    if (name === "end") for (const client of run.clients) client.end();
  }
  function change(run, more) {
    Object.assign(run.summary, more);
    say(run, "run", { ...run.summary });
    tell("run", { ...run.summary });
  }
  const log = (run, level, from, text) => say(run, "log", { at: stamp(), level, from, text });

  function row(run, operation, driver, t, length, phase) {
    const share = driver === null ? 1 : 1 / driverNames.length;
    const wave = 1 + 0.25 * Math.sin(t / 9) + (run.random() - 0.5) * 0.12;
    const dip = t % 120 > 70 && t % 120 < 78 ? 0.35 : 1;
    const rate = (operation === "read" ? 4200 : 1050) * wave * dip * share;
    const count = Math.round(rate * length);
    const p50 = ((operation === "read" ? 3.1 : 8.4) / dip) * (1 + (run.random() - 0.5) * 0.1);
    const failures = t % 120 > 70 && t % 120 < 78 ? Math.round(count * 0.03) : 0;
    const heat = [];
    for (let i = 0; i < 26; i += 1) {
      const middle = Math.log2(p50 * 1000) * 4;
      const n = Math.round(count * Math.exp(-(((HEAT_FROM + i * 2 - middle) / 6) ** 2)) * 0.19);
      if (n > 0) heat.push([HEAT_FROM + i * 2, n]);
    }
    return {
      work: "main", operation, driver, endpoint: null, phase, count, failures, missed: operation === "read" && dip < 1 ? Math.round(40 * share) : 0, bytes: count * 65_536,
      in_flight: (operation === "read" ? 14 : 9) * share, response_ms: [p50 * 1.2, p50, p50 * 2, p50 * 2.6, p50 * 5, p50 * 11, p50 * 20],
      errors: failures ? [["http_503", Math.ceil(failures * 0.7)], ["timeout", Math.floor(failures * 0.3)]] : [], heat,
    };
  }

  /**
   * The course of a running stage from bin `from` on. Times are made up as those of the rows are: what is given for a bin is
   * that of its first interval.
   */
  function seriesOf(run, from) {
    const { lines, phases, id, every, endS, windowS } = run.course;
    const bins = Math.ceil(phases.length / every);
    const group = (line, at, many = every) => line.rows.slice(at * many, (at + 1) * many);
    const sum = (list, key) => list.reduce((all, one) => all + one[key], 0);
    const range = (first, end, make) => Array.from({ length: Math.max(0, end - first) }, (_, at) => make(first + at));
    const totalsOf = ({ window }) => {
      const { count, failures, bytes, missed, times } = window;
      const [mean, p50, p90, p95, p99, p99_9, max] = times ?? Array(7).fill(null);
      return {
        count, failures, bytes, missed, partial_bytes: 0, throughput_per_s: windowS ? count / windowS : null, bandwidth_bytes_per_s: windowS ? bytes / windowS : null,
        response_ms: times ? { count, mean, min: 0.4, p50, p90, p95, p99, p99_9, p99_99: null, max, withheld: null } : null, service_ms: null, first_byte_ms: null,
      };
    };
    const column = Math.ceil(bins / HEAT_COLUMNS);
    const fromColumn = Math.floor(from / column);
    const fromPart = Math.floor(from / PART_EVERY);
    const rowOf = (index) => Math.floor(Math.log10(2 ** (index / 4) * 1000) * ROWS_PER_DECADE) - FIRST_ROW;
    const parts = [...lines.values()].filter((line) => line.driver !== null);
    return {
      stage: id, from, time: { bin_s: intervalS * every, bins, end_s: endS }, window_s: windowS || null, left_out: 0,
      clients: driverNames.slice(0, 2).map((driver, n) => {
        const wave = (least, most) => range(from, bins, (at) => least + (most - least) * (0.5 + 0.5 * Math.sin(at / 7 + n)));
        const none = range(from, bins, () => 0);
        return {
          driver,
          series: {
            thread_busy_max: wave(0.3, 0.8), machine_busy: wave(0.2, 0.6), run_queue_wait_max: wave(0, 0.05), steal: none, pause_max_ms: wave(0.2, 4),
            tcp_retransmitted: none, rx_bytes_per_s: wave(1e6, 9e6), tx_bytes_per_s: wave(1e5, 9e5), sockets: wave(8, 8),
          },
        };
      }),
      node_charts: [["processors", "Processors", "share", 0.3, 0.9], ["disk-bytes", "Bytes of a disk", "bytes_per_s", 1e6, 9e7]].map(([chart, title, unit, least, most]) => ({
        id: `${chart}-storage`, role: "storage", title, hint: "Of two machines.", unit, machines: 2, drawn: 2, from,
        lines: ["storage1", "storage2"].map((name, n) => ({
          name, colour: n, dash: 0,
          // The second one does not answer for a while.
          values: range(from, bins, (at) => (n === 1 && at >= 10 && at < 20 ? null : least + (most - least) * (0.5 + 0.5 * Math.sin(at / 9 + n)))),
        })),
      })),
      node_gaps: bins > 10 ? [{ node: "storage2", role: "storage", from_s: 10 * intervalS * every, to_s: Math.min(endS, 20 * intervalS * every), why: "http://storage2:9100/metrics: connection refused" }] : [],
      phases: ["rampup", "window"].filter((phase) => phases.includes(phase)).map((phase) => ({ phase, from_s: phases.indexOf(phase) * intervalS, to_s: (phases.lastIndexOf(phase) + 1) * intervalS })),
      operations: [...lines.values()].filter((line) => line.driver === null).map((line) => {
        const sums = (key) => range(from, bins, (at) => sum(group(line, at), key));
        const times = (i) => range(from, bins, (at) => group(line, at)[0].response_ms[i]);
        const errorsOf = (label) => range(from, bins, (at) => group(line, at).flatMap((one) => one.errors).filter(([known]) => known === label).reduce((n, [, count]) => n + count, 0));
        return {
          work: "main", name: line.name, op: line.name, sample: line.name, ...totalsOf(line),
          series: {
            count: sums("count"), failures: sums("failures"), bytes: sums("bytes"), missed: sums("missed"), delayed: range(from, bins, () => 0),
            in_flight: range(from, bins, (at) => sum(group(line, at), "in_flight") / group(line, at).length),
            errors: Object.fromEntries([...line.labels].map((label) => [label, errorsOf(label)])), drivers: {},
          },
          latency: [{ from, kind: "response", every: 1, count: sums("count"), p50: times(1), p95: times(3), p99: times(4), max: times(6) }],
          heat: {
            from: fromColumn, every: column, first_row: FIRST_ROW, rows_per_decade: ROWS_PER_DECADE, rows: 60,
            cells: range(fromColumn, Math.ceil(bins / column), (at) => {
              const counts = new Map();
              for (const [index, n] of group(line, at, every * column).flatMap((one) => one.heat)) counts.set(rowOf(index), (counts.get(rowOf(index)) ?? 0) + n);
              return [...counts].sort((a, b) => a[0] - b[0]).flatMap(([place, n]) => [at, place, n]);
            }).flat(),
          },
          parts: parts.filter((part) => part.name === line.name).map((part) => {
            const points = (make) => range(fromPart, Math.ceil(bins / PART_EVERY), (at) => make(group(part, at, every * PART_EVERY)));
            return {
              by: "driver", label: part.driver, workers: null, ...totalsOf(part), from: fromPart, every: PART_EVERY,
              series_count: points((list) => sum(list, "count")), series_bytes: points((list) => sum(list, "bytes")), p99: points((list) => list[0].response_ms[4]),
            };
          }),
        };
      }),
    };
  }
  /** Adds an interval to the course, and tells who watches what changed. */
  function course(run, id, rows, endS) {
    if (run.course?.id !== id) run.course = { id, lines: new Map(), phases: [], every: 1, endS: 0, windowS: 0 };
    const own = run.course;
    const phase = rows[0].phase;
    own.phases.push(phase);
    own.endS = endS;
    if (phase === "window") own.windowS += intervalS;
    for (const row of rows) {
      const key = `${row.operation} ${row.driver}`;
      if (!own.lines.has(key)) own.lines.set(key, { name: row.operation, driver: row.driver, rows: [], labels: new Set(), window: { count: 0, failures: 0, bytes: 0, missed: 0, times: null } });
      const line = own.lines.get(key);
      line.rows.push(row);
      row.errors.forEach(([label]) => line.labels.add(label));
      if (phase !== "window") continue;
      for (const sum of ["count", "failures", "bytes", "missed"]) line.window[sum] += row[sum];
      line.window.times ??= row.response_ms;
    }
    const coarser = own.phases.length > BINS * own.every;
    if (coarser) own.every *= 2;
    const news = seriesOf(run, coarser ? 0 : Math.max(0, Math.ceil(own.phases.length / own.every) - 2));
    for (const client of run.clients) write(client, "series", news);
  }

  function begin(run) {
    const stages = STAGES.map(([name, seconds], index) => ({ id: `s${index + 1}-${name}`, index, state: "waiting", load_started: null, planned_s: name === "main" ? mainS : seconds, reason: null }));
    run.stages = stages;
    run.at = { stage: -1, t: 0 };
    for (const stage of stages) say(run, "stage", { ...stage });
    change(run, { state: "processing", started: stamp(), position: null, drivers: driverNames.filter((name) => fleet.get(name).state !== "lost") });
    log(run, "INFO", "controller", `${run.summary.id} begins with seed 42`);
    for (const name of run.summary.drivers) { Object.assign(fleet.get(name), { state: "busy", run: run.summary.id, doing: [doing(run.summary.id)] }); tell("driver", fleet.get(name)); }
    nextStage(run);
    if (!manual) run.timer = setInterval(() => advance(run), (intervalS * 1000) / speed);
  }
  function nextStage(run) {
    const before = run.stages[run.at.stage];
    if (before) { before.state = "completed"; say(run, "stage", { ...before }); }
    run.at = { stage: run.at.stage + 1, t: 0 };
    const stage = run.stages[run.at.stage];
    if (!stage) return finish(run, "finished", null);
    Object.assign(stage, { state: "running", load_started: stamp() });
    say(run, "stage", { ...stage });
    log(run, "INFO", stage.id, `${stage.id} begins`);
    change(run, { stage: stage.id, stages_done: run.at.stage, progress: 0, remaining_s: stage.planned_s, left_s: leftOf(run, stage.planned_s) });
  }
  const leftOf = (run, own) => own + run.stages.slice(run.at.stage + 1).reduce((sum, stage) => sum + stage.planned_s, 0);
  function advance(run) {
    const stage = run.stages[run.at.stage];
    const from = run.at.t;
    run.at.t += intervalS;
    const main = stage.id.endsWith("main");
    const phase = main && from < stage.planned_s * 0.1 ? "rampup" : "window";
    const operations = main ? ["read", "write"] : ["write"];
    const parts = driverNames.length > 1 ? [null, ...driverNames] : [null];
    const rows = parts.flatMap((driver) => operations.map((operation) => row(run, operation, driver, from, intervalS, phase)));
    if (main) run.bins.push(rows.filter((one) => one.driver === null));
    say(run, "interval", { stage: stage.id, start_s: from, end_s: run.at.t, rows });
    course(run, stage.id, rows, run.at.t);
    if (main && Math.round(from) % 10 === 0) {
      say(run, "verdict", {
        overall: from < 20 ? "not_proven" : "true_with_limits", reason: from < 20 ? "The window is still too short to say." : "The clock of driver-2 is only known to 41 µs.",
        findings: from < 20 ? [["V5", stage.id, "not_run", "Steady state needs 30 s of window."]] : [["V15", stage.id, "warn", "The clock of driver-2 is only known to 41 µs."]],
      });
      log(run, from > 70 && from < 80 ? "WARN" : "INFO", "driver-1", from > 70 && from < 80 ? "the store answered 503 to 126 requests" : `${rows[0].count} operations in the last interval`);
    }
    if (run.at.t >= stage.planned_s) return nextStage(run);
    if (Math.round(from) % 2 === 0) change(run, { progress: run.at.t / stage.planned_s, remaining_s: stage.planned_s - run.at.t, left_s: leftOf(run, stage.planned_s - run.at.t), ...(main && from > 20 ? { verdict: "true_with_limits", verdict_reason: "The clock of driver-2 is only known to 41 µs." } : {}) });
    return undefined;
  }
  function finish(run, state, reason) {
    clearInterval(run.timer);
    for (const name of run.summary.drivers) { Object.assign(fleet.get(name), { state: "idle", run: null, load: 0.02, doing: [] }); tell("driver", fleet.get(name)); }
    log(run, "INFO", "controller", `${run.summary.id} is ${state}`);
    const good = state === "finished";
    change(run, {
      state, reason, ended: stamp(), stage: null, progress: null, remaining_s: null, left_s: null, stages_done: good ? STAGES.length : run.summary.stages_done,
      verdict: good ? "true_with_limits" : "not_proven", verdict_reason: good ? "The clock of driver-2 is only known to 41 µs." : "The run did not finish.",
    });
    say(run, "end", { state });
    if (autoStart) startNext();
  }
  function startNext() {
    const [next] = waiting();
    if (!next || running().length) return;
    begin(next);
    active().forEach((summary) => tell("run", summary));
  }

  /** What the report shows of a run, from the intervals that it had. */
  function reportOf(run) {
    if (!run.bins.length && isOver(run)) for (let t = 0; t < mainS; t += 1) run.bins.push(["read", "write"].map((operation) => row(run, operation, null, t, 1, t < mainS * 0.1 ? "rampup" : "window")));
    const bins = run.bins.length;
    const times = (list, count) => {
      const of = (i) => list.reduce((sum, one) => sum + one.response_ms[i], 0) / Math.max(1, list.length);
      return { count, mean: of(0), min: 0.4, p50: of(1), p90: of(2), p95: of(3), p99: of(4), p99_9: of(5), p99_99: null, max: of(6), withheld: "p99_99 needs 100000 operations" };
    };
    const operations = ["read", "write"].map((name, at) => {
      const list = run.bins.map((rows) => rows[at]).filter(Boolean);
      const sum = (key) => list.reduce((total, one) => total + one[key], 0);
      const [count, bytes] = [sum("count"), sum("bytes")];
      const totals = { count, failures: sum("failures"), bytes, partial_bytes: 0, throughput_per_s: count / Math.max(1, bins), bandwidth_bytes_per_s: bytes / Math.max(1, bins), response_ms: times(list, count), service_ms: times(list, count), first_byte_ms: times(list, count) };
      const errors = {};
      list.forEach((one, bin) => one.errors.forEach(([label, n]) => ((errors[label] ??= new Array(bins).fill(0))[bin] += n)));
      return {
        work: "main", name, op: name, sample: name, tag: `s3-main.${name}`, workers: 32, missed: sum("missed"), delayed: 0, unfinished: 0, intended: null, checked: 0, in_flight_mean: 11, window_s: bins,
        failed_service_ms: null, connect_ms: null, lag_ms: null, unfinished_age_ms: null, errors: Object.fromEntries(Object.entries(errors).map(([label, counts]) => [label, counts.reduce((a, b) => a + b, 0)])),
        error_codes: {}, error_examples: [], requests: count, retries: 0, connections: 32, renewals: 0, accepted_only: 0, ...totals,
        series: { count: list.map((one) => one.count), failures: list.map((one) => one.failures), bytes: list.map((one) => one.bytes), missed: list.map((one) => one.missed), delayed: list.map(() => 0), in_flight: list.map((one) => one.in_flight), errors, drivers: {} },
        latency: [{ kind: "response", every: 1, count: list.map((one) => one.count), p50: list.map((one) => one.response_ms[1]), p95: list.map((one) => one.response_ms[3]), p99: list.map((one) => one.response_ms[4]), max: list.map((one) => one.response_ms[6]) }],
        distributions: [{ kind: "response", count, nines: [0, 0.3, 1, 1.3, 2, 3, 4], ms: [0.4, ...[1, 2, 3, 4, 5].map((i) => times(list, count)[["", "p50", "p90", "p95", "p99", "p99_9"][i]]), times(list, count).max].map((ms) => ms * (1 + run.order / 40)), supported: 6 }],
        heat: { every: 1, first_row: 48, rows_per_decade: 8, rows: 24, cells: list.flatMap((one, bin) => one.heat.flatMap(([index, n]) => { const r = Math.floor((Math.log10(2 ** (index / 4)) + 3) * 8) - 48; return r >= 0 && r < 24 ? [bin, r, n] : []; })) },
        size_classes: [], endpoints: [], drivers: driverNames.slice(0, 2).map((label) => ({ label, workers: 16, ...totals, count: Math.round(count / 2) })),
      };
    });
    const plain = (name, index) => ({ id: `s${index + 1}-${name}`, name, state: "completed", reason: null, started: run.summary.started, took_s: STAGES[index][1], window_s: null, setup: true, arrival: null, time: null, phases: [], operations: [], clients: [], nodes: [], node_costs: [], node_charts: [], node_gaps: [], events: [], faults: [], spent: null });
    const stages = STAGES.map(([name], index) => name !== "main" ? plain(name, index) : {
      ...plain(name, index), setup: false, window_s: bins, took_s: bins, arrival: "closed", time: bins ? { bin_s: 1, bins, end_s: bins } : null,
      phases: [{ phase: "rampup", from_s: 0, to_s: bins * 0.1 }, { phase: "window", from_s: bins * 0.1, to_s: bins }], operations: bins ? operations : [],
    });
    return {
      format: 1, made_by: "0.1.0", run: { id: run.summary.id, name: run.summary.name, description: "80 % reads, 20 % writes", state: run.summary.state, reason: run.summary.reason, seed: "42", submitted: run.summary.submitted, started: run.summary.started, ended: run.summary.ended, cosmark: "0.1.0", hostname: "lab-1", cpus: 16, kernel: "6.12", drivers: null, directory: `${run.summary.id}-${run.summary.name}` },
      verdict: { overall: run.summary.verdict ?? "not_proven", reason: run.summary.verdict_reason ?? "The run goes on.", checks: [
        { id: "V1", name: "littles law", stage: "s3-main", status: "pass", value: 0.998, limit: 0.02, message: "Operations in flight are rate times response time." },
        { id: "V15", name: "clocks", stage: "s3-main", status: "warn", value: 41, limit: 20, message: "The clock of driver-2 is only known to 41 µs." },
      ] },
      stages, thresholds: [], searches: [], ladders: [], raw_shares: [], raw_limits: null, workload: run.source, notes: [],
    };
  }

  function compareOf(ids) {
    const [first, ...others] = ids;
    const metrics = [["throughput", "op/s", 5200], ["mean", "ms", 3.9], ["p50", "ms", 3.1], ["p95", "ms", 8], ["p99", "ms", 15.5], ["errors", "share", 0.002]];
    return {
      confidence: 0.95, tests: metrics.length, least: 0.01, effect: 0.05, sentence: "2 worse, 1 better of 12 tested; differences above 1.2 % would have been seen",
      pairs: others.map((other, o) => ({
        a: first, b: other, warnings: o ? ["The runs were made by different hosts."] : [],
        rows: ["main read", "main write"].flatMap((operation, p) => metrics.map(([metric, unit, a], m) => {
          const ratio = 1 + ((m * 7 + p * 3 + o * 5) % 9 - 4) / 100;
          const outcome = ["no_difference_shown", "worse", "better", "no_difference_shown", "too_short", "not_tested"][(m + p + o) % 6];
          return { stage: "main", operation, metric, unit, a, b: a * ratio, ratio, low: ratio - 0.012, high: ratio + 0.012, p: 0.03, delta: null, detectable: 0.012, recommended_s: null, outcome, note: outcome === "not_tested" ? "no failures in either" : null, fails: false };
        })),
      })),
    };
  }
  const matrix = () => [...runs.values()].filter(isOver).flatMap((run) => ["read", "write"].map((operation, at) => ({
    run: run.summary.id, name: run.summary.name, state: run.summary.state, started: run.summary.started, verdict: run.summary.verdict, tags: run.summary.tags, baseline: run.summary.baseline,
    stage: "s3-main", stage_name: "main", stage_state: "completed", work: "main", operation, op: operation, workers: 2 ** (run.order % 6), window_s: 60, count: 250_000, failures: run.order % 4, missed: 0, bytes: 16e9,
    throughput_per_s: (at ? 1050 : 4200) * (1 - Math.exp(-(2 ** (run.order % 6)) / 8)), bandwidth_bytes_per_s: 2.7e8 / (at + 1), error_rate: run.order % 4 / 250_000,
    response_ms: { mean: 3.9 + at, min: 0.4, p50: 3.1 + at + (run.order % 6) / 3, p60: 3.4, p80: 5, p90: 6, p95: 8, p99: 15.5 + run.order / 5, p99_9: 34, p99_99: null, max: 61 },
    service_ms: { mean: 3.9, p50: 3.1, p95: 8, p99: 15.5 }, first_byte_ms: { mean: 1.9, p50: 1.1, p95: 4, p99: 9.5 },
  })));
  const adaptors = [
    { kind: "storage", name: "s3", aliases: ["s3v4", "ecs"], summary: "Amazon S3 and compatible stores", capability: ["store", "containers", "head", "list", "ranges", "multipart"], keys: [
      { name: "endpoint", default: "http://s3.amazonaws.com", required: true, secret: false, summary: "address of the store with http:// or https://" },
      { name: "accesskey", default: "", required: false, secret: false, summary: "access key id" },
      { name: "secretkey", default: "", required: false, secret: true, summary: "secret access key" },
      { name: "path_style_access", default: "false", required: false, secret: false, summary: "put the bucket into the path" }] },
    { kind: "storage", name: "mock", aliases: [], summary: "no store: a fixed delay", capability: ["store"], keys: [{ name: "delay", default: "10", required: false, secret: false, summary: "time an operation takes" }] },
    { kind: "auth", name: "keystone", aliases: ["v3"], summary: "OpenStack Identity", capability: [], keys: [
      { name: "auth_url", default: "", required: true, secret: false, summary: "the identity service's URL" }, { name: "password", default: "", required: true, secret: true, summary: "password" }] },
  ];
  const library = [
    { kind: "workload", name: "mixed", title: "80 % reads, 15 % writes, 5 % deletes", summary: "How does the store do under the usual mix?", path: "workloads/mixed.yaml", source: "name: mixed\ndefaults:\n  containers: r(1,4)\n  sizes: c(64)KiB\nstages:\n  - name: init\n    works:\n      - {type: init, workers: 1}\n" },
    { kind: "workload", name: "s3", title: "COSBench's XML for S3", summary: "80 % reads, 20 % writes", path: "workloads/cosbench/s3.xml", source: "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<workload name=\"s3\">\n</workload>\n" },
  ];
  function check(source) {
    const mistakes = [];
    source.split("\n").forEach((line, at) => {
      const found = line.indexOf("wrkers");
      if (found >= 0) mistakes.push({ severity: "error", message: "`wrkers` is not a field of a work.", hint: "Did you mean `workers`?", line: at + 1, column: found + 1, end_line: at + 1, end_column: found + 7 });
    });
    if (!/name/.test(source)) mistakes.push({ severity: "error", message: "The workload has no name.", hint: "Begin it with `name: mine`.", line: 1, column: 1, end_line: 1, end_column: 1 });
    return {
      ok: mistakes.length === 0, mistakes, name: /name:\s*(\S+)/.exec(source)?.[1] ?? "workload",
      stages: STAGES.map(([name, seconds], at) => ({ id: `s${at + 1}-${name}`, name, works: [name], workers: name === "main" ? 32 : 8, seconds: name === "main" ? mainS : null, operations: name === "main" ? null : 400 * seconds, bytes_written: name === "prepare" ? 400 * 65_536 : null })),
      preflight: ["V3: the window of 60 s is long enough to see differences of 5 %."],
    };
  }

  for (let at = 0; at < ended; at += 1) {
    const began = epoch - (ended - at) * 5_400_000;
    const state = at % 7 === 3 ? "failed" : at % 9 === 4 ? "cancelled" : "finished";
    make(["mixed", "read-heavy", "swift-nightly"][at % 3], { summary: {
      state, reason: state === "failed" ? "stage s3-main: 31 % of the reads failed, 20 % are acceptable" : null, submitted: stamp(began - 4000), started: stamp(began), ended: stamp(began + 97_000), stages_done: 5,
      verdict: ["true", "true_with_limits", "not_proven", "true"][at % 4], verdict_reason: "The clock of driver-2 is only known to 41 µs.", tags: at % 4 === 0 ? ["nightly", "v19"] : [], baseline: at === 2, drivers: ["driver-1", "driver-2"],
    } });
  }
  for (let at = 0; at < queued; at += 1) make(["mixed", "boulders", "pebbles", "steps"][at % 4], { summary: { tags: at === 1 ? ["release"] : [] } });

  const routes = [
    ["GET", /^session$/, ({ session }) => session],
    ["DELETE", /^session$/, ({ token }) => void sessions.delete(token)],
    ["GET", /^status$/, status],
    ["GET", /^drivers$/, () => [...fleet.values()]],
    ["PATCH", /^drivers\/([^/]+)$/, ({ body, parts }) => { const one = fleet.get(parts[0]); one.state = body.drained ? "drained" : "idle"; tell("driver", one); return one; }],
    ["DELETE", /^drivers\/([^/]+)$/, ({ parts }) => { fleet.delete(parts[0]); tell("driver_gone", parts[0]); }],
    ["POST", /^check$/, ({ body }) => check(body.source)],
    ["POST", /^runs$/, ({ body, session }) => {
      const result = check(body.source);
      if (!result.ok) throw [422, "The workload has mistakes.", result.mistakes];
      const run = make(result.name, { source: body.source, summary: { tags: body.tags ?? [], priority: body.priority ?? 0, submitted_by: session.token_name } });
      active().forEach((summary) => tell("run", summary));
      setTimeout(() => autoStart && startNext(), 30);
      return [201, { id: run.summary.id, mistakes: [] }];
    }],
    ["GET", /^runs$/, ({ query }) => {
      const word = (query.get("search") ?? "").toLowerCase();
      const all = [...runs.values()].reverse().map((run) => run.summary)
        .filter((one) => (!query.get("state") || (query.get("state") === "ended" ? one.ended !== null : one.state === query.get("state"))) && (!query.get("verdict") || one.verdict === query.get("verdict")) && (query.get("baseline") !== "1" || one.baseline) &&
          (!query.get("since") || one.started >= query.get("since")) && (!query.get("tag") || one.tags.includes(query.get("tag"))) && `${one.id} ${one.name} ${one.tags.join(" ")}`.toLowerCase().includes(word));
      const key = { throughput: "throughput_per_s", p99: "p99_ms", name: "name", target: "target", started: "started" }[query.get("sort")];
      if (key) all.sort((a, b) => (a[key] < b[key] ? -1 : a[key] > b[key] ? 1 : 0) * (query.get("down") === "0" ? 1 : -1));
      const from = Number(query.get("skip") ?? 0);
      return all.slice(from, from + Number(query.get("limit") ?? 100));
    }],
    ["GET", /^compare$/, ({ query }) => compareOf(query.get("runs").split(","))],
    ["GET", /^matrix$/, matrix],
    ...studyRoutes((name) => { const report = reportOf([...runs.values()].find((run) => run.summary.state === "finished")); return { ...report, run: { ...report.run, name } }; }),
    ["GET", /^adaptors$/, () => adaptors],
    ["POST", /^targets\/test$/, ({ body }) => body.target.includes("127.0.0.1:1") ? { ok: false, ms: 2.1, message: "The connection was refused.", hint: "Look whether the store runs and the port is right." } : { ok: true, ms: 4.2, message: "The store answered and took the login.", hint: null }],
    ["GET", /^library$/, () => library],
    ["POST", /^convert$/, ({ body }) => ({ xml: `<?xml version="1.0" encoding="UTF-8"?>\n<workload name="converted">\n  <!-- ${body.source.length} characters -->\n</workload>\n`, yaml: body.source, mistakes: [] })],
    ["GET", /^schema$/, () => JSON.parse(schema)],
    ["GET", /^secrets$/, () => [...secrets]],
    ["PUT", /^secrets\/([^/]+)$/, ({ parts }) => void secrets.add(parts[0])],
    ["DELETE", /^runs\/([^/]+)$/, ({ run }) => {
      if (run.summary.baseline) throw [409, `${run.summary.id} cannot be deleted: it is the baseline of its workload.`];
      runs.delete(run.summary.id);
    }],
    ["DELETE", /^secrets\/([^/]+)$/, ({ parts }) => void secrets.delete(parts[0])],
    ["GET", /^runs\/([^/]+)$/, ({ run }) => run.summary],
    ["PATCH", /^runs\/([^/]+)\/queue$/, ({ run, body }) => {
      const other = runs.get(body.before);
      if (other) { run.order = other.order - 0.5; run.summary.priority = other.summary.priority; }
      waiting().forEach((one, at) => (one.order = 1000 + at));
      active().forEach((summary) => tell("run", summary));
      return run.summary;
    }],
    ["POST", /^runs\/([^/]+)\/cancel$/, ({ run }) => {
      if (isOver(run)) throw [409, `${run.summary.id} has ended already.`];
      if (run.summary.state === "queuing") change(run, { state: "cancelled", ended: stamp(), position: null });
      else finish(run, "cancelled", "cancelled by laptop");
    }],
    ["POST", /^runs\/([^/]+)\/resubmit$/, ({ run }) => { const next = make(run.summary.name); active().forEach((one) => tell("run", one)); return [201, { id: next.summary.id, mistakes: [] }]; }],
    ["POST", /^runs\/([^/]+)\/notes$/, ({ run }) => run.summary],
    ["PUT", /^runs\/([^/]+)\/tags$/, ({ run, body }) => { run.summary.tags = [...new Set([...run.summary.tags, ...body.add])].filter((tag) => !body.remove.includes(tag)); return run.summary; }],
    ["PUT", /^runs\/([^/]+)\/baseline$/, ({ run, body }) => { run.summary.baseline = body.baseline; return run.summary; }],
    ["GET", /^runs\/([^/]+)\/data$/, ({ run }) => reportOf(run)],
    ["GET", /^runs\/([^/]+)\/files$/, () => [{ name: "run.json", bytes: 18_231, what: "All results" }, { name: "histograms.hlog", bytes: 402_113, what: "Histograms of response times" }]],
    ["GET", /^runs\/([^/]+)\/source$/, ({ run }) => ({ file_name: "mixed.yaml", source: run.source, yaml: run.source, xml: "<workload/>" })],
    ["GET", /^runs\/([^/]+)\/log$/, ({ run }) => run.news.filter(([name]) => name === "log").map(([, data]) => data)],
  ];

  function events(request, response, run) {
    response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
    const clients = run ? run.clients : systemClients;
    if (run) {
      run.news.slice(Number(request.headers["last-event-id"] ?? 0)).forEach(([name, data], at) => write(response, name, data, Number(request.headers["last-event-id"] ?? 0) + at + 1));
      if (!run.news.length) write(response, "run", run.summary);
      if (run.course) write(response, "series", seriesOf(run, 0));
      if (isOver(run)) return response.end();
    } else {
      write(response, "everything", { status: status(), drivers: [...fleet.values()], active: active() }, ++eventId);
    }
    clients.add(response);
    request.on("close", () => clients.delete(response));
    return undefined;
  }

  async function answer(request, response) {
    const url = new URL(request.url, "http://here");
    const send = (code, value, headers = {}) => {
      response.writeHead(code, { "Content-Type": "application/json", "Cache-Control": "no-store", ...headers });
      response.end(value === undefined ? "" : JSON.stringify(value));
    };
    if (isCut) return request.socket.destroy();
    if (!url.pathname.startsWith("/api/v1/")) return file(url.pathname, response);
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = chunks.length ? JSON.parse(Buffer.concat(chunks)) : undefined;
    const path = url.pathname.slice(8);
    if (request.method === "POST" && path === "session") {
      if (!["operate", "view"].includes(body.token)) return send(401, { error: "This token is not known." });
      const token = `t${sessions.size + 1}`;
      sessions.set(token, { role: body.token, token_name: body.token === "view" ? "wall" : "laptop" });
      return send(200, sessions.get(token), { "Set-Cookie": `cosmark_session=${token}; HttpOnly; SameSite=Strict; Path=/` });
    }
    const token = /cosmark_session=(\w+)/.exec(request.headers.cookie ?? "")?.[1];
    const session = sessions.get(token);
    if (!session) return send(401, { error: "Log in first." });
    if (request.method !== "GET" && request.headers["x-cosmark"] !== "1") return send(403, { error: "The header X-Cosmark is missing." });
    const ofRun = /^runs\/([^/]+)/.exec(path);
    const run = ofRun ? runs.get(decodeURIComponent(ofRun[1])) : undefined;
    if (ofRun && !run) return send(404, { error: `There is no run ${ofRun[1]}.` });
    if (path === "events" || /^runs\/[^/]+\/events$/.test(path)) return events(request, response, run);
    for (const [method, pattern, handler] of routes) {
      const match = pattern.exec(path);
      if (method !== request.method || !match) continue;
      try {
        const value = handler({ body, query: url.searchParams, parts: match.slice(1).map(decodeURIComponent), run, session, token });
        return Array.isArray(value) && typeof value[0] === "number" && value.length === 2 && typeof value[1] === "object" && !Array.isArray(value[1]) ? send(value[0], value[1]) : send(200, value);
      } catch (refusal) {
        if (!Array.isArray(refusal)) throw refusal;
        return send(refusal[0], { error: refusal[1], mistakes: refusal[2] ?? [] });
      }
    }
    return send(404, { error: "There is nothing here." });
  }
  function file(path, response) {
    const wanted = resolve(join(DIST, path));
    const found = wanted.startsWith(DIST) && extname(wanted) && existsSync(wanted) ? wanted : join(DIST, "index.html");
    // As the controller does: what has a hashed name stays with the browser.
    const keep = found.startsWith(join(DIST, "assets")) ? "public, max-age=31536000, immutable" : "no-cache";
    response.writeHead(200, { "Content-Type": TYPES[extname(found)] ?? "application/octet-stream", "Cache-Control": keep });
    response.end(readFileSync(found));
  }

  const server = createServer((request, response) => void answer(request, response).catch((error) => { console.error(error); response.destroy(); }));
  await new Promise((done) => server.listen(port, "127.0.0.1", done));
  const beat = setInterval(() => {
    for (const one of fleet.values()) if (one.state !== "lost") Object.assign(one, { last_seen: stamp(), load: one.state === "busy" ? 0.4 + Math.random() * 0.2 : 0.02 });
    for (const one of fleet.values()) tell("driver", one);
    tell("status", status());
    for (const run of runs.values()) for (const client of run.clients) client.write(": beat\n\n");
  }, 2000);
  if (autoStart) startNext();
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    runs,
    /** What the pages of ended and of running runs are made from. */
    reportOf,
    seriesOf,
    /** With `manual`: lets so many intervals of a run go by. */
    async step(run, intervals) {
      for (let n = 0; n < intervals && run.summary.state === "processing"; n += 1) {
        stepped += intervalS * 1000;
        advance(run);
        // The connection gets its turn.
        if (n % 4 === 3) await new Promise((done) => setTimeout(done, 1));
      }
    },
    /** Breaks every connection and takes none until `mend`. */
    cut() {
      isCut = true;
      server.closeAllConnections();
    },
    mend() {
      isCut = false;
    },
    async stop() {
      clearInterval(beat);
      for (const run of runs.values()) clearInterval(run.timer);
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const schema = process.env.COSMARK_SCHEMA ? readFileSync(process.env.COSMARK_SCHEMA, "utf8") : "{}";
  const mock = await startMock({ port: Number(process.argv[2] ?? 19088), speed: Number(process.env.SPEED ?? 1), schema });
  console.log(`${mock.url}  tokens: operate, view`);
}
