// What a JSON Schema allows at a place: the part of it that the schema of workloads uses.

export interface Schema {
  $ref?: string;
  $defs?: Record<string, Schema>;
  type?: string | string[];
  description?: string;
  properties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  enum?: unknown[];
  examples?: unknown[];
  required?: string[];
}

/** A schema and its alternatives, references followed. */
export function variants(root: Schema, schema: Schema | undefined, depth = 0): Schema[] {
  if (!schema || depth > 12) return [];
  const target = schema.$ref?.startsWith("#/$defs/") ? root.$defs?.[schema.$ref.slice(8)] : undefined;
  const parts = [target, ...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
  return [schema, ...parts.flatMap((part) => variants(root, part, depth + 1))];
}

/** All schemas that hold at a path. */
export function at(root: Schema, path: string[]): Schema[] {
  let here = variants(root, root);
  for (const step of path) {
    here = here.flatMap((schema) => {
      const next = step === "[]" ? schema.items : (schema.properties?.[step] ?? (typeof schema.additionalProperties === "object" ? schema.additionalProperties : undefined));
      return variants(root, next);
    });
  }
  return here;
}

export interface Key {
  name: string;
  description: string;
  required: boolean;
  /** What follows the key: a value on the line, a map, or a list. */
  holds: "value" | "map" | "list";
}

export function keysAt(root: Schema, path: string[]): Key[] {
  const keys = new Map<string, Key>();
  for (const schema of at(root, path)) {
    for (const [name, property] of Object.entries(schema.properties ?? {})) {
      if (keys.has(name)) continue;
      const all = variants(root, property);
      const types = all.flatMap((one) => one.type ?? []);
      const plain = types.some((type) => ["string", "number", "integer", "boolean"].includes(type)) || all.some((one) => one.enum);
      keys.set(name, {
        name,
        description: all.find((one) => one.description)?.description ?? "",
        required: schema.required?.includes(name) ?? false,
        holds: plain ? "value" : types.includes("array") ? "list" : types.includes("object") ? "map" : "value",
      });
    }
  }
  return [...keys.values()];
}

/** Values that may stand there: of lists of values, of examples, of true and false. */
export function valuesAt(root: Schema, path: string[]): { value: string; example: boolean }[] {
  const all = at(root, path);
  const fixed = all.flatMap((schema) => schema.enum ?? []).map((value) => ({ value: String(value), example: false }));
  const flags = all.some((schema) => schema.type === "boolean" || (Array.isArray(schema.type) && schema.type.includes("boolean") && schema.type.length === 2 && !schema.type.includes("number")));
  const examples = all.flatMap((schema) => schema.examples ?? []).map((value) => ({ value: String(value), example: true }));
  return [...fixed, ...(flags ? ["true", "false"].map((value) => ({ value, example: false })) : []), ...examples];
}
