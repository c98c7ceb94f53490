// Where the cursor of a YAML text is, from its lines alone: half-written text has to do, so no parser is asked.

export interface Place {
  /** Keys from the root to the map or list that the cursor is in; `[]` for an item of a list. */
  path: string[];
  /** The key whose value is being written; null where a key is. */
  key: string | null;
  /** What stands of the word so far, and where it begins in the text. */
  word: string;
  from: number;
  /** Keys that this map has already. */
  siblings: string[];
}

interface Open {
  indent: number;
  name: string;
}

const KEY = /^("[^"]*"|'[^']*'|[^\s:#,[\]{}][^:#,[\]{}]*?)\s*:(?:\s|$)/;

function bare(key: string): string {
  return key.replace(/^["']|["']$/g, "");
}

/** Reads one line into the open maps and lists; returns what stands behind the last `- `, and its column. */
function enter(open: Open[], line: string): { rest: string; column: number } {
  let column = line.length - line.trimStart().length;
  let rest = line.slice(column);
  const close = (upTo: number, list: boolean) => {
    while (open.length > 0) {
      const last = open[open.length - 1]!;
      // A list may stand at the indentation of the key that it belongs to.
      const stays = last.indent < upTo || (list && last.indent === upTo && last.name !== "[]");
      if (stays) break;
      open.pop();
    }
  };
  while (/^-(\s|$)/.test(rest)) {
    close(column, true);
    open.push({ indent: column, name: "[]" });
    const more = rest.slice(1);
    const gap = more.length - more.trimStart().length;
    column += 1 + gap;
    rest = more.trimStart();
  }
  close(column, false);
  return { rest, column };
}

/** The place of the cursor. */
export function placeOf(text: string, cursor: number): Place {
  const before = text.slice(0, cursor);
  const lines = before.split("\n");
  const current = lines.pop() ?? "";
  const open: Open[] = [];
  for (const line of lines) {
    if (/^\s*(#|$)/.test(line)) continue;
    const { rest, column } = enter(open, line);
    const key = KEY.exec(rest);
    if (key && !rest.slice(key[0].length).trim().startsWith("{")) open.push({ indent: column, name: bare(key[1]!) });
  }
  const { rest, column } = enter(open, current === "" ? "" : current);
  let path = open.map((one) => one.name);
  const brace = rest.lastIndexOf("{") > rest.lastIndexOf("}") ? rest.lastIndexOf("{") : -1;
  if (brace >= 0 && !rest.slice(0, brace).endsWith("$") && !rest.slice(0, brace).endsWith("{")) {
    const outer = KEY.exec(rest.slice(0, brace));
    if (outer) path = [...path, bare(outer[1]!)];
    const parts = rest.slice(brace + 1).split(",");
    const last = parts[parts.length - 1]!;
    const siblings = parts.slice(0, -1).map((part) => KEY.exec(part.trimStart())?.[1]).filter((one): one is string => Boolean(one)).map(bare);
    return { ...piece(last.trimStart(), cursor), path, siblings };
  }
  return { ...piece(rest, cursor), path, siblings: siblingsOf(text, cursor, column, current) };
}

function piece(rest: string, cursor: number): Pick<Place, "key" | "word" | "from"> {
  const key = KEY.exec(rest);
  if (key) {
    const value = rest.slice(key[0].length).trimStart();
    return { key: bare(key[1]!), word: value, from: cursor - value.length };
  }
  return { key: null, word: rest, from: cursor - rest.length };
}

/** Keys of the lines above and below that stand at the same column, without leaving the map. */
function siblingsOf(text: string, cursor: number, column: number, current: string): string[] {
  const all = text.split("\n");
  const at = text.slice(0, cursor).split("\n").length - 1;
  const found: string[] = [];
  const look = (from: number, step: number) => {
    for (let i = from; i >= 0 && i < all.length; i += step) {
      const line = all[i]!;
      if (/^\s*(#|$)/.test(line)) continue;
      const dashes = /^(\s*(?:-\s+)*)(.*)$/.exec(line)!;
      const [own, rest] = [dashes[1]!.length, dashes[2]!];
      const indent = line.length - line.trimStart().length;
      if (own < column || (step > 0 && indent < column)) return;
      const key = own === column ? KEY.exec(rest) : null;
      if (key) found.push(bare(key[1]!));
      if (step < 0 && indent < column) return;
    }
  };
  // A line that begins an item has no siblings above it.
  if (!/^\s*-\s/.test(current)) look(at - 1, -1);
  look(at + 1, 1);
  return found;
}
