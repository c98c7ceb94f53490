// A storage or an auth as a form has it, and as YAML.
import type { Adaptor } from "../../data/service";
import type { Value } from "./yaml";

/** How a value is given: as text, or by the name of a secret that the controller keeps. */
export interface Given {
  text: string;
  secret: boolean;
}

export interface TargetPart {
  type: string;
  keys: Record<string, Given>;
}

export interface Target {
  storage: TargetPart;
  auth: TargetPart;
}

export const NO_TARGET: Target = { storage: { type: "", keys: {} }, auth: { type: "none", keys: {} } };

export function partValue(part: TargetPart): { [key: string]: Value | undefined } | undefined {
  if (part.type === "") return undefined;
  const value: { [key: string]: Value | undefined } = { type: part.type };
  for (const [key, given] of Object.entries(part.keys)) {
    if (given.text !== "") value[key] = given.secret ? { secret: given.text } : number(given.text);
  }
  return value;
}

function number(text: string): Value {
  if (text === "true" || text === "false") return text === "true";
  return /^(0|[1-9]\d{0,14})$/.test(text) ? Number(text) : text;
}

export function targetValue(target: Target): { [key: string]: Value | undefined } {
  const auth = target.auth.type === "none" || target.auth.type === "" ? undefined : partValue(target.auth);
  return { auth, storage: partValue(target.storage) };
}

/** Keys that do something. Others are accepted so that old workloads can be read, or name what is not spoken. */
export function formKeys(adaptor: Adaptor): Adaptor["keys"] {
  return adaptor.keys.filter((key) => !/\bno effect\b|\bis not spoken\b/.test(key.summary ?? key.help ?? ""));
}

/** Keys that are asked for at once: those that are required, secret, or say where the store is. */
export function firstKeys(adaptor: Adaptor): Adaptor["keys"] {
  return formKeys(adaptor).filter((key) => key.required || key.secret || /^(endpoint|url|auth_url|dir|path|accesskey|username|region|pool|path_style_access|project|account)$/.test(key.name));
}
