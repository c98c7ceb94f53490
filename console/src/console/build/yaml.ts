// Plain values as YAML: the little that a workload needs, with quotes where a plain word would be read as something else.

export type Value = string | number | boolean | Value[] | { [key: string]: Value | undefined };

/** Written as it is inside a flow map, such as a reference to a secret. */
const PLAIN = /^[A-Za-z_/.$][\w ./+$%^()@=|*-]*(:(?! |$)[\w./+$%^()@=|*-]*)*$/;
const LOOKS_ELSE = /^(true|false|yes|no|on|off|null|~)$|^[.+-]?\d|^\.(inf|nan)$/i;

export function scalar(value: string | number | boolean): string {
  if (typeof value !== "string") return String(value);
  if (value === "") return '""';
  const plain = PLAIN.test(value) && !LOOKS_ELSE.test(value) && value.trim() === value && !value.includes(" #") && !value.includes(",");
  return plain ? value : JSON.stringify(value);
}

function isMap(value: Value): value is { [key: string]: Value | undefined } {
  return typeof value === "object" && !Array.isArray(value);
}

function flow(value: Value): string {
  if (Array.isArray(value)) return `[${value.map(flow).join(", ")}]`;
  if (isMap(value)) return `{${entries(value).map(([key, one]) => `${key}: ${flow(one)}`).join(", ")}}`;
  return scalar(value);
}

function entries(value: { [key: string]: Value | undefined }): [string, Value][] {
  return Object.entries(value).filter((entry): entry is [string, Value] => entry[1] !== undefined);
}

/** Lists of plain values, and maps with one entry, stand on the line of their key. */
function short(value: Value): boolean {
  if (Array.isArray(value)) return value.every((one) => typeof one !== "object");
  return isMap(value) && entries(value).length === 1 && entries(value).every(([, one]) => typeof one !== "object");
}

export function toYaml(value: { [key: string]: Value | undefined }, indent = ""): string {
  return entries(value).map(([key, one]) => {
    if (typeof one !== "object") return `${indent}${key}: ${scalar(one)}\n`;
    if (short(one)) return `${indent}${key}: ${flow(one)}\n`;
    if (Array.isArray(one)) {
      return `${indent}${key}:\n${one.map((item) => (isMap(item) ? listItem(item, `${indent}  `) : `${indent}  - ${flow(item)}\n`)).join("")}`;
    }
    return `${indent}${key}:\n${toYaml(one, `${indent}  `)}`;
  }).join("");
}

function listItem(item: { [key: string]: Value | undefined }, indent: string): string {
  const text = toYaml(item, `${indent}  `);
  return `${indent}- ${text.slice(indent.length + 2)}`;
}
