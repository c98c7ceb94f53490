// Where the time of operations went: a bar for each operation and size, and what the store's own servers say beside it.
import { useContext, useState } from "react";
import { ThemeContext } from "../charts/context";
import { PALETTES } from "../charts/palette";
import { DataTable, type Column } from "../components/DataTable";
import type { ServerTimeData, StageData, TimeRow, TimeSpent } from "../data/types";
import { exact, grouped, NO_VALUE, share, short } from "../format";

const SERVERS: Column<ServerTimeData>[] = [
  { head: "operation", text: true, cell: (one) => one.sample },
  { head: "server", text: true, cell: (one) => one.server },
  { head: "its time is of", text: true, cell: (one) => one.of },
  { head: "mean", cell: (one) => short(one.mean_ms, "ms"), exact: (one) => exact(one.mean_ms, "ms") },
  { head: "its requests", title: "Of all clients, those that succeeded", cell: (one) => short(one.requests_per_s, "per_s"), exact: (one) => exact(one.requests_per_s, "per_s") },
  { head: "measured here", cell: (one) => short(one.measured_per_s, "per_s"), exact: (one) => exact(one.measured_per_s, "per_s") },
  { head: "read by", text: true, cell: (one) => one.source },
];

const nameOf = (row: TimeRow) => (row.size === null ? row.operation : `${row.operation}, ${row.size}`);

/** What a bar says to who cannot see it. */
export function sentence(spent: TimeSpent, row: TimeRow): string {
  const parts = spent.parts.flatMap((part, at) => {
    const ms = row.ms[at] ?? null;
    return ms === null || ms <= 0 ? [] : [`${part.title} ${short(ms, "ms")} (${share(ms / row.mean_ms)})`];
  });
  return `${nameOf(row)}: ${short(row.mean_ms, "ms")} on average: ${parts.join(", ")}`;
}

function Bar({ spent, row, longest }: { spent: TimeSpent; row: TimeRow; longest: number | null }) {
  const { categories } = PALETTES[useContext(ThemeContext)];
  const whole = longest === null ? 100 : (100 * row.mean_ms) / longest;
  return (
    <div className="spent-bar" role="img" aria-label={sentence(spent, row)} style={{ width: `${whole}%` }}>
      {spent.parts.map((part, at) => {
        const ms = row.ms[at] ?? 0;
        if (ms <= 0) return null;
        return (
          <span key={part.id} title={`${part.title}: ${short(ms, "ms")}, ${share(ms / row.mean_ms)}`}
            style={{ width: `${(100 * ms) / row.mean_ms}%`, background: categories[part.colour % categories.length] }} />
        );
      })}
    </div>
  );
}

export function Spent({ stage }: { stage: StageData }) {
  const { categories } = PALETTES[useContext(ThemeContext)];
  const [inMs, setInMs] = useState(false);
  const { spent } = stage;
  if (!spent || !spent.rows.length) return null;
  const longest = inMs ? Math.max(...spent.rows.map((row) => row.mean_ms)) : null;
  const columns: Column<TimeRow>[] = [
    { head: "operation", text: true, cell: nameOf },
    { head: "operations", cell: (row) => grouped(row.count) },
    { head: "mean", cell: (row) => short(row.mean_ms, "ms"), exact: (row) => exact(row.mean_ms, "ms") },
    ...spent.parts.map((part, at): Column<TimeRow> => ({
      head: part.title, title: part.help, cell: (row) => short(row.ms[at] ?? null, "ms"), exact: (row) => exact(row.ms[at] ?? null, "ms"),
    })),
    { head: "client's own", title: "What the client itself added; it lies within send, first byte and body", cell: (row) => (row.client_added_ms === null ? NO_VALUE : short(row.client_added_ms, "ms")) },
  ];
  return (
    <div className="spent">
      <div className="choose">
        <h3>Where the time went</h3>
        <div role="group" aria-label="Length of the bars" className="segments">
          <button type="button" aria-pressed={!inMs} onClick={() => setInMs(false)}>shares</button>
          <button type="button" aria-pressed={inMs} onClick={() => setInMs(true)}>times</button>
        </div>
      </div>
      <p className="hint">The parts of the mean response time of operations that succeeded; they add up to it.</p>
      <ul className="spent-parts">
        {spent.parts.map((part) => (
          <li key={part.id} title={part.help}><i style={{ background: categories[part.colour % categories.length] }} /> {part.title}</li>
        ))}
      </ul>
      <table className="spent-rows" aria-label="Where the time went">
        <tbody>
          {spent.rows.map((row) => (
            <tr key={nameOf(row)}>
              <th scope="row" className="text" title={nameOf(row)}>{row.size === null ? row.operation : <span className="soft">{row.size}</span>}</th>
              <td className="spent-cell"><Bar spent={spent} row={row} longest={longest} /></td>
              <td title={exact(row.mean_ms, "ms")}>{short(row.mean_ms, "ms")}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {spent.servers.length > 0 && (
        <>
          <h4>The same by the store's own clocks</h4>
          <DataTable label="Times of the store's servers" columns={SERVERS} rows={spent.servers} keyOf={(one) => `${one.sample} ${one.server} ${one.of} ${one.source}`} />
        </>
      )}
      <details>
        <summary>As numbers</summary>
        <DataTable label="Parts of the response time" columns={columns} rows={spent.rows} keyOf={nameOf} />
      </details>
      {spent.remarks.length > 0 && <ul className="remarks">{spent.remarks.map((one) => <li key={one}>{one}</li>)}</ul>}
    </div>
  );
}
