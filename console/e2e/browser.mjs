// What the tests of the console in a browser share: the browser, checks that are counted, axe, screenshots.
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
export const OUT = process.env.COSMARK_ARTEFACTS ?? fileURLToPath(new URL("./artefacts", import.meta.url));
/** The machine may be slow and busy: what takes longer than this is a failure. */
export const PATIENCE_MS = Number(process.env.COSMARK_PATIENCE_MS ?? 120_000);
/** For runs, maybe some that come before: their own time is as long as ever, and all that goes with it grows. */
export const RUNS_MS = 4 * PATIENCE_MS;
/** A part waits for many things, and for some without a limit of their own: a frozen page answers no question. */
const PART_MS = 12 * PATIENCE_MS;
const CLOSING_MS = 15_000;

export const problems = [];
let checks = 0;

export function check(holds, text) {
  checks += 1;
  if (!holds) {
    problems.push(text);
    console.log(`FAILED ${text}`);
  }
  return holds;
}

export async function launch() {
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  if (!existsSync(executablePath)) {
    console.error(`no browser at ${executablePath}`);
    process.exit(77);
  }
  mkdirSync(OUT, { recursive: true });
  return chromium.launch({
    executablePath,
    timeout: PATIENCE_MS,
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
}

let pageErrors = 0;
let brokenPage = () => {};

/** A page that counts as a failure what it should not do: errors, and requests to anywhere but `base`. */
export async function open(browser, base, name, options = {}) {
  const context = await browser.newContext({ acceptDownloads: true, viewport: { width: 1280, height: 720 }, timezoneId: "UTC", ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  page.setDefaultNavigationTimeout(PATIENCE_MS);
  const allowed = { errors: /status of 401|status of 404|ERR_CONNECTION|ERR_EMPTY_RESPONSE|ERR_INCOMPLETE|ERR_NETWORK|ERR_SOCKET|status of 503/ };
  page.on("console", (message) => {
    // A run whose directory is being made has no archive for a moment, and a study may be over when it is to be stopped.
    const isOfMoment = /status of 409/.test(message.text()) && /\/runs\/w\d+\/|\/studies\/[^/]+\/stop$/.test(message.location().url);
    if (message.type() === "error" && !isOfMoment && !allowed.errors.test(message.text())) check(false, `${name}: console: ${message.text()}`);
  });
  page.on("pageerror", (error) => {
    check(false, `${name}: error: ${error.message}`);
    // What is waited for would hardly come any more.
    if (++pageErrors === 1) brokenPage(new Error(`the page ${name} threw: ${error.message}`));
  });
  // What the browser says of it names neither the address nor the reason.
  page.on("response", async (response) => {
    if (response.status() < 500 || response.status() === 503) return;
    console.log(`-- ${name}: ${response.status()} of ${response.url()}: ${(await response.text().catch(String)).slice(0, 300)}`);
  });
  page.on("request", (request) => {
    if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(`${base}/`)) check(false, `${name}: request to ${request.url()}`);
  });
  return { context, page };
}

export async function logIn(page, base, token) {
  await page.goto(`${base}/`);
  await page.locator("input[name=token]").fill(token);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.locator(".bar-top").waitFor();
}

const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** `recoloured`: the same page as the last one, in other colours. */
export async function axe(page, name, recoloured = false) {
  // Once for a document: it is half a megabyte to read.
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axeSource);
  const runOnly = recoloured ? { type: "rule", values: ["color-contrast"] } : RULES;
  const result = await page.evaluate((runOnly) => globalThis.axe.run(document, { runOnly }), runOnly);
  for (const violation of result.violations) {
    const where = violation.nodes.slice(0, 3).map((node) => node.target.join(" ")).join(" | ");
    check(false, `${name}: axe ${violation.id}: ${violation.help} at ${where}`);
  }
  check(result.passes.length > (recoloured ? 0 : 8), `${name}: axe looked at hardly anything`);
}

/** Nothing is wider than the window. */
export async function fits(page, name) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  check(wide <= 0, `${name}: scrolls sideways by ${wide} px`);
}

/** For somebody who looks at them: where nobody does (COSMARK_SHOTS=no), only what broke off is taken. */
export async function shot(page, name, fullPage = true, always = false) {
  if (process.env.COSMARK_SHOTS === "no" && !always) return;
  await page.screenshot({ path: join(OUT, `${name}.png`), fullPage });
}

/** The whole of a page whose charts are drawn only while they are in sight. */
export async function longShot(page, name) {
  if (process.env.COSMARK_SHOTS === "no") return;
  const before = page.viewportSize();
  await page.setViewportSize({ width: before.width, height: await page.evaluate(() => document.documentElement.scrollHeight) });
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 600)))));
  await shot(page, name, false);
  await page.setViewportSize(before);
}

/** Until what the page has to draw by now is drawn: a frame is painted between the two. */
export async function drawn(page) {
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)))));
}

/** Until something holds; asked again and again. */
export async function until(what, holds, limitMs = PATIENCE_MS) {
  const end = Date.now() + limitMs;
  for (;;) {
    const value = await holds();
    if (value) return value;
    if (Date.now() > end) throw new Error(`waited ${limitMs / 1000} s in vain for: ${what}`);
    await new Promise((done) => setTimeout(done, 100));
  }
}

/** A check of what may still be on its way to the page: it has failed when it does not hold within the test's patience. */
export async function comes(holds, text) {
  const came = await until(text, holds).catch((error) => {
    if (!error.message.startsWith("waited")) throw error;
    return false;
  });
  return check(came, text);
}

/** What does not come within its time, or whose page broke, fails and is waited for no longer. */
async function within(limitMs, what) {
  let timer;
  const late = new Promise((_, fail) => {
    timer = setTimeout(() => fail(new Error(`not done after ${limitMs / 1000} s`)), limitMs);
    pageErrors = 0;
    brokenPage = fail;
  });
  return Promise.race([what, late]).finally(() => clearTimeout(timer));
}

/** Runs parts one after another; one that breaks off is one failure, and ends it where the others need it. */
export async function parts(all, dependent = false) {
  for (const [name, part] of all) {
    if (dependent && problems.some((one) => one.startsWith("broke off"))) {
      console.log(`${name}: not run`);
      continue;
    }
    const began = Date.now();
    try {
      await within(PART_MS, part());
    } catch (error) {
      check(false, `broke off in ${name}: ${error.message.split("\n").slice(0, 6).join(" ")}`);
    }
    console.log(`${name}: ${((Date.now() - began) / 1000).toFixed(1)} s`);
  }
}

/** Ends what a test has opened, one after another; what does not end is left behind, and no failure of what was tested. */
export async function close(...all) {
  for (const one of all) await within(CLOSING_MS, one()).catch((error) => console.log(`closing: ${error.message}`));
}

/** Says how it went and ends the process, whatever still waits in it. */
export function finish(what) {
  console.log(process.env.COSMARK_SHOTS === "no" ? what : `${what}; screenshots in ${OUT}`);
  const result = `test result: ${problems.length ? "FAILED" : "ok"}. ${Math.max(0, checks - problems.length)} passed; ${problems.length} failed; 0 ignored\n`;
  process.stdout.write(result, () => process.exit(problems.length ? 1 : 0));
}
