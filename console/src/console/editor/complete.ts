// Completion for YAML: keys and values of the schema, types and keys of the adaptors, secrets by name.
import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import type { Adaptor } from "../../data/service";
import { placeOf, type Place } from "./context";
import { keysAt, valuesAt, type Schema } from "./schema";

export interface Knowledge {
  schema: Schema | null;
  adaptors: Adaptor[];
  secrets: string[];
}

/** `storage` or `auth`, when the place is right inside one. */
function targetKind(place: Place): "storage" | "auth" | null {
  const last = place.path[place.path.length - 1];
  return last === "storage" || last === "auth" ? last : null;
}

/** The type that is written beside the cursor, in the same map. */
function typeBeside(text: string, cursor: number): string | null {
  const line = text.slice(text.lastIndexOf("\n", cursor - 1) + 1).split("\n", 1)[0]!;
  const flow = /\{.*?type:\s*([\w.-]+)/.exec(line);
  if (flow) return flow[1]!;
  const lines = text.split("\n");
  const at = text.slice(0, cursor).split("\n").length - 1;
  const indent = lines[at]!.length - lines[at]!.trimStart().length;
  for (const step of [-1, 1]) {
    for (let i = at + step; i >= 0 && i < lines.length; i += step) {
      const other = lines[i]!;
      if (other.trim() === "") continue;
      const own = other.length - other.trimStart().length;
      if (own < indent) break;
      const type = own === indent ? /^\s*type:\s*([\w.-]+)/.exec(other) : null;
      if (type) return type[1]!;
    }
  }
  return null;
}

function adaptorOf(know: Knowledge, kind: string, type: string | null): Adaptor | undefined {
  return know.adaptors.find((one) => one.kind === kind && (one.name === type || one.aliases.includes(type ?? "")));
}

export function optionsAt(text: string, cursor: number, know: Knowledge): { place: Place; options: Completion[] } {
  const place = placeOf(text, cursor);
  const kind = targetKind(place);
  const root = know.schema;
  const options: Completion[] = [];
  if (place.key === null) {
    const adaptor = kind ? adaptorOf(know, kind, typeBeside(text, cursor)) : undefined;
    for (const key of adaptor?.keys ?? []) {
      options.push({ label: key.name, apply: `${key.name}: `, type: "property", info: key.summary ?? key.help ?? "", detail: key.secret ? "secret" : (key.default ?? "") });
    }
    for (const key of root ? keysAt(root, place.path) : []) {
      options.push({
        label: key.name, apply: key.holds === "value" ? `${key.name}: ` : `${key.name}:`, type: "property", info: key.description,
        detail: key.holds === "value" ? "" : key.holds === "list" ? "list" : "map", boost: key.required ? 2 : 0,
      });
    }
    return { place, options: options.filter((one) => !place.siblings.includes(one.label)) };
  }
  if (kind && place.key === "type") {
    for (const one of know.adaptors.filter((adaptor) => adaptor.kind === kind)) options.push({ label: one.name, type: "type", info: one.summary });
  } else if (kind) {
    const key = adaptorOf(know, kind, typeBeside(text, cursor))?.keys.find((one) => one.name === place.key);
    if (key?.secret) for (const name of know.secrets) options.push({ label: `{secret: ${name}}`, type: "constant", info: "A secret that the controller keeps." });
    for (const word of /^[\w-]+( \| [\w-]+)+$/.test(key?.value ?? "") ? key!.value!.split(" | ") : key?.value === "true or false" ? ["true", "false"] : []) options.push({ label: word, type: "constant" });
  } else if (root) {
    for (const { value, example } of valuesAt(root, [...place.path, place.key])) options.push({ label: value, type: "constant", detail: example ? "example" : "" });
  }
  return { place, options };
}

/** For CodeMirror. */
export function completeYaml(know: () => Knowledge) {
  return (context: CompletionContext): CompletionResult | null => {
    const { place, options } = optionsAt(context.state.doc.toString(), context.pos, know());
    if (options.length === 0 || (!context.explicit && place.word === "" && place.key === null)) return null;
    return { from: place.from, options, validFor: place.key === null ? /^[\w.-]*$/ : /^[^\n,}]*$/ };
  };
}
