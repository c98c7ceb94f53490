// Screenshots for the documents: the report of a run and pages of the console over an archive, in headless Chromium:
//   node e2e/gallery.mjs COSMARK ARCHIVE OUT           COSMARK is the binary, built after the console; scripts/gallery.sh calls it
//   node e2e/gallery.mjs COSMARK STUDIES OUT STUDY     only the page of a study, whose directory STUDY lies in STUDIES
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [given, archive, out, study] = process.argv.slice(2);
if (!out) {
  console.error("usage: node e2e/gallery.mjs COSMARK ARCHIVE OUT | COSMARK STUDIES OUT STUDY");
  process.exit(2);
}
const cosmark = resolve(given);
const PATIENCE_MS = 120_000;
const work = mkdtempSync(join(tmpdir(), "cosmark-gallery-"));
const state = join(work, "state");
const made = spawnSync(cosmark, ["controller", "--state", state, "--add-token", "gallery"], { encoding: "utf8" });
const token = made.stdout.trim().split("\n").pop();
const controller = spawn(cosmark, ["controller", "--local", "--threads", "1", "--listen", "127.0.0.1:0", "--state", state, "--archive", study ? join(work, "archive") : resolve(archive), ...(study ? ["--studies", resolve(archive)] : [])], { stdio: "ignore" });
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"],
});

async function address() {
  const file = join(state, "address");
  const end = Date.now() + PATIENCE_MS;
  while (!existsSync(file) && Date.now() < end) await new Promise((done) => setTimeout(done, 100));
  return readFileSync(file, "utf8").trim();
}

try {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, timezoneId: "UTC", colorScheme: "light" });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  page.setDefaultNavigationTimeout(PATIENCE_MS);
  if (!study) await reportPage(page);
  const base = await address();
  await page.goto(`${base}/`);
  await page.locator("input[name=token]").fill(token);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.locator(".bar-top").waitFor();
  const pages = study ? [[`studies/${study}`, "console-study"]] : [["", "console"], ["runs/w3", "console-run"], ["compare?runs=w1,w2", "console-compare"]];
  for (const [path, name] of pages) {
    await page.goto(`${base}/${path}`);
    await page.waitForTimeout(4000);
    await page.screenshot({ path: join(out, `${name}.png`) });
  }
} finally {
  await browser.close();
  controller.kill("SIGTERM");
  rmSync(work, { recursive: true, force: true });
}

async function reportPage(page) {
  const report = join(work, "report.html");
  const written = spawnSync(cosmark, ["report", "w3", "--archive", resolve(archive), "-o", report], { encoding: "utf8" });
  if (written.status !== 0) throw new Error(written.stderr);
  await page.goto(pathToFileURL(report).href);
  await page.waitForSelector(".verdict");
  await page.waitForSelector("canvas, svg");
  await page.waitForTimeout(1500);
  await page.screenshot({ path: join(out, "report.png") });
}
