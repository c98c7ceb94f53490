// The grid of a study: a coloured number in each cell, states by sign and word, FALSE hatched. Rows and columns are chosen by factor.
import { useContext, useMemo, useState } from "react";
import { Link } from "wouter";
import { ThemeContext } from "../../charts/context";
import { PALETTES, type Palette } from "../../charts/palette";
import type { Study, StudyCell, StudyGrid, StudyPoint } from "../../data/api";
import { clock, exact, NO_VALUE, short } from "../../format";
import { metricName, unitOf } from "../performance";
import { Dialog } from "../ui/Dialog";
import { useAddress } from "../ui/address";
import { Empty } from "../ui/states";
import { VerdictMark } from "../ui/marks";
import { coloursOf, nameOf, onlyRun, overOf, paintOf, placesOf, reasonsOf, shareOf, spanOf, stateWords, tableOf, valueAt, type Colours, type Head, type Table } from "./grid";
import { runPath } from "./paths";

/** More cells make a page slow: the choice has to be narrower. */
const MOST_CELLS = 6000;
/** Reasons for which points are not run are named up to this many. */
const MOST_REASONS = 3;

export function Choices({ study, grid }: { study: Study; grid: StudyGrid | undefined }) {
  const [address, setAddress] = useAddress();
  const places = placesOf(study.factors, (name) => address.get(name));
  const metric = grid?.metric || study.metrics[0] || "";
  const operation = grid?.operation || study.operations[0] || "";
  return (
    <div className="filters study-choices">
      {study.metrics.length > 0 && (
        <label className="field-line">Figure
          <select value={metric} onChange={(event) => setAddress({ metric: event.target.value })}>
            {study.metrics.map((one) => <option key={one} value={one}>{metricName(one)}</option>)}
          </select>
        </label>
      )}
      {study.operations.length > 1 && (
        <label className="field-line">of
          <select value={operation} onChange={(event) => setAddress({ operation: event.target.value })}>
            {study.operations.map((one) => <option key={one}>{one}</option>)}
          </select>
        </label>
      )}
      {study.factors.map((factor, at) => factor.levels.length > 1 && (
        <label key={factor.name} className="field-line">{factor.label}
          <select value={String(places[at])} onChange={(event) => setAddress({ [`f.${factor.name}`]: event.target.value })}>
            <option value="rows">as rows</option>
            <option value="cols">as columns</option>
            {factor.levels.map((level, number) => <option key={level} value={number}>only {level}</option>)}
          </select>
        </label>
      ))}
    </div>
  );
}

export function Grid({ study, grid }: { study: Study; grid: StudyGrid }) {
  const palette = PALETTES[useContext(ThemeContext)];
  const [address] = useAddress();
  const [open, setOpen] = useState<StudyPoint | null>(null);
  const places = placesOf(study.factors, (name) => address.get(name));
  const table = useMemo(() => tableOf(grid, places), [grid, places.join()]);
  const colours = useMemo(() => coloursOf(table.points), [table]);
  const unit = unitOf(grid.metric);
  if (table.points.length === 0) return <Empty title="No cell of this study has these levels.">Choose others above.</Empty>;
  if (table.rows.length * table.cols.length > MOST_CELLS) {
    return <Empty title={`These are ${table.rows.length * table.cols.length} cells.`}>Choose one level of a factor above: {MOST_CELLS} cells are shown at most.</Empty>;
  }
  return (
    <>
      <div className="scroll study-grid" role="region" aria-label="Cells of the study" tabIndex={0}>
        <table>
          <caption className="visually-hidden">{metricName(grid.metric)} of {operationsOf(grid)}, by cell</caption>
          <thead><Heads table={table} study={study} /></thead>
          <tbody>
            {table.rows.map((row, at) => (
              <tr key={row.key}>
                {table.rowFactors.length === 0 && <th scope="row" className="text">{metricName(grid.metric) || "cell"}</th>}
                {table.rowFactors.map((factor, depth) => {
                  const span = spanOf(table.rows, at, depth);
                  return span > 0 && <th key={factor} scope={span > 1 ? "rowgroup" : "row"} rowSpan={span} className="text">{study.factors[factor]!.levels[row.levels[depth]!]}</th>;
                })}
                {table.cols.map((col) => {
                  const point = table.at(row, col);
                  return point
                    ? <Place key={col.key} study={study} grid={grid} point={point} palette={palette} colours={colours} onOpen={setOpen} />
                    : <td key={col.key} className="none" aria-label="no such cell" />;
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Legend colours={colours} palette={palette} grid={grid} />
      {table.hidden.length > 0 && <p className="hint">{table.hidden.length} points are not shown, of rows and columns in which nothing is run: {reasonsOf(table.hidden).slice(0, MOST_REASONS).join("; ")}{reasonsOf(table.hidden).length > MOST_REASONS ? "; and others" : ""}.</p>}
      {grid.left_out > 0 && <p className="hint">{grid.left_out} more points are not shown: the answer would be too large.</p>}
      <Runs point={open} study={study} grid={grid} unit={unit} onClose={() => setOpen(null)} />
    </>
  );
}

function Heads({ table, study }: { table: Table; study: Study }) {
  const corner = table.rowFactors.length === 0 ? [""] : table.rowFactors.map((factor) => study.factors[factor]!.label);
  const depth = Math.max(1, table.colFactors.length);
  const label = (head: Head, level: number) => (table.colFactors.length === 0 ? "all" : study.factors[table.colFactors[level]!]!.levels[head.levels[level]!]);
  return (
    <>
      {Array.from({ length: depth }, (_, level) => (
        <tr key={level}>
          {level === 0 && corner.map((name, at) => (name === "" ? <td key={at} rowSpan={depth} /> : <th key={at} scope="col" rowSpan={depth} className="text corner">{name}</th>))}
          {table.cols.map((col, at) => {
            const span = table.colFactors.length === 0 ? 1 : spanOf(table.cols, at, level);
            const name = table.colFactors.length === 0 ? "" : study.factors[table.colFactors[level]!]!.name;
            return span > 0 && <th key={col.key} scope={span > 1 ? "colgroup" : "col"} colSpan={span} title={name}><span className="factor">{name} </span>{label(col, level)}</th>;
          })}
        </tr>
      ))}
    </>
  );
}

function Place({ study, grid, point, palette, colours, onOpen }: { study: Study; grid: StudyGrid; point: StudyPoint; palette: Palette; colours: Colours | null; onOpen(point: StudyPoint): void }) {
  const cell = grid.cells[point.cell];
  if (!cell) return <td className="none" />;
  const state = point.refused ? "not_run" : cell.state;
  const [sign, word] = stateWords(state);
  const [over, all] = overOf(cell);
  const isFalse = point.verdict === "false";
  const paint = point.value !== null && colours ? paintOf(palette, shareOf(point.value, colours)) : null;
  const unit = unitOf(grid.metric);
  const number = point.value === null ? null : short(point.value, unit);
  const title = [
    nameOf(point, study.factors), point.operation, number && `${exact(point.value, unit)}${point.low !== null && point.high !== null ? ` (95 %: ${short(point.low, unit)} to ${short(point.high, unit)})` : ""}`,
    point.refused ?? (all > 1 ? `${word}, ${over} of ${all} runs are over` : word), point.verdict && `verdict ${point.verdict.replaceAll("_", " ")}`, point.why,
  ].filter(Boolean).join("; ");
  const inner = (
    <>
      {number !== null && <span className="number">{number}</span>}
      {(sign !== "" || number === null) && state !== "done" && <span className="state-sign"><span aria-hidden="true">{sign}</span>{number === null && state !== "waiting" && state !== "not_run" ? ` ${word}` : ""}</span>}
      {isFalse && <span className="false-word">FALSE</span>}
      {all > 1 && over > 0 && over < all && <span className="part">{over}/{all}</span>}
      {number === null && state === "done" && <span className="state-sign">{NO_VALUE}</span>}
      <span className="visually-hidden">; {title}</span>
    </>
  );
  const run = onlyRun(cell);
  const own = `spot spot-${state}${isFalse ? " is-false" : ""}${paint ? "" : " bare"}`;
  const style = paint ? { "--spot": paint.back, "--spot-ink": paint.ink } as React.CSSProperties : undefined;
  return (
    <td className={own} style={style} title={title}>
      {state === "not_run" ? <span className="spot-inner">{inner}</span>
        : run !== null ? <Link className="spot-inner" href={runPath(study.summary.id, run)}>{inner}</Link>
        : <button type="button" className="spot-inner" onClick={() => onOpen(point)}>{inner}</button>}
    </td>
  );
}

/** What the numbers are of: points that did not make the chosen operation show their own. */
function operationsOf(grid: StudyGrid): string {
  const own = new Set(grid.points.flatMap((point) => (point.operation ? [point.operation] : point.value === null ? [] : [grid.operation])));
  return [...own].sort().join(", ") || grid.operation;
}

function Legend({ colours, palette, grid }: { colours: Colours | null; palette: Palette; grid: StudyGrid }) {
  const unit = unitOf(grid.metric);
  const stops = palette.heat.map(([r, g, b]) => `rgb(${r},${g},${b})`).join(", ");
  const has = (state: StudyCell["state"]) => grid.cells.some((cell) => cell.state === state);
  const signs = (["waiting", "running", "failed", "cut_off", "not_run"] as const).filter((state) => has(state) || (state === "not_run" && grid.points.some((point) => point.refused)));
  return (
    <div className="study-legend">
      {colours && (
        <span className="study-ramp" role="img" aria-label={`Colours of ${metricName(grid.metric)} from ${short(colours.low, unit)} to ${short(colours.high, unit)}`}>
          <span>{short(colours.low, unit)}</span>
          <span className="bar-of-colours" style={{ backgroundImage: `linear-gradient(90deg, ${stops})` }}><span style={{ color: paintOf(palette, 0.5).ink }}>{colours.high > colours.low ? short(valueAt(0.5, colours), unit) : ""}</span></span>
          <span>{short(colours.high, unit)}</span>
          <span className="soft">{metricName(grid.metric)} of {operationsOf(grid)}{unit === "per_s" ? ", per second" : ""}{colours.log ? ", logarithmic" : ""}</span>
        </span>
      )}
      {grid.points.some((point) => point.verdict === "false") && <span><span className="swatch is-false" aria-hidden="true" /> FALSE: cannot be believed</span>}
      {signs.map((state) => { const [sign, word] = stateWords(state); return <span key={state}><span className={`swatch spot-${state}`} aria-hidden="true">{sign}</span> {word}</span>; })}
    </div>
  );
}

function Runs({ point, study, grid, unit, onClose }: { point: StudyPoint | null; study: Study; grid: StudyGrid; unit: ReturnType<typeof unitOf>; onClose(): void }) {
  const cell = point ? grid.cells[point.cell] : undefined;
  return (
    <Dialog title={point ? nameOf(point, study.factors) : "Cell"} open={point !== null} onClose={onClose}>
      {point && cell && (
        <div className="stack">
          {point.value !== null && <p>{metricName(grid.metric)} of {point.operation ?? grid.operation}: <b>{exact(point.value, unit)}</b>{point.low !== null && point.high !== null && <span className="soft"> (95 %: {short(point.low, unit)} to {short(point.high, unit)})</span>}</p>}
          {point.verdict && <p><VerdictMark verdict={point.verdict} /> {point.why && <span className="soft">{point.why}</span>}</p>}
          <ul className="study-runs">
            {cell.runs.map((run) => (
              <li key={run.name}>
                {run.state === "done" || run.state === "failed" ? <Link href={runPath(study.summary.id, run.name)}>Repetition {run.repetition}</Link> : <span>Repetition {run.repetition}</span>}
                <span className="soft"> {stateWords(run.state)[1]}{run.took_s !== null && run.took_s > 0 && `, took ${clock(Math.round(run.took_s))}`}{run.reason && `: ${run.reason}`}</span>
              </li>
            ))}
          </ul>
          <div className="actions end"><button type="button" className="button" onClick={onClose}>Close</button></div>
        </div>
      )}
    </Dialog>
  );
}
