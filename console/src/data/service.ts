// Answers of the controller whose types are not in crates/wire: the comparison (crates/report/src/compare.rs), the tables of
// adaptors (crates/driver/src/describe.rs), and the rows of the history.

export interface AdaptorKey {
  name: string;
  default: string | null;
  required?: boolean;
  secret: boolean;
  summary?: string;
  help?: string;
  aliases?: string[];
  value?: string;
}

export interface Adaptor {
  kind: string;
  name: string;
  aliases: string[];
  summary: string;
  capability?: string[] | Record<string, unknown> | string | null;
  keys: AdaptorKey[];
}

/** Between which values a client that adds nothing would have measured; null where there is no end. */
export interface CompareWithin {
  low: number | null;
  high: number | null;
}

export interface CompareRow {
  stage: string;
  operation: string;
  metric: string;
  unit: string;
  a: number | null;
  b: number | null;
  a_bounds: CompareWithin | null;
  b_bounds: CompareWithin | null;
  ratio: number | null;
  low: number | null;
  high: number | null;
  p: number | null;
  delta: number | null;
  detectable: number | null;
  recommended_s: number | null;
  outcome: "better" | "worse" | "no_difference_shown" | "within_bounds" | "too_short" | "not_tested";
  note: string | null;
  fails: boolean;
}

export interface ComparePair {
  a: string;
  b: string;
  rows: CompareRow[];
  warnings: string[];
}

export interface Comparison {
  confidence: number;
  tests: number;
  least: number;
  effect: number;
  sentence?: string;
  pairs: ComparePair[];
  faults?: FaultsBeside | null;
}

/** What the faults of all sides cost, a column for each. */
export interface FaultsBeside {
  sides: { side: string; level_per_s: number | null; stretches: number; false_dips: number; false_dips_share_at_most: number | null }[];
  faults: FaultBeside[];
}

export interface FaultBeside {
  fault: string;
  names: (string | null)[];
  slots: number[];
  void: number[];
  rows: { figure: string; title: string; unit: string; cells: (FaultCell | null)[] }[];
}

export interface FaultCell {
  mean: number | null;
  low: number | null;
  high: number | null;
  slots: number;
  reason: string | null;
}

/** A row of the history: facts of the run, of the stage, and every metric; nested figures keep their names. */
export type MatrixRow = Record<string, unknown>;
