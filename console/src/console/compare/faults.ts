// The rows of the table of faults of several runs.
import type { FaultCell, FaultsBeside } from "../../data/service";

export interface FaultLine {
  fault: string;
  figure: string;
  texts: string[];
  whys: string[];
}

/** All rows in order; the name of a fault stands in its first row alone. */
export function faultRows(faults: FaultsBeside, amount: (cell: FaultCell, unit: string) => string, why: (cell: FaultCell, unit: string) => string): FaultLine[] {
  const none = faults.sides.map(() => "");
  const level = { fault: "without one", figure: "operations", texts: faults.sides.map((side) => (side.level_per_s === null ? "–" : `${Number(side.level_per_s.toPrecision(3))}/s`)), whys: none };
  const dips = {
    fault: "", figure: "false dips", whys: none,
    texts: faults.sides.map((side) => (side.false_dips_share_at_most === null ? "–" : `${side.false_dips} of ${side.stretches} (at most ${Math.round(side.false_dips_share_at_most * 100)} %)`)),
  };
  const of = faults.faults.flatMap((fault): FaultLine[] => [
    {
      fault: fault.fault, figure: "slots that count", whys: none,
      texts: fault.names.map((name, at) => (name === null ? "–" : `${name === fault.fault ? "" : `${name}: `}${fault.slots[at]} of ${fault.slots[at]! + fault.void[at]!}`)),
    },
    ...fault.rows.map((row) => ({
      fault: "", figure: row.title,
      texts: row.cells.map((cell) => (cell === null ? "–" : amount(cell, row.unit))),
      whys: row.cells.map((cell) => (cell === null ? "this run has no such fault" : why(cell, row.unit))),
    })),
  ]);
  return [level, dips, ...of];
}
