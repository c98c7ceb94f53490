// The console against the scripted controller (mock.mjs): every page in both themes, axe, phone and wall screen, keyboard, a lost
// connection, no layout shift, flat memory over twenty simulated minutes with 50 series.
//   node e2e/console-mock.mjs
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { axe, check, close, comes, drawn, finish, fits, launch, logIn, longShot, open, parts, PATIENCE_MS, shot, until } from "./browser.mjs";
import { startMock } from "./mock.mjs";

const MOST_JS_BYTES = 600_000;
const DIST = fileURLToPath(new URL("../dist/console/assets", import.meta.url));

const SCHEMA = JSON.stringify({
  properties: { name: { type: "string", description: "Name of the workload." }, stages: { type: "array", items: { properties: { name: { type: "string" }, works: { type: "array" } } } } },
});

const browser = await launch();
/** Stands still: what it shows is the same every time. */
const still = await startMock({ autoStart: false, schema: SCHEMA });
const PAGES = [
  ["home", "/", "text=Resubmit"],
  ["submit", "/submit", ".cm-content"],
  ["form", "/submit/form", ".builder"],
  ["matrix", "/submit/matrix", ".builder"],
  ["compare-empty", "/compare", "text=Choose two runs"],
  ["compare", "/compare?runs=w1,w2,w3", "[data-chart=cdf] canvas"],
  ["performance", "/performance", "[data-chart] canvas"],
  ["studies", "/studies", "text=cannot be read"],
  ["study", "/studies/study-iccl-quick", ".spot .number"],
  ["study-cut-off", "/studies/study-slides-quick", ".spot-cut_off"],
  ["study-unreadable", "/studies/study-torn", "text=no step of a study"],
  ["study-run", "/studies/study-iccl-quick/runs/iccl.swift.read.128KB.r1", "[data-chart=throughput] canvas"],
  ["study-unknown", "/studies/nothing", "text=does not exist"],
  ["targets", "/targets/storage/s3", "#adaptor"],
  ["secrets", "/secrets", ".secret-list"],
  ["run-ended", "/runs/w1", "[data-chart=throughput] canvas"],
  ["run-waiting", "/runs/w16", "text=This run waits"],
  ["run-unknown", "/runs/w999", "text=does not exist"],
  ["not-found", "/no/such/page", "text=does not exist"],
];

async function everyPage() {
  const { context, page } = await open(browser, still.url, "pages");
  const both = async (name) => {
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      await page.locator(`html[data-theme=${colorScheme}]`).waitFor();
      await axe(page, `${name} ${colorScheme}`, colorScheme === "dark");
      await shot(page, `${name}-${colorScheme}`);
    }
    await fits(page, name);
  };
  await page.goto(`${still.url}/`);
  await page.locator(".login").waitFor();
  check((await page.evaluate(() => document.documentElement.dataset.theme)) === "light", "the theme is not set before the console begins");
  await logIn(page, still.url, "operate");
  for (const [name, path, wanted] of PAGES) {
    await page.goto(still.url + path);
    await page.locator(wanted).first().waitFor();
    if (path.startsWith("/submit")) await page.locator(".check-word .status").waitFor();
    await both(name);
  }
  await page.getByRole("button", { name: /^Settings and log out/ }).click();
  await page.getByRole("menuitem", { name: "Log out" }).click();
  await page.locator(".login").waitFor();
  await both("login");
  await context.close();
}

async function otherScreens() {
  for (const [device, options] of [["phone", { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true }], ["wall", { viewport: { width: 3840, height: 2160 } }]]) {
    const { context, page } = await open(browser, still.url, device, options);
    await logIn(page, still.url, "operate");
    for (const [name, path, wanted] of PAGES) {
      if (device === "wall" && !["home", "compare", "run-ended"].includes(name)) continue;
      if (/empty|unknown|not-found/.test(name)) continue;
      // As a link of the console does it: that each page opens by its address, too, is seen on the usual screen.
      await page.evaluate((path) => history.pushState(null, "", path), path);
      await page.locator(wanted).first().waitFor();
      if (path.startsWith("/submit")) {
        const button = await page.getByRole("button", { name: "Submit", exact: true }).boundingBox();
        check(button && button.y + button.height < 700, `${name} on a ${device}: the button Submit is not in sight`);
      }
      await fits(page, `${name} on a ${device}`);
      await shot(page, `${name}-${device}`, device === "phone");
    }
    await context.close();
  }
}

async function whoMayOnlyLook() {
  const { context, page } = await open(browser, still.url, "view");
  await logIn(page, still.url, "view");
  await page.locator("text=Compare").first().waitFor();
  // All that could carry such a button has come.
  for (const drawn of [".queue-item", ".history tbody tr"]) await page.locator(drawn).first().waitFor();
  check((await page.getByRole("button", { name: /^(Cancel|Resubmit|Drain|Submit)/ }).count()) === 0, "view: buttons are offered that a viewer may not use");
  await page.goto(`${still.url}/submit`);
  await page.locator(".check-word .status").waitFor();
  await comes(() => page.getByRole("button", { name: "Submit", exact: true }).isDisabled(), "view: submitting is offered");
  await context.close();
}

/** A study as one thing: cells by state and figure, rows and columns by choice, a click on a cell, stop, go on, grey. */
async function study() {
  const { context, page } = await open(browser, still.url, "study");
  await logIn(page, still.url, "operate");
  await page.goto(`${still.url}/studies`);
  await page.getByRole("link", { name: "Ceph against Swift: sizes, mixes and workers" }).click();
  const grid = page.locator(".study-grid");
  await grid.locator(".number").first().waitFor();
  const shape = async () => [await grid.locator("tbody tr").count(), await grid.locator("tbody tr").first().locator("td").count()].join("x");
  check((await shape()) === "12x4", `study: the grid is ${await shape()}`);
  for (const [state, text] of [["failed", "✕"], ["running", "running"], ["waiting", "·"], ["not_run", "–"]]) {
    check((await grid.locator(`.spot-${state}`).first().textContent()).includes(text), `study: a cell that is ${state} does not say so`);
  }
  const doubted = grid.locator(".spot.is-false");
  check((await doubted.count()) === 1 && /^[\d\s.]+FALSE;/.test(await doubted.textContent()), `study: what is FALSE is not marked: ${await doubted.allTextContents()}`);
  await page.emulateMedia({ colorScheme: "light" });
  await page.evaluate(() => (document.documentElement.style.filter = "grayscale(1)"));
  await shot(page, "study-grey");
  await page.evaluate(() => (document.documentElement.style.filter = ""));
  const numbers = () => grid.locator(".number").allTextContents();
  const rates = await numbers();
  await page.getByRole("combobox", { name: "Figure" }).selectOption("response_ms.p95");
  await until("the other figure is shown", async () => (await numbers()).join() !== rates.join() && (await numbers()).every((text) => /s$/.test(text)));
  await page.getByRole("combobox", { name: "object size" }).selectOption({ label: "only 4KB" });
  await page.getByRole("combobox", { name: "system" }).selectOption("cols");
  await until("rows and columns are as chosen", async () => (await shape()) === "2x8" && page.url().includes("f.system=cols"));
  await page.reload();
  await until("a link shows the same", async () => (await grid.locator(".number").count()) > 0 && (await shape()) === "2x8");
  await axe(page, "study, chosen");
  // Two repetitions: which one is asked; one: its run is opened.
  await grid.locator("button.spot-inner").first().click();
  await page.getByRole("dialog").getByRole("link", { name: "Repetition 2" }).click();
  await page.waitForURL(/\/runs\/iccl\.swift\.read\.4KB\.r2$/);
  await page.locator(".verdict").waitFor();
  await page.getByRole("link", { name: /^Back to the study/ }).click();
  await grid.locator("a.spot-inner").first().click();
  await page.waitForURL(/\/runs\/iccl\./);
  await page.goBack();
  await page.locator(".study-figure img").waitFor();
  check(await page.locator(".study-figure img").evaluate((image) => image.decode().then(() => image.naturalWidth > 0)), "study: its figure is no picture");
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await page.getByRole("button", { name: "Stop the study" }).click();
  await page.locator(".run-when .mark", { hasText: "stopped" }).waitFor();
  await grid.locator(".spot-cut_off").first().waitFor();
  await page.getByRole("button", { name: "Go on", exact: true }).click();
  await comes(async () => (await page.getByRole("alertdialog").textContent()).includes("cosmark study iccl --scale quick"), "study: what would be run is not shown");
  await page.getByRole("alertdialog").getByRole("button", { name: "Go on" }).click();
  await page.locator(".run-when .mark", { hasText: "running" }).waitFor();
  await context.close();
  const { context: other, page: looks } = await open(browser, still.url, "study, view");
  await logIn(looks, still.url, "view");
  await looks.goto(`${still.url}/studies/study-iccl-quick`);
  await looks.locator(".spot .number").first().waitFor();
  check((await looks.getByRole("button", { name: /^(Stop|Go on|Copy the command)/ }).count()) === 0, "study: buttons are offered that a viewer may not use");
  await other.close();
}

async function keyboard() {
  const { context, page } = await open(browser, still.url, "keyboard");
  await logIn(page, still.url, "operate");
  await page.locator(".queue-item").nth(2).waitFor();
  const order = () => page.locator(".queue-name a").allTextContents();
  const before = await order();
  // By keys: take the last one, two places up.
  await page.locator(".queue-item").first().focus();
  for (const key of ["ArrowDown", "ArrowDown", "Tab", "Enter"]) await page.keyboard.press(key);
  // Keys that come before the place has the focus move something else.
  const place = () => page.evaluate(() => document.activeElement?.closest(".react-aria-DropIndicator") && document.activeElement.getAttribute("aria-label"));
  let last = await until("a place in the queue can be chosen", place);
  for (let up = 0; up < 2; up++) {
    await page.keyboard.press("ArrowUp");
    const left = last;
    last = await until("the place above is chosen", async () => {
      const now = await place();
      return now !== left && now;
    });
  }
  await page.keyboard.press("Enter");
  await until("the queue is in another order", async () => (await order()).join() !== before.join());
  // The places are gone: where runs stand is where the pointer finds them.
  await until("no place is chosen any more", async () => !(await place()));
  await drawn(page);
  await comes(async () => (await order()).length === 3, "keyboard: runs are missing from the queue");
  // By pointer: the first to the end.
  const now = await order();
  const [from, to] = [await page.locator(".queue-item").first().boundingBox(), await page.locator(".queue-item").nth(2).boundingBox()];
  await page.mouse.move(from.x + 16, from.y + 16);
  await page.mouse.down();
  await page.mouse.move(from.x + 20, from.y + 30, { steps: 4 });
  await page.mouse.move(to.x + 30, to.y + to.height - 2, { steps: 8 });
  await page.mouse.up();
  await until("dragging changed the order", async () => (await order()).join() !== now.join());
  const third = await order();
  await page.getByRole("button", { name: /^Move .* down$/ }).first().click();
  await until("a button changed the order", async () => (await order()).join() !== third.join());
  await page.locator("body").press("?");
  await page.getByRole("dialog").waitFor();
  await axe(page, "keys");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.locator("body").press("/");
  await comes(() => page.evaluate(() => document.activeElement?.getAttribute("type") === "search"), "keyboard: / does not go to the search");
  await page.keyboard.type("nightly");
  await until("the history is searched", async () => {
    const rows = await page.locator(".history tbody tr").count();
    return rows > 0 && rows < 14 && page.url().includes("search=nightly");
  });
  await page.locator("body").press("Escape");
  // Sorted and filtered by the controller, over all runs; a run is deleted after one question.
  await page.goto(`${still.url}/`);
  await page.locator(".history tbody tr").nth(5).waitFor();
  const cells = (at) => page.locator(`.history tbody tr td:nth-child(${at})`).allTextContents();
  await page.locator(".history").getByRole("button", { name: "op/s" }).click();
  await until("the history is sorted by rate", async () => {
    const rates = (await cells(5)).map((text) => Number(text.replace(/[^\d.]/g, "")));
    return rates.length > 5 && rates.every((rate, at) => rate > 0 && (at === 0 || rates[at - 1] >= rate)) && page.url().includes("sort=throughput");
  });
  await page.getByRole("combobox", { name: "Verdict" }).selectOption("not_proven");
  await until("the history shows one verdict", async () => { const verdicts = await cells(8); return verdicts.length > 0 && verdicts.every((one) => /not proven/.test(one)); });
  const doomed = (await cells(2))[0];
  await page.getByRole("button", { name: `Delete ${doomed}`, exact: true }).click();
  await page.getByRole("button", { name: "Delete the run" }).click();
  await until("the deleted run is gone from the history", async () => !(await cells(2)).includes(doomed));
  await page.getByRole("alertdialog").waitFor({ state: "detached" });
  // The second key counts for 1.5 s after the first, which is little where each takes its time.
  await until("g and t go to the targets", async () => {
    await page.evaluate(() => document.activeElement?.blur());
    await page.keyboard.press("g");
    await page.keyboard.press("t");
    return page.waitForURL(/\/targets/, { timeout: PATIENCE_MS / 8 }).then(() => true, () => false);
  });
  await page.goto(`${still.url}/submit`);
  const editor = page.locator(".cm-content");
  // Typed before the schema has come, there is nothing to complete with: then it is typed again.
  await until("the editor completes", async () => {
    await editor.click();
    await page.keyboard.press("Control+a");
    await page.keyboard.type("st");
    return page.locator(".cm-tooltip-autocomplete").waitFor({ timeout: PATIENCE_MS / 8 }).then(() => true, () => false);
  });
  await comes(async () => (await page.locator(".cm-tooltip-autocomplete").textContent()).includes("stages"), "editor: the schema completes nothing");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+a");
  await page.keyboard.type("name: x\nwrkers: 1");
  await page.locator(".cm-lintRange-error").waitFor();
  await comes(async () => (await page.locator(".mistakes").first().textContent()).includes("Did you mean"), "editor: the mistake has no hint");
  await comes(() => page.getByRole("button", { name: "Submit", exact: true }).isDisabled(), "editor: a workload with mistakes can be submitted");
  await context.close();
}

async function live() {
  // 24 drivers with two operations, and all together: 50 series; 20 simulated minutes.
  const mock = await startMock({ drivers: 24, mainS: 1200, manual: true, queued: 2, schema: SCHEMA });
  const run = [...mock.runs.values()].find((one) => one.summary.state === "processing");
  const { context, page } = await open(browser, mock.url, "live");
  await page.addInitScript(() => {
    globalThis.shifts = [];
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) if (!entry.hadRecentInput) globalThis.shifts.push({ value: entry.value, at: entry.startTime, what: entry.sources.map((source) => source.node?.className ?? source.node?.nodeName).join(" ") });
    }).observe({ type: "layout-shift", buffered: true });
  });
  await logIn(page, mock.url, "operate");
  await page.goto(`${mock.url}/runs/${run.summary.id}`);
  await page.locator(".timeline").waitFor();
  const shown = async () => Number(/\d+/.exec(await page.locator(".live-tools > .soft").textContent())[0]);
  /** Lets time go by up to a second of the main stage, and waits until the page shows it. */
  const reach = async (second) => {
    while (run.stages[run.at.stage]?.id !== "s3-main") await mock.step(run, 1);
    await mock.step(run, second - run.at.t);
    await until(`second ${second} is shown`, async () => (await shown()) >= second);
  };
  await mock.step(run, 20);
  await page.locator('[data-chart="heat"] canvas').first().waitFor();
  await reach(30);
  await drawn(page);
  await page.evaluate(() => (globalThis.shifts = []));
  /**
   * What somebody does may move the page, on a busy machine later than the 500 ms within which the browser puts it down
   * to that. No interval comes meanwhile.
   */
  const byHand = async (act) => {
    await drawn(page);
    const before = await page.evaluate(() => globalThis.shifts.length);
    await act();
    await drawn(page);
    await page.evaluate((before) => void globalThis.shifts.splice(before), before);
  };
  const cdp = await context.newCDPSession(page);
  // What is alive is the least of some readings: a render that is under way, or garbage that one collection left, is not kept.
  const heap = async () => {
    let least = null;
    for (let reading = 0; reading < 5; reading++) {
      await drawn(page);
      await cdp.send("HeapProfiler.collectGarbage");
      const { usedSize, backingStorageSize = 0 } = await cdp.send("Runtime.getHeapUsage");
      const { metrics } = await cdp.send("Performance.getMetrics");
      const now = { bytes: usedSize + backingStorageSize, nodes: metrics.find((one) => one.name === "Nodes")?.value ?? 0 };
      if (least === null || now.bytes < least.bytes) least = now;
      await page.waitForTimeout(200);
    }
    return least;
  };
  await cdp.send("Performance.enable");
  for (let second = 60; second <= 180; second += 30) await reach(second);
  const first = await heap();
  await byHand(async () => {
    await page.getByRole("button", { name: "by driver" }).click();
    await until("lines by driver", async () => (await page.locator('[data-chart="throughput"] .legend button').count()) === 24);
  });
  await axe(page, "live");
  await shot(page, "live-by-driver-light");
  await byHand(async () => {
    await page.getByRole("button", { name: "by operation" }).click();
    await until("lines by operation", async () => (await page.locator('[data-chart="throughput"] .legend button').count()) === 2);
  });

  // The pointer shows exact values, and they stay while new ones come.
  const plot = page.locator('[data-chart="throughput"] .plot');
  await plot.scrollIntoViewIfNeeded();
  const box = await plot.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + 90);
  await page.locator('[data-chart="throughput"] .tip').waitFor();
  for (let second = 200; second <= 260; second += 20) await reach(second);
  check((await page.locator('[data-chart="throughput"] .tip').count()) > 0, "live: the values under the pointer went away");
  // A selection zooms every chart over time.
  await byHand(async () => {
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.7, box.y + 90, { steps: 4 });
    await page.mouse.up();
    await comes(async () => (await page.locator(".unzoom").count()) >= 4, "live: a selection zooms one chart only");
    await plot.focus();
    await page.keyboard.press("0");
    await until("all is shown again", async () => (await page.locator(".unzoom").count()) === 0);
  });
  // A click on the legend isolates.
  const entries = page.locator('[data-chart="throughput"] .legend button');
  await byHand(async () => {
    await entries.nth(1).click();
    await comes(async () => (await entries.evaluateAll((all) => all.map((one) => one.getAttribute("aria-pressed")))).join() === "false,true", "live: a click on the legend does not isolate");
    await entries.nth(1).click();
  });

  // A tab that nobody sees draws no chart; seen again it shows what came meanwhile.
  const drawing = () => page.evaluate(() => document.querySelector('[data-chart="throughput"] canvas').toDataURL());
  const see = (state) => page.evaluate((state) => {
    Object.defineProperty(document, "visibilityState", { value: state, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }, state);
  await see("hidden");
  await reach(270);
  // What was begun before is on the canvas, and what must not be would be.
  await drawn(page);
  const unseen = await drawing();
  await reach(280);
  await drawn(page);
  check((await drawing()) === unseen, "live: a chart is drawn in a tab that nobody sees");
  // On paper every chart is there as it is now.
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  await comes(async () => (await drawing()) !== unseen, "live: what is printed is behind");
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  await drawn(page);
  const printed = await drawing();
  await reach(285);
  await see("visible");
  await until("what came while nobody saw the tab is drawn", async () => (await drawing()) !== printed);

  // The connection is lost, said so, and comes back with the state as it was.
  await page.evaluate(() => (globalThis.sameP = true));
  mock.cut();
  await page.locator(".stale").waitFor();
  await shot(page, "stale-light", false);
  mock.mend();
  await page.locator(".stale").waitFor({ state: "detached" });
  const count = async () => Number((await page.locator(".live-cards .card").first().locator("p").nth(1).textContent()).replace(/\D/g, ""));
  const counted = await count();
  await mock.step(run, 10);
  await until("the run goes on after the connection was lost", async () => (await count()) > counted);
  check(await page.evaluate(() => globalThis.sameP === true), "live: the page was loaded anew after the connection was lost");
  const told = run.news.filter(([name, data]) => name === "interval" && data.stage === "s3-main");
  const all = told.reduce((sum, [, data]) => sum + data.rows.filter((row) => row.driver === null).reduce((a, row) => a + row.count, 0), 0);
  await until("every operation that was told is shown once", async () => (await count()) === all);

  // Every chart has been drawn once, and is out of sight again.
  const memory = [first];
  for (let second = 300; second <= 1140; second += 60) {
    await reach(second);
    if (second === 600 || second === 780) memory.push(await heap());
  }
  const last = await heap();
  memory.push(last);
  const mib = (one) => one.bytes / 2 ** 20;
  console.log(`memory in MiB after 3, 10, 13, 19 min: ${memory.map((one) => mib(one).toFixed(1)).join(" ")}; nodes ${memory.map((one) => one.nodes).join(" ")}`);
  // Bins fill up to their number; from then on nothing grows.
  const grown = mib(last) - Math.max(...memory.slice(1, 3).map(mib));
  check(grown < 4, `live: memory grew by ${grown.toFixed(1)} MiB in the last six simulated minutes`);
  check(mib(last) - mib(first) < 20, `live: memory grew by ${(mib(last) - mib(first)).toFixed(1)} MiB in all`);
  // The log keeps 500 lines of about nine nodes each.
  check(last.nodes < 9000, `live: nodes grew from ${first.nodes} to ${last.nodes}`);
  const shifts = await page.evaluate(() => globalThis.shifts);
  const moved = shifts.reduce((sum, one) => sum + one.value, 0);
  check(moved < 0.1, `live: the layout shifted by ${moved.toFixed(3)}: ${shifts.slice(0, 5).map((one) => `${one.what} ${one.value.toFixed(3)}`).join("; ")}`);
  await longShot(page, "live-light");
  await page.emulateMedia({ colorScheme: "dark" });
  await axe(page, "live dark");
  await longShot(page, "live-dark");
  // Paper is white: what is printed is dark upon it, whatever the screen is.
  const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  await comes(async () => (await theme()) === "light", "a page is printed in the colours of a dark screen");
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  await comes(async () => (await theme()) === "dark", "the screen stays light behind a print");
  await fits(page, "live");

  // After its end the same page shows the results.
  await mock.step(run, 1000);
  check(run.summary.state === "finished", "the run has not ended");
  await page.locator(".verdict").waitFor();
  await page.locator('[data-chart="distribution"] canvas').waitFor();
  await context.close();
  await mock.stop();
}

function size() {
  const bytes = readdirSync(DIST).filter((name) => name.endsWith(".js")).reduce((sum, name) => sum + gzipSync(readFileSync(`${DIST}/${name}`)).length, 0);
  console.log(`JavaScript, compressed: ${bytes} bytes`);
  check(bytes < MOST_JS_BYTES, `JavaScript is ${bytes} bytes compressed`);
}

async function firstPaint() {
  const { context, page } = await open(browser, still.url, "first paint");
  await logIn(page, still.url, "operate");
  await page.goto(`${still.url}/`);
  await page.locator(".queue-item").first().waitFor();
  // What is in the page may not be painted yet.
  let ms = 0;
  await comes(async () => {
    ms = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0);
    return ms > 0;
  }, "there was no first paint");
  // A figure to read; a busy machine is no failure of the page.
  console.log(`first contentful paint: ${Math.round(ms)} ms`);
  await context.close();
}

const wanted = process.argv[2];
await parts([
  ["size", size], ["pages", everyPage], ["screens", otherScreens], ["viewer", whoMayOnlyLook], ["study", study],
  ["keyboard", keyboard], ["live", live], ["paint", firstPaint],
].filter(([name]) => !wanted || wanted.split(",").includes(name)));
await close(() => browser.close(), () => still.stop());
finish("The console was driven against scripted runs");
