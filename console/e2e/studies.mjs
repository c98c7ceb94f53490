// Scripted studies for mock.mjs: one that runs with cells in every state, one that was cut off, one that cannot be read.
const FACTORS = [
  { name: "system", label: "system", levels: ["Swift", "Ceph"], within: false },
  { name: "mix", label: "mix", levels: ["read", "80:20"], within: false },
  { name: "size", label: "object size", levels: ["4KB", "128KB", "1MB"], within: false },
  { name: "workers", label: "workers", levels: ["1", "8", "32", "128"], within: true },
];
const SVG = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 260" font-family="sans-serif" font-size="13"><rect width="640" height="260" fill="#fff"/><path d="M60 20V220H620" fill="none" stroke="#566273"/><path d="M80 190L240 120L400 70L560 60" fill="none" stroke="#0072b2" stroke-width="2"/><path d="M80 200L240 150L400 110L560 118" fill="none" stroke="#d55e00" stroke-width="2" stroke-dasharray="6 4"/><text x="565" y="55">Swift</text><text x="565" y="115">Ceph</text><text x="300" y="248">workers</text></svg>`;
const NUMBERS = { running: [9, 12], stopping: [9, 12], stopped: [9, 12], cut_off: [3, 8], unreadable: [0, 0] };

function summary(id, title, state, more = {}) {
  const [done, planned] = NUMBERS[state];
  const now = Date.now();
  return {
    id, name: id.split("-")[1], title, scale: "quick", as_published: false, state, reason: null, begun: new Date(now - 3_600_000).toISOString(), changed: new Date(now - 20_000).toISOString(),
    done, planned, failed: state === "unreadable" ? 0 : 1, spent_s: 2940, left_s: planned ? 1130 : null, under_way: null, under_way_since: null, version: `1-${state}`, ...more,
  };
}

/** Cells by system, mix and size; each with a run and four points. */
function gridOf(study, metric, operation) {
  const cells = [];
  const points = [];
  for (const system of [0, 1]) for (const mix of [0, 1]) for (const size of [0, 1, 2]) {
    const at = cells.length;
    const goes = study.state === "running" || study.state === "stopping";
    const state = at === 4 ? "failed" : at < 9 ? "done" : at === 9 ? (goes ? "running" : "cut_off") : "waiting";
    const id = [["swift", "ceph"][system], ["read", "r80"][mix], FACTORS[2].levels[size]].join(".");
    const runs = [1, 2].slice(0, at === 0 ? 2 : 1).map((repetition) => ({ name: `${study.name}.${id}.r${repetition}`, repetition, state, took_s: state === "done" ? 280 : null, reason: state === "failed" ? "31 % of the reads failed" : null }));
    cells.push({ id, state, runs });
    for (const workers of [0, 1, 2, 3]) {
      const isOver = at < 9 && !(at === 4 && workers > 1);
      const rate = (system ? 0.7 : 1) * 160 * 4 ** workers / (1 + 0.3 * 2 ** workers) / [1, 2.4, 9][size];
      const value = metric === "response_ms.p95" ? 1000 * 4 ** workers / rate : rate;
      const verdict = at === 2 && workers === 3 ? "false" : at % 3 === 1 ? "true_with_limits" : "true";
      points.push({
        cell: at, levels: [system, mix, size, workers], operation: null, refused: at === 10 && workers === 3 ? "8 keys for 128 workers: writers would meet on one key" : null, verdict: isOver ? verdict : null,
        why: isOver && verdict === "false" ? "the client was busy for 97 % of the window" : null, value: isOver ? value : null, low: at === 0 ? value * 0.95 : null, high: at === 0 ? value * 1.05 : null, repetitions: isOver ? runs.length : 0,
      });
    }
  }
  return { metric, operation, cells, points, left_out: 0, version: study.version };
}

/** Rows for the table of routes of the scripted controller. `data` is a report's. */
export function studyRoutes(data) {
  const running = summary("study-iccl-quick", "Ceph against Swift: sizes, mixes and workers", "running");
  const state = (to, more = {}) => Object.assign(running, { state: to, version: `1-${to}`, under_way: "iccl.ceph.r80.4KB.r1", under_way_since: new Date(Date.now() - 95_000).toISOString(), ...more });
  state("running");
  const cut = summary("study-slides-quick", "Two hardware profiles and their limits of response times", "cut_off", { reason: "what ran it ended without a word", under_way: "slides.swift.A.r2" });
  const torn = summary("study-torn", "study-torn", "unreadable", { name: "", scale: "", begun: null, spent_s: 0, reason: "journal.jsonl, line 3: no step of a study (expected value at line 1 column 1); remove the line, or give another --dir" });
  const all = [running, cut, torn];
  const find = (id) => all.find((one) => one.id === id) ?? (() => { throw [404, `there is no study ${id}; GET /api/v1/studies lists them`]; })();
  const show = (one, session) => ({
    summary: one, question: one === torn ? "" : "Which of the two stores serves small and large objects faster, and how many workers does it take?", source: one === torn ? null : "ICCLab, Zurich University of Applied Sciences, 2014", machine: ["16 processors, 64 GiB of memory, Linux 6.12"], shrunk: ["Each point is measured for 20 s instead of 300 s."],
    factors: one === torn ? [] : FACTORS, metrics: ["throughput_per_s", "response_ms.p95"], operations: ["read", "write"], bytes: 18_400_000_000, unread: 0,
    claims: one === torn ? [] : [
      { id: "I1", says: "Swift reads small objects faster than Ceph", finding: "not shown", why: "1.43 where at least 1.1 is claimed: one run; points the way of the claim" },
      { id: "I2", says: "with 128 workers the rate of reads does not rise any more", finding: "agrees", why: "1.02 (0.98 to 1.06) where at most 1.1 is claimed, 5 runs" },
      { id: "I3", says: "disks seek", finding: "not testable here", why: "needs spindle, which no system of this run has" },
    ],
    command: session.role === "operate" ? "cd /srv/bench && cosmark study iccl --scale quick" : null, may_go_on: session.role === "operate",
  });
  return [
    ["GET", /^studies$/, () => all],
    ["GET", /^studies\/([^/]+)$/, ({ parts, session }) => show(find(parts[0]), session)],
    ["GET", /^studies\/([^/]+)\/grid$/, ({ parts, query }) => gridOf(find(parts[0]), query.get("metric") ?? "throughput_per_s", query.get("operation") ?? "read")],
    ["GET", /^studies\/([^/]+)\/figures$/, () => [
      { kind: "heading", order: 2, text: "Figures" },
      { kind: "figure", caption: "Reads of 4 KB objects per second over workers", svg: SVG },
      { kind: "heading", order: 2, text: "Published, here, ratio" },
      { kind: "table", caption: "Absolute rates compare machines: read the shapes.", columns: ["cell", "published", "here", "ratio"], rows: [["swift 4KB 1", "812", "118", "0.15"], ["swift 4KB 128", "4 010", "1 020 (FALSE)", "0.25"]].map((row, at) => row.map((text, i) => ({ text, look: at === 1 && i === 2 ? "false" : "plain" }))) },
    ]],
    ["GET", /^studies\/([^/]+)\/runs\/([^/]+)\/data$/, ({ parts }) => { find(parts[0]); return data(parts[1]); }],
    ["POST", /^studies\/([^/]+)\/stop$/, ({ parts, session }) => {
      const one = find(parts[0]);
      if (one.state !== "running") throw [409, `nobody runs ${one.id} on this machine: there is nothing to stop`];
      state("stopping");
      // Until somebody has looked at it.
      setTimeout(() => state("stopped", { under_way: null, under_way_since: null }), 2500);
      return show(one, session);
    }],
    ["POST", /^studies\/([^/]+)\/go-on$/, ({ parts, session }) => { state("running"); return show(find(parts[0]), session); }],
  ];
}
