// Numbers as people read them (`short`) and as they are (`exact`). Times come in milliseconds.

export type Unit = "per_s" | "bytes_per_s" | "bytes" | "ms" | "count" | "share" | "s" | "none" | "bits_per_s" | "ns";

/** What stands where there is no value. */
export const NO_VALUE = "–";

/** `digits` significant digits, without trailing zeros behind the point, never with an exponent. */
export function significant(value: number, digits: number): string {
  if (value === 0) return "0";
  const magnitude = Math.floor(Math.log10(Math.abs(value)));
  const behind = Math.max(0, Math.min(12, digits - 1 - magnitude));
  const text = grouped(Number(value.toFixed(behind)), behind);
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** Digits in groups of three, with thin spaces. */
export function grouped(value: number, behind = 0): string {
  const [whole = "", fraction] = Math.abs(value).toFixed(behind).split(".");
  const spaced = whole.replace(/\B(?=(\d{3})+(?!\d))/g, "\u2009");
  return `${value < 0 ? "−" : ""}${spaced}${fraction ? `.${fraction}` : ""}`;
}

const DECIMAL = ["B", "kB", "MB", "GB", "TB", "PB"];

/** `12.3 MB`: decimal, as the terminal writes it (format.cases.json). */
export function bytes(value: number): string {
  return scaled(value, 1000, DECIMAL);
}

function scaled(value: number, step: number, units: string[]): string {
  let size = value;
  let at = 0;
  while (Math.abs(size) >= step * 0.9995 && at < units.length - 1) {
    size /= step;
    at += 1;
  }
  return `${at === 0 && units === DECIMAL ? grouped(Math.round(size)) : significant(size, 3)}\u00a0${units[at]}`;
}

/** A duration given in ms: `250 µs`, `6.71 ms`, `1.23 s`, `2 min 5 s`. */
export function duration(ms: number): string {
  const size = Math.abs(ms);
  if (size === 0) return "0\u00a0ms";
  if (size < 0.0009995) return `${significant(ms * 1e6, 3)}\u00a0ns`;
  if (size < 0.9995) return `${significant(ms * 1000, 3)}\u00a0µs`;
  if (size < 999.5) return `${significant(ms, 3)}\u00a0ms`;
  if (size < 119_500) return `${significant(ms / 1000, 3)}\u00a0s`;
  const seconds = Math.round(ms / 1000);
  const [h, min, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return (h > 0 ? [`${h} h`, min && `${min} min`] : [`${min} min`, s && `${s} s`]).filter(Boolean).join(" ");
}

/** A share 0..1 in per cent; what is not quite none or all never looks as if it were. */
export function share(value: number): string {
  const percent = value * 100;
  if (percent > 0 && percent < 0.001) return "<\u20090.001\u00a0%";
  if (percent < 100 && percent > 99.999) return ">\u200999.999\u00a0%";
  const behind = percent === 0 || percent >= 99.9995 ? 0 : percent >= 10 && percent < 99.9 ? 1 : percent >= 1 && percent < 99 ? 2 : 3;
  return `${percent.toFixed(behind).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "")}\u00a0%`;
}

/** For axes, cards and tables. */
export function short(value: number | null | undefined, unit: Unit): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NO_VALUE;
  switch (unit) {
    case "per_s":
      return significant(value, 3);
    case "bytes_per_s":
      return `${bytes(value)}/s`;
    case "bytes":
      return bytes(value);
    case "bits_per_s":
      return scaled(value, 1000, ["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"]);
    case "ms":
      return duration(value);
    case "ns":
      return duration(value / 1e6);
    case "s":
      return duration(value * 1000);
    case "share":
      return share(value);
    case "count":
      return Number.isInteger(value) ? grouped(value) : significant(value, 3);
    case "none":
      return significant(value, 4);
  }
}

/** Under the pointer and in tables of values: nothing rounded away that the data has. */
export function exact(value: number | null | undefined, unit: Unit): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return NO_VALUE;
  switch (unit) {
    case "per_s":
      // One in some minutes is a rate, too.
      return `${value !== 0 && Math.abs(value) < 0.1 ? significant(value, 3) : grouped(value, value < 100 ? 2 : 1)}/s`;
    case "bytes_per_s":
      return `${bytes(value)}/s (${grouped(Math.round(value))} B/s)`;
    case "bytes":
      return `${bytes(value)} (${grouped(value)} B)`;
    case "ms":
      return value >= 1000 ? `${duration(value)} (${grouped(value, 0)} ms)` : `${significant(value, 4)}\u00a0ms`;
    case "count":
      return Number.isInteger(value) ? grouped(value) : significant(value, 5);
    default:
      return short(value, unit);
  }
}

/** Seconds since the load began, as an axis shows them: `45 s`, `2:05`, `1:02:05`. */
export function clock(seconds: number): string {
  if (Math.abs(seconds) < 120) return `${significant(seconds, 4)}\u00a0s`;
  const whole = Math.round(seconds);
  const [h, min, s] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return h > 0 ? `${h}:${two(min)}:${two(s)}` : `${min}:${two(s)}`;
}

/** Place on the percentile axis (log10 of "one in N") as a percentile: 2 is `99 %`. */
export function percentile(nines: number): string {
  const percent = 100 - 100 / 10 ** nines;
  const behind = Math.max(0, Math.min(6, Math.ceil(nines) - 1));
  return `${percent.toFixed(behind).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "")}\u00a0%`;
}

/** Which clock moments are shown by: the report's is UTC, the console's is chosen. */
export type Zone = "utc" | "local";

let zone: Zone = "utc";

export function setZone(choice: Zone): void {
  zone = choice;
}

const two = (n: number) => String(n).padStart(2, "0");

/** Name of the zone at that moment, such as `UTC` or `GMT+2`. */
export function zoneName(at = new Date()): string {
  if (zone === "utc") return "UTC";
  const parts = new Intl.DateTimeFormat("en", { timeZoneName: "short" }).formatToParts(at);
  return parts.find((part) => part.type === "timeZoneName")?.value ?? "local";
}

/** A moment, RFC 3339, without fractions: `2026-01-05 08:00:01 UTC`. */
export function moment(text: string | null): string {
  if (text === null) return NO_VALUE;
  if (zone === "local") {
    const at = new Date(text);
    if (Number.isNaN(at.getTime())) return text;
    const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
    return `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())} ${zoneName(at)}`;
  }
  const match = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)/.exec(text);
  return match ? `${match[1]} ${match[2]} UTC` : text;
}

/** Time of day of a moment, by the chosen clock: `08:00:01`. */
export function timeOfDay(text: string): string {
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) return text;
  return zone === "utc" ? at.toISOString().slice(11, 19) : `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}
