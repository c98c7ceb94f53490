// The data that `cosmark report` put into the page.
import type { ReportData } from "./types";

/** The data, or a sentence that says why there is none. */
export function loadReport(document: Document): ReportData | string {
  const text = document.getElementById("report-data")?.textContent ?? "";
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return "The data of this report is damaged. Make it again with: cosmark report RUN";
  }
  if (typeof value !== "object" || value === null || !("stages" in value)) {
    return "This is the empty page. A report with data is made by: cosmark report RUN";
  }
  return value as ReportData;
}
