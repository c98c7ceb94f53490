// Tables of a chart's values, for the clipboard and for the table under the chart.

/** A header line and rows; numbers stay whole. */
export interface ValueTable {
  head: string[];
  rows: (number | string | null)[][];
}

/** RFC 4180: quoted where needed, lines end with CR LF. A text that a spreadsheet would take for a formula gets an apostrophe before it. */
export function toCsv(table: ValueTable): string {
  const field = (value: number | string | null) => {
    const plain = value === null ? "" : String(value);
    const text = typeof value === "string" && /^'*[=+\-@\t\r]/.test(plain) && (plain.trim() === "" || Number.isNaN(Number(plain))) ? `'${plain}` : plain;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [table.head, ...table.rows].map((row) => row.map(field).join(",")).join("\r\n") + "\r\n";
}

/** Brings lines with their own places onto one list of places. */
export function tableOf(first: string, lines: { name: string; points: [number, number | null][] }[]): ValueTable {
  const places = new Map<number, (number | null)[]>();
  lines.forEach((line, at) => {
    for (const [x, y] of line.points) {
      let row = places.get(x);
      if (!row) places.set(x, (row = lines.map(() => null)));
      row[at] = y;
    }
  });
  const rows = [...places.entries()].sort((a, b) => a[0] - b[0]).map(([x, values]) => [x, ...values]);
  return { head: [first, ...lines.map((line) => line.name)], rows };
}
