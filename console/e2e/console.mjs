// The console against a real controller with real drivers and the embedded store, in headless Chromium:
//   node e2e/console.mjs COSMARK [--nats]    COSMARK is the binary, built after the console; with --nats two drivers join over NATS
//                                            (needs nats-server), else the controller makes the load itself
// Log in and out, test a target, keep a secret, submit by editor, by form and by matrix, watch live, cancel, compare, download, lose the
// controller and go on when it is back; a study that a shell began is stopped and taken further. Screenshots go to e2e/artefacts.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, openSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { axe, check, close, comes, finish, fits, launch, logIn, longShot, open, OUT, parts, PATIENCE_MS, problems, RUNS_MS, shot, until } from "./browser.mjs";

const [given, mode] = process.argv.slice(2);
const overNats = mode === "--nats";
if (!given || (mode && !overNats)) {
  console.error("usage: node e2e/console.mjs COSMARK [--nats]");
  process.exit(2);
}
const cosmark = resolve(given);
const work = mkdtempSync(join(tmpdir(), "cosmark-console-"));
const children = [];
const SECRET = "a-very-secret-key-of-the-test";

async function freePort() {
  const server = createServer();
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

/** Starts a process whose output goes to a file; it is ended with the test. */
function start(name, args, env = {}, program = cosmark) {
  const log = join(work, `${name}.log`);
  const file = openSync(log, "a");
  const child = spawn(program, args, { cwd: work, stdio: ["ignore", file, file], env: { ...process.env, XDG_STATE_HOME: join(work, "state-home"), ...env } });
  const one = { name, child, log, text: () => readFileSync(log, "utf8"), ended: new Promise((done) => child.on("exit", done)) };
  children.push(one);
  return one;
}

async function answers(url, what, limitMs) {
  await until(`${what} answers`, async () => fetch(url).then(() => true, () => false), limitMs);
}

const [port, storePort, natsPort] = [await freePort(), await freePort(), await freePort()];
const nats = `nats://127.0.0.1:${natsPort}`;
const base = `http://127.0.0.1:${port}`;
const state = join(work, "state");
const has = (command) => spawnSync(cosmark, [command, "--help"], { stdio: "ignore" }).status === 0;
if (!has("controller")) {
  console.log("this binary has no controller");
  process.exit(77);
}

function startController() {
  const load = overNats ? ["--nats", nats] : ["--local", "--threads", "1"];
  return start("controller", ["controller", ...load, "--listen", `127.0.0.1:${port}`, "--state", state, "--archive", join(work, "archive"), "--studies-go-on"]);
}

start("store", ["serve", "--listen", `127.0.0.1:${storePort}`, "--access-key", "tester"], { COSMARK_SERVE_SECRET: SECRET });
if (overNats) {
  start("nats", ["-js", "-sd", join(work, "nats"), "-a", "127.0.0.1", "-p", String(natsPort)], {}, "nats-server");
  await until("NATS answers", () => new Promise((done) => {
    const socket = connect(natsPort, "127.0.0.1");
    socket.on("connect", () => { socket.destroy(); done(true); });
    socket.on("error", () => done(false));
  }));
  for (const name of ["d1", "d2"]) start(name, ["driver", "--join", nats, "--name", name, "--labels", `zone=${name}`, "--state", join(work, name)]);
}
const made = spawnSync(cosmark, ["controller", "--state", state, "--add-token", "browser", "--role", "operate"], { encoding: "utf8" });
const token = made.stdout.trim().split("\n").pop();
let controller = startController();
await answers(`${base}/healthz`, "the controller");
await answers(`http://127.0.0.1:${storePort}/`, "the store");

const TARGET = `storage:
  type: s3
  endpoint: http://127.0.0.1:${storePort}
  accesskey: tester
  secretkey: {secret: store-key}
  path_style_access: true
`;

function workload(name, runtime, workers = 2) {
  return `name: ${name}
defaults: {container_prefix: e2e-${name}-, containers: "r(1,1)", sizes: c(16)KiB}
stages:
  - name: init
    works: [{type: init, workers: 1}]
  - name: prepare
    works: [{type: prepare, workers: 2, objects: "r(1,20)"}]
  - name: main
    works:
      - name: main
        workers: ${workers}
        pace: {rate_per_worker: 60/s}
        rampup: 1s
        runtime: ${runtime}s
        operations:
          - {type: read, ratio: 80, containers: "u(1,1)", objects: "u(1,20)"}
          - {type: write, ratio: 20, containers: "u(1,1)", objects: "u(21,40)"}
  - name: cleanup
    works: [{type: cleanup, workers: 2, objects: "r(1,40)"}]
  - name: dispose
    works: [{type: dispose, workers: 1}]
`;
}

const browser = await launch();
const { context, page } = await open(browser, base, "console");
const ids = [];

/** Both themes. axe looks at a run that goes on in console-mock.mjs, where it waits for axe. */
async function both(name, goesOn = false) {
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    await page.locator(`html[data-theme=${colorScheme}]`).waitFor();
    if (!goesOn) await axe(page, `${name} ${colorScheme}`, colorScheme === "dark");
    await (goesOn ? longShot : shot)(page, `real-${name}-${colorScheme}`);
  }
  await page.emulateMedia({ colorScheme: "light" });
  await fits(page, name);
}

/** Puts a text into the editor and waits for the controller's word on it. */
async function write(text) {
  const editor = page.locator(".cm-content");
  await editor.click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(text);
}

const word = (text) => page.locator(".check-word", { hasText: text }).waitFor();

/** Of the page of a run: it has ended like that, and its results are there. */
async function over(state) {
  await page.locator(`.state-${state}`).first().waitFor({ timeout: RUNS_MS });
  await page.locator(".verdict").first().waitFor({ timeout: RUNS_MS });
}

/** Submits what is on the page; gives the id of the run. */
async function submit() {
  await page.getByRole("button", { name: "Submit", exact: true }).click();
  await page.waitForURL(/\/runs\/w\d+$/);
  const id = page.url().split("/").pop();
  ids.push(id);
  return id;
}

async function login() {
  await page.goto(`${base}/runs/w1`);
  await page.locator(".login").waitFor();
  await page.locator("input[name=token]").fill("no-such-token");
  await page.getByRole("button", { name: "Log in" }).click();
  await page.locator("#login-trouble").filter({ hasText: "not known" }).waitFor();
  await page.goto(`${base}/`);
  await logIn(page, base, token);
  await page.locator(".connection.good").waitFor();
  await page.locator("text=The first").or(page.locator("text=No run has ended yet")).first().waitFor();
  await page.locator(".drivers tbody tr").nth(overNats ? 1 : 0).waitFor();
  check(!(await page.evaluate(() => document.cookie)).includes("cosmark"), "scripts can read the session's cookie");
  await both("home-first");
}

async function targetAndSecret() {
  await page.goto(`${base}/secrets`);
  await page.getByLabel("Name", { exact: true }).fill("store-key");
  await page.getByLabel("Value", { exact: true }).fill(SECRET);
  check(await page.getByRole("button", { name: "Keep" }).isDisabled(), "a secret is kept that may be sent anywhere");
  await page.getByLabel("May be sent to").fill(`http://127.0.0.1:${storePort}`);
  await page.getByRole("button", { name: "Keep" }).click();
  await page.locator(".secret-list", { hasText: "store-key" }).waitFor();
  await both("secrets");
  await page.goto(`${base}/targets`);
  await page.locator("#adaptor").waitFor();
  await page.getByLabel("Storage", { exact: true }).and(page.locator("select")).selectOption("s3");
  await page.getByLabel("endpoint", { exact: true }).fill("http://127.0.0.1:1");
  await page.getByRole("button", { name: "Test this target" }).click();
  await page.locator(".tested.bad").waitFor();
  await page.getByRole("textbox", { name: "Target file" }).fill(TARGET);
  await page.getByRole("button", { name: "Test this target" }).click();
  // The answer to the first test may stand there still.
  await comes(async () => (await page.locator(".tested.good").count()) === 1, "the store's test does not find the store good");
  await page.getByRole("button", { name: "Use it for the next submission" }).click();
  await both("targets");
}

/** Waits until the run is seen at work: a chart, the five stages, operations that are counted, a line of its log. False when it ended first. */
async function seenLive() {
  const look = () => page.evaluate(() => {
    if (document.querySelector(".verdict")) return "over";
    const counted = Number((document.querySelector(".live-cards .card")?.querySelectorAll("p")[1]?.textContent ?? "").replace(/\D/g, ""));
    const parts = ['[data-chart="throughput"] canvas', ".timeline .step:nth-child(5)", ".log-line"];
    return counted > 0 && parts.every((part) => document.querySelector(part)) ? "live" : "";
  });
  // Asked once more, it may have ended since.
  return (await until("the run is seen at work, or is over", look, RUNS_MS)) === "live";
}

async function byEditor() {
  await page.goto(`${base}/submit`);
  await page.locator(".cm-content").waitFor();
  const library = page.getByLabel("Begin with a workload of the library");
  await comes(async () => (await library.locator("option").count()) > 5, "the library is empty");
  await write(workload("watched", 15).replace("workers: 2\n        pace", "wrkers: 2\n        pace"));
  await page.locator(".cm-lintRange-error").first().waitFor();
  await both("submit-mistake");
  await write(workload("watched", 15));
  await word("can be run");
  await comes(async () => (await page.getByRole("region", { name: "Stages" }).locator("tbody tr").count()) === 5, "the preview does not have the five stages");
  await both("submit");
  await page.getByLabel("Tags", { exact: true }).fill("e2e, editor");
  let id = await submit();
  // A machine that is slow enough shows the page when the run has ended: then a longer one is watched.
  let live = await seenLive();
  for (const seconds of [60, 240]) {
    if (live) break;
    await page.goto(`${base}/submit`);
    await page.locator(".cm-content").waitFor();
    await write(workload("watched", seconds));
    await word("can be run");
    id = await submit();
    live = await seenLive();
  }
  check(live, "no run was seen at work, however long it was");
  await both("live", true);
  // Then the results, without a reload.
  await over("finished");
  await page.locator('[data-chart="distribution"] canvas').waitFor();
  await both("results");
  for (const kind of ["PNG", "SVG"]) {
    const [download] = await Promise.all([page.waitForEvent("download"), page.locator('[data-chart="throughput"]').getByRole("button", { name: kind }).click()]);
    const path = join(OUT, `real-${download.suggestedFilename()}`);
    await download.saveAs(path);
    check(statSync(path).size > 2000, `${kind} is empty`);
  }
  const [archive] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Download" }).click()]);
  const path = join(work, "archive.tar.gz");
  await archive.saveAs(path);
  const listed = spawnSync("tar", ["-tzf", path], { encoding: "utf8" }).stdout;
  check(/run\.json/.test(listed), `the downloaded archive has no run.json: ${listed.slice(0, 200)}`);
  await page.getByRole("tab", { name: "Files" }).click();
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "run.json", exact: true }).click()]);
  check((await file.path()) && JSON.parse(readFileSync(await file.path(), "utf8")).id === id, "run.json is not that of the run");
  await page.getByRole("tab", { name: "Workload" }).click();
  const source = page.getByRole("region", { name: "Workload", exact: true });
  await source.waitFor();
  await comes(async () => (await source.textContent()).includes("name: watched"), "the workload of the run is not shown");
  check(!(await page.content()).includes(SECRET), "a secret stands in the page");
  await page.getByRole("button", { name: "☆ Baseline" }).click();
  await page.getByRole("button", { name: "★ Baseline" }).waitFor();
  await page.getByRole("button", { name: "+ tag" }).click();
  await page.getByLabel("New tag").fill("kept");
  await page.keyboard.press("Enter");
  await page.locator(".tags .tag", { hasText: "kept" }).waitFor();
}

async function byForm() {
  await page.goto(`${base}/submit/form`);
  await page.getByLabel("Name", { exact: true }).first().fill("by-form");
  await page.getByLabel("Containers", { exact: true }).fill("1");
  await page.getByLabel("Objects per container", { exact: true }).fill("10");
  await page.getByLabel("Size", { exact: true }).fill("4KiB");
  await page.getByLabel("Workers", { exact: true }).fill("2");
  await page.getByLabel("Ramp-up (s)", { exact: true }).fill("1");
  await page.getByLabel("Measured (s)", { exact: true }).fill("4");
  await word("can be run");
  await both("form");
  await page.getByRole("button", { name: "COSBench XML" }).click();
  await page.locator(".generated", { hasText: "<workload" }).waitFor();
  await submit();
  await over("finished");
  await page.goto(`${base}/submit/matrix`);
  await page.getByLabel("Object sizes", { exact: true }).fill("1KiB, 4KiB");
  await page.getByLabel("Workers", { exact: true }).fill("1, 2");
  await page.getByLabel("Objects per container", { exact: true }).fill("10");
  await page.getByLabel("Ramp-up (s)", { exact: true }).fill("0");
  await page.getByLabel("Measured (s)", { exact: true }).fill("1");
  await word("can be run");
  await comes(async () => (await page.locator(".figure b").first().textContent()).startsWith("8 "), "the matrix does not count its stages");
  await both("matrix");
  await submit();
  await over("finished");
  await page.locator("#overview").waitFor();
  await both("results-matrix");
}

async function queueAndCancel() {
  for (const [name, runtime] of [["long", 1200], ["second", 3], ["third", 3]]) {
    await page.goto(`${base}/submit/editor`);
    await page.locator(".cm-content").waitFor();
    await write(workload(name, runtime));
    await word("can be run");
    await submit();
  }
  await page.goto(`${base}/`);
  const order = () => page.locator(".queue-name a").allTextContents();
  await comes(async () => (await order()).join() === "second,third", "the queue is not the second run and the third");
  await page.getByRole("button", { name: /^Move .* up$/ }).nth(1).click();
  await until("the third is before the second", async () => (await order()).join() === "third,second");
  await page.locator(".run-card .progress").waitFor();
  await both("home-busy");

  // Long enough for all of that on a slow machine: the controller is killed, the page says so, and goes on when it is back.
  const long = ids[ids.length - 3];
  await page.goto(`${base}/runs/${long}`);
  await page.locator('[data-chart="throughput"] canvas').waitFor();
  await page.evaluate(() => (globalThis.same = true));
  controller.child.kill("SIGKILL");
  await controller.ended;
  await page.locator(".stale").waitFor();
  await both("stale");
  controller = startController();
  await answers(`${base}/healthz`, "the controller after its restart");
  await page.getByRole("button", { name: "Try now" }).first().click({ timeout: 3000 }).catch(() => undefined);
  await page.locator(".stale").waitFor({ state: "detached" });
  await page.locator(".connection.good").or(page.locator(".login")).first().waitFor();
  check(await page.evaluate(() => globalThis.same === true), "the page was loaded anew after the controller was killed");
  if (await page.locator(".login").count()) {
    await page.locator("input[name=token]").fill(token);
    await page.getByRole("button", { name: "Log in" }).click();
    await page.locator(".bar-top").waitFor();
  }
  // A run that made its own load was cut off with it, and what waited still waits or runs; one with drivers goes on.
  if ((await page.evaluate((id) => fetch(`/api/v1/runs/${id}`).then((one) => one.json()), long)).state === "processing") {
    await page.goto(`${base}/runs/${long}`);
    await page.getByRole("button", { name: `Cancel ${long}` }).click();
    await page.getByRole("button", { name: "Cancel the run" }).click();
    await over("cancelled");
  }
  await page.goto(`${base}/`);
  await page.locator(".history tbody tr", { hasText: "watched" }).first().waitFor();
  await page.goto(`${base}/submit/editor`);
  await page.locator(".cm-content").waitFor();
  await write(workload("cancelled", 300));
  await word("can be run");
  const id = await submit();
  await page.getByRole("button", { name: `Cancel ${id}` }).waitFor();
  // Those that waited before it run first.
  await page.locator('[data-chart="throughput"] canvas').waitFor({ timeout: RUNS_MS });
  await page.getByRole("button", { name: `Cancel ${id}` }).click();
  await page.getByRole("alertdialog").waitFor();
  await both("cancel");
  await page.getByRole("button", { name: "Cancel the run" }).click();
  await over("cancelled");
}

async function compareAndPerformance() {
  await page.goto(`${base}/`);
  await page.locator(".history tbody tr").nth(1).waitFor();
  const [first, other] = ids;
  for (const id of [first, other]) await page.getByRole("checkbox", { name: `Choose ${id} to compare` }).check();
  await page.getByRole("button", { name: /^Compare 2/ }).click();
  await page.locator("[data-chart=cdf] canvas").waitFor();
  await page.locator(".pair, .failed-state").first().waitFor();
  await both("compare");
  const link = page.url();
  await page.goto(`${base}/performance`);
  await page.locator("[data-chart] canvas").first().waitFor();
  await comes(async () => (await page.getByRole("region", { name: "Performance matrix" }).locator("tbody tr").count()) > 5, "the matrix over the history has too few rows");
  await page.getByLabel("Search runs, stages, tags").fill("watched");
  await until("the matrix is filtered", async () => {
    const rows = await page.locator("tbody tr").allTextContents();
    return rows.length > 0 && rows.every((text) => text.includes("watched"));
  });
  await page.getByText(/^Metrics:/).click();
  await page.getByLabel("service p95", { exact: true }).check();
  await page.getByRole("columnheader", { name: "service p95" }).waitFor();
  await both("performance");
  // A link shows the same again.
  await page.goto(link);
  await page.locator("[data-chart=cdf] canvas").waitFor();
  await comes(async () => (await page.locator(".chosen li").count()) === 2, "the link to a comparison does not show it");
  await page.goto(`${base}/runs/w9999`);
  await page.locator("text=does not exist").waitFor();
  await page.goto(`${base}/no-such-page`);
  await page.locator("text=does not exist").waitFor();
  await both("not-found");
}

/** The archive's own figures in the history; the controller sorts and filters; a deleted run is gone from the disk. */
async function history() {
  await page.goto(`${base}/`);
  const rows = page.locator(".history tbody tr");
  await rows.nth(1).waitFor();
  const cells = (at) => page.locator(`.history tbody tr td:nth-child(${at})`).allTextContents();
  check((await cells(4)).some((text) => text.includes(`s3 127.0.0.1`)), `no run of the history has its target: ${await cells(4)}`);
  const driver = page.getByRole("region", { name: "Table of drivers" }).locator("tbody tr").first();
  await comes(async () => /\d\u00a0%/.test(await driver.textContent()), "the driver in the controller has no load");
  await page.locator(".history").getByRole("button", { name: "op/s" }).click();
  await until("the history is sorted by rate", async () => {
    const rates = (await cells(5)).map((text) => (/\d/.test(text) ? Number(text.replace(/[^\d.]/g, "")) * (text.endsWith("k") ? 1000 : 1) : -1));
    return page.url().includes("sort=throughput") && rates[0] > 0 && rates.every((rate, at) => at === 0 || rates[at - 1] >= rate);
  });
  await page.getByRole("combobox", { name: "State" }).selectOption("cancelled");
  await until("the history shows one state", async () => { const states = await cells(7); return states.length > 0 && states.every((text) => text.includes("cancelled")); });
  const doomed = (await cells(2))[0];
  const directory = () => readdirSync(join(work, "archive")).filter((name) => name.startsWith(`${doomed}-`));
  check(directory().length === 1, `${doomed} has no directory`);
  await page.getByRole("button", { name: `Delete ${doomed}`, exact: true }).click();
  await page.getByRole("alertdialog").waitFor();
  await both("delete");
  await page.getByRole("button", { name: "Delete the run" }).click();
  await until("the deleted run is gone from the history", async () => !(await cells(2)).includes(doomed));
  check(directory().length === 0, `${doomed} is still on the disk`);
}

const titleOf = (seconds) => `Reads of one store for ${seconds} s`;
const studyOf = (seconds) => `name: reads${seconds}
title: ${titleOf(seconds)}
question: Do more workers read more?
systems: [{name: here}]
factors:
  - {name: workers, levels: [1, 2]}
scales:
  quick: {repetitions: {least: 3}}
workload:
  before: |
    - {name: init, works: [{type: init, workers: 1, container_prefix: '\${{ prefix }}', containers: 'r(1,1)'}]}
    - {name: prepare, works: [{type: prepare, workers: 2, container_prefix: '\${{ prefix }}', containers: 'r(1,1)', objects: 'r(1,9)', sizes: c(4)KB}]}
  point: |
    - name: read-\${{ workers }}
      works:
        - {name: main, workers: '\${{ workers }}', pace: {rate_per_worker: 100/s}, runtime: ${seconds}s, operations: [{type: read, container_prefix: '\${{ prefix }}', containers: 'u(1,1)', objects: 'u(1,9)'}]}
  after: |
    - {name: cleanup, works: [{type: cleanup, workers: 2, container_prefix: '\${{ prefix }}', containers: 'r(1,1)', objects: 'r(1,9)'}]}
    - {name: dispose, works: [{type: dispose, workers: 1, container_prefix: '\${{ prefix }}', containers: 'r(1,1)'}]}
  measured: read-\${{ workers }}
figures:
  - {title: Reads, metric: throughput_per_s, x: workers, lines: [system], where: {op: read}}
`;

const studyMark = (text) => page.locator(".run-when .mark", { hasText: text });

/** Begins a study in a shell, and stops it on its page once a cell is measured. Null when it was over first. */
async function stoppedStudy(seconds) {
  writeFileSync(join(work, "study.yaml"), studyOf(seconds));
  const shell = start(`study-${seconds}`, ["study", "study.yaml", "--system", "here=here.yaml", "--no-nodes", "--threads", "1"]);
  // Asked for as often as the page does not: the study must not be over before it is stopped.
  const listed = () => page.evaluate(() => fetch("/api/v1/studies").then((one) => one.json()));
  await until("the study is listed", async () => [].concat(await listed()).some((one) => one.title === titleOf(seconds)));
  await page.goto(`${base}/studies`);
  await page.getByRole("link", { name: titleOf(seconds) }).click();
  await studyMark("running").or(studyMark("complete")).waitFor({ timeout: RUNS_MS });
  await page.locator(".study-grid .spot .number").first().waitFor({ timeout: RUNS_MS });
  const isOver = async () => (await studyMark("complete").count()) > 0;
  for (const name of ["Stop", "Stop the study"]) {
    const button = page.getByRole("button", { name, exact: true });
    const isClicked = () => button.click({ timeout: PATIENCE_MS / 4 }).then(() => true, () => false);
    await until(`"${name}" is clicked, or the study is over`, async () => (await isOver()) || (await isClicked()));
    if (await isOver()) return null;
  }
  await studyMark("stopped").or(studyMark("complete")).waitFor({ timeout: RUNS_MS });
  return (await isOver()) ? null : shell;
}

/** A study of a real store that a shell began: stopped in a cell and taken further from its page, each run once. */
async function study() {
  writeFileSync(join(work, "here.yaml"), TARGET.replace("{secret: store-key}", SECRET));
  // A machine that is slow enough shows the page when the study is over: then a longer one is stopped.
  let shell = null;
  let seconds = 2;
  for (seconds of [2, 15, 45]) {
    shell = await stoppedStudy(seconds);
    if (shell) break;
  }
  if (!check(shell, "no study could be stopped before it was over, however long it was")) return;
  const steps = (step) => {
    const lines = readFileSync(join(work, `study-reads${seconds}-quick/journal.jsonl`), "utf8").split("\n").filter(Boolean);
    return lines.map((line) => JSON.parse(line)).filter((line) => line.step === step).map((line) => line.run);
  };
  check((await shell.ended) === 5, `the study that was stopped ended with ${shell.child.exitCode}`);
  const over = steps("end").length;
  check(over >= 1 && over < 6, `${over} of 6 runs are over although the study was stopped`);
  // In a cell, or, where the machine is slow, between two of them.
  const begun = steps("begin").length;
  check(begun === over || begun === over + 1, `${begun} runs were begun and ${over} are over: ${steps("begin")}`);
  await both("study-stopped");
  await page.getByRole("button", { name: "Go on", exact: true }).click();
  await comes(async () => (await page.getByRole("alertdialog").textContent()).includes("cosmark study study.yaml"), "the study: what would be run is not shown");
  await page.getByRole("alertdialog").getByRole("button", { name: "Go on" }).click();
  await studyMark("complete").waitFor({ timeout: RUNS_MS });
  const all = steps("end");
  check(all.length === 6 && new Set(all).size === 6, `not each of six runs is over once: ${all}`);
  await both("study-complete");
}

async function logout() {
  await page.goto(`${base}/`);
  await page.getByRole("button", { name: /^Settings and log out/ }).click();
  await page.getByRole("menuitem", { name: "Log out" }).click();
  await page.locator(".login").waitFor();
  await page.goto(`${base}/secrets`);
  await page.locator(".login").waitFor();
  const answer = await page.evaluate(() => fetch("/api/v1/runs").then((one) => one.status));
  check(answer === 401, `after logging out the history answers ${answer}`);
}

async function end() {
  await close(() => browser.close());
  for (const one of children.reverse()) {
    if (one.child.exitCode !== null || one.child.signalCode !== null) continue;
    one.child.kill("SIGTERM");
    const hard = setTimeout(() => one.child.kill("SIGKILL"), 15_000);
    await one.ended;
    clearTimeout(hard);
  }
}

process.on("SIGTERM", () => void end().then(() => process.exit(1)));
await parts([
  ["log in", login], ["target and secret", targetAndSecret], ["by editor", byEditor], ["by form and matrix", byForm], ["queue, a killed controller, cancel", queueAndCancel],
  ["compare and performance", compareAndPerformance], ["history", history], ["a study", study], ["log out", logout],
], true);
await shot(page, "real-last", false, problems.length > 0).catch(() => undefined);
await end();
if (problems.length) for (const one of children) console.log(`-- ${one.name}\n${one.text().split("\n").slice(-25).join("\n")}`);
else rmSync(work, { recursive: true, force: true });
finish("The console was driven against a real controller");
