// Opens real reports from file:// in headless Chromium and says what is wrong with them:
//   node e2e/report.mjs OUT REPORT.html..      OUT is a directory for screenshots and what is downloaded
// Checked: no error on the console, no request but for the file itself, size, axe-core, keyboard, legend, zoom, CSV, files,
// no sideways scrolling on a phone, no broken figures on paper. Environment: CHROMIUM, the browser's path (default
// /usr/bin/chromium); COSMARK_SHOTS=no: no screenshots.
import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const MOST_BYTES = 3_000_000;
/** The machine may be slow and busy: what takes longer than this is a failure. */
const PATIENCE_MS = Number(process.env.COSMARK_PATIENCE_MS ?? 120_000);
const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const [out, ...reports] = process.argv.slice(2);
if (!out || reports.length === 0) {
  console.error("usage: node e2e/report.mjs OUT REPORT.html..");
  process.exit(2);
}
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
if (!existsSync(executablePath)) {
  console.error(`no browser at ${executablePath}`);
  process.exit(77);
}
mkdirSync(out, { recursive: true });
const browser = await chromium.launch({
  executablePath,
  timeout: PATIENCE_MS,
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"],
});
const problems = [];
let checks = 0;

function check(report, holds, text) {
  checks += 1;
  if (!holds) problems.push(`${report}: ${text}`);
}

/** A check of what may still be on its way to the page: asked again and again. */
async function comes(report, holds, text) {
  const end = Date.now() + PATIENCE_MS;
  let came = await holds();
  while (!came && Date.now() < end) {
    await new Promise((done) => setTimeout(done, 50));
    came = await holds();
  }
  check(report, came, text);
}

/** Until each chart that has a place is on its canvas, and a frame is painted after it. */
async function painted(page) {
  const all = () => page.evaluate(() => {
    const has = (box) => box.clientWidth === 0 || box.querySelector("canvas") !== null;
    return [...document.querySelectorAll("[data-chart] .plot > .canvas")].every(has);
  });
  const end = Date.now() + PATIENCE_MS;
  while (!(await all()) && Date.now() < end) await page.waitForTimeout(50);
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)))));
}

async function open(report, name, options) {
  const context = await browser.newContext({ acceptDownloads: true, ...options });
  const page = await context.newPage();
  const url = pathToFileURL(resolve(report)).href;
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) check(name, false, `console: ${message.text()}`);
  });
  page.on("pageerror", (error) => check(name, false, `error: ${error.message}`));
  page.on("request", (request) => {
    const own = request.url() === url || /^(data|blob):/.test(request.url());
    check(name, own, `request to ${request.url()}`);
  });
  page.setDefaultTimeout(PATIENCE_MS);
  await page.goto(url);
  await page.waitForSelector(".verdict");
  await painted(page);
  return { context, page };
}

/** For somebody who looks at them: where nobody does (COSMARK_SHOTS=no), none is taken. */
async function shot(page, name, fullPage = false) {
  if (process.env.COSMARK_SHOTS !== "no") await page.screenshot({ path: join(out, `${name}.png`), fullPage });
}

const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** `recoloured`: the same page as one that was looked at, in other colours. */
async function axe(page, name, recoloured) {
  await page.evaluate(axeSource);
  const runOnly = recoloured ? { type: "rule", values: ["color-contrast"] } : RULES;
  const result = await page.evaluate((runOnly) => globalThis.axe.run(document, { runOnly }), runOnly);
  for (const violation of result.violations) {
    const where = violation.nodes.slice(0, 3).map((node) => node.target.join(" ")).join(" | ");
    check(name, false, `axe ${violation.id}: ${violation.help} at ${where}`);
  }
  check(name, result.passes.length > (recoloured ? 0 : 10), "axe looked at hardly anything");
}

async function interact(page, name) {
  const verdictFirst = await page.evaluate(() => document.querySelector("main > section")?.classList.contains("verdict"));
  check(name, verdictFirst, "the verdict is not the first thing");
  const chart = page.locator('[data-chart="throughput"]');
  // One that has nothing to draw says so.
  if ((await chart.count()) === 0 || (await chart.locator(".plot").count()) === 0) return;
  await chart.locator("canvas").first().scrollIntoViewIfNeeded();
  const entries = chart.locator(".legend button");
  if ((await entries.count()) > 1) {
    await entries.nth(1).click();
    const pressed = () => entries.evaluateAll((all) => all.map((one) => one.getAttribute("aria-pressed")));
    const isolated = async () => (await pressed()).every((one, at) => (one === "true") === (at === 1));
    await comes(name, isolated, "a click on the legend does not isolate");
    await entries.nth(1).click();
  }
  const plot = chart.locator(".plot");
  await plot.focus();
  for (let i = 0; i < 4; i += 1) await page.keyboard.press("ArrowRight");
  await comes(name, async () => (await chart.locator(".tip").count()) > 0, "arrow keys show no values");
  await painted(page);
  const box = await plot.boundingBox();
  await page.mouse.move(box.x + box.width * 0.4, box.y + 80);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.7, box.y + 90, { steps: 4 });
  await page.mouse.up();
  const overTime = await page.locator('[data-chart="heat"] canvas').count();
  await comes(name, async () => (await page.locator(".unzoom").count()) >= 1 + overTime, `a selection zooms fewer charts than ${1 + overTime}`);
  await shot(page, `${name}-zoom`);
  await plot.focus();
  await page.keyboard.press("0");
  await comes(name, async () => (await page.locator(".unzoom").count()) === 0, "0 does not show all again");
  await chart.getByRole("button", { name: "Table" }).click();
  await comes(name, async () => (await chart.locator(".values tbody tr").count()) > 0, "the table of values is empty");
  await chart.getByRole("button", { name: "Table" }).click();
  for (const kind of ["PNG", "SVG"]) {
    const [download] = await Promise.all([page.waitForEvent("download"), chart.getByRole("button", { name: kind }).click()]);
    const path = join(out, `${name}-${download.suggestedFilename()}`);
    await download.saveAs(path);
    check(name, statSync(path).size > 2000, `${kind} is empty`);
  }
  await page.evaluate(() => {
    globalThis.copied = "";
    Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => { globalThis.copied = text; } }, configurable: true });
  });
  await chart.getByRole("button", { name: "Copy CSV" }).click();
  const copied = () => page.evaluate(() => globalThis.copied.startsWith("time_s,") && globalThis.copied.split("\r\n").length > 2);
  await comes(name, copied, "the CSV is empty");
}

/** On paper every figure, and every name where the time went, stands in one piece. */
async function printed(page, name) {
  await page.emulateMedia({ media: "print" });
  await painted(page);
  const broken = await page.evaluate(() => {
    const cells = [...document.querySelectorAll("main td:not(.text), main thead th:not(.text), .spent-rows th")];
    const pieces = (cell) => {
      const found = [];
      const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
      for (let text = texts.nextNode(); text; text = texts.nextNode()) {
        for (const word of text.data.matchAll(/[^ \n]+/g)) {
          const range = document.createRange();
          range.setStart(text, word.index);
          range.setEnd(text, word.index + word[0].length);
          if (new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1) found.push(word[0]);
        }
      }
      return found;
    };
    return cells.flatMap(pieces);
  });
  check(name, broken.length === 0, `on paper ${broken.length} figures are broken into lines, such as ${broken.slice(0, 3).join(", ")}`);
}

for (const report of reports) {
  const name = basename(resolve(report, "..")) || basename(report, ".html");
  check(name, statSync(report).size < MOST_BYTES, `${statSync(report).size} bytes`);
  for (const colorScheme of ["light", "dark"]) {
    const { context, page } = await open(report, name, { colorScheme, viewport: { width: 1280, height: 720 } });
    await shot(page, `${name}-${colorScheme}-first`);
    await shot(page, `${name}-${colorScheme}`, true);
    await axe(page, `${name} ${colorScheme}`, colorScheme === "dark");
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    check(name, wide <= 0, `scrolls sideways by ${wide} px at 1280`);
    if (colorScheme === "light") await interact(page, name);
    await context.close();
  }
  const { context, page } = await open(report, name, { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  check(name, wide <= 0, `scrolls sideways by ${wide} px on a phone`);
  await shot(page, `${name}-phone`);
  // Names of operations may be long, and have no blanks.
  await page.evaluate(() => {
    const named = document.querySelectorAll(".legend button, .segments button, .spent-rows th, td.text:first-child");
    for (const one of named) one.append("L".repeat(200));
  });
  const long = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  check(name, long <= 0, `scrolls sideways by ${long} px on a phone where names are long`);
  await context.close();
  // A4 without its margins.
  const paper = await open(report, name, { viewport: { width: 718, height: 1000 } });
  await printed(paper.page, name);
  await paper.context.close();
}
await browser.close();
problems.forEach((problem) => console.log(`FAILED ${problem}`));
console.log(`${reports.length} reports opened${process.env.COSMARK_SHOTS === "no" ? "" : `; screenshots in ${resolve(out)}`}`);
console.log(`test result: ${problems.length ? "FAILED" : "ok"}. ${checks - problems.length} passed; ${problems.length} failed; 0 ignored`);
process.exit(problems.length ? 1 : 0);
