// From what a form asks for to a native workload. Reads, writes and deletes get numbers of their own, so that no read can
// miss because of a delete.
import { targetValue, NO_TARGET, type Target } from "./target";
import { toYaml, type Value } from "./yaml";

type Fields = { [key: string]: Value | undefined };

export interface Mix {
  name: string;
  read: number;
  write: number;
  delete: number;
  list: number;
  head: number;
}

export const KINDS = ["read", "write", "delete", "list", "head"] as const;

export interface Load {
  name: string;
  mix: Mix;
  workers: number;
  /** Open loop: operations per second over all drivers; empty = closed loop. */
  rate: string;
  rampupS: number;
  runtimeS: number;
  /** Ends the stage too, when above 0. */
  totalOps: number;
  delayS: number;
}

export interface Around {
  name: string;
  description: string;
  target: Target;
  prefix: string;
  init: boolean;
  prepare: boolean;
  cleanup: boolean;
  dispose: boolean;
  setupWorkers: number;
}

export interface SimpleForm extends Around {
  containers: number;
  objects: number;
  size: string;
  verify: boolean;
  loads: Load[];
  threshold: string;
}

export interface MatrixForm extends Around {
  sizes: string;
  containers: string;
  objects: string;
  workers: string;
  mixes: Mix[];
  rampupS: number;
  runtimeS: number;
  delayS: number;
  repeat: number;
}

export const READ_WRITE: Mix = { name: "mixed", read: 80, write: 20, delete: 0, list: 0, head: 0 };

const AROUND: Around = {
  name: "my-workload", description: "", target: NO_TARGET, prefix: "cosmark-", init: true, prepare: true, cleanup: true, dispose: true, setupWorkers: 8,
};

export const SIMPLE: SimpleForm = {
  ...AROUND, containers: 4, objects: 100, size: "64KiB", verify: false, threshold: "",
  loads: [{ name: "main", mix: READ_WRITE, workers: 16, rate: "", rampupS: 5, runtimeS: 60, totalOps: 0, delayS: 0 }],
};

export const MATRIX: MatrixForm = {
  ...AROUND, name: "my-matrix", sizes: "4KiB, 64KiB, 1MiB", containers: "4", objects: "100", workers: "1, 8, 64", rampupS: 5, runtimeS: 60, delayS: 0, repeat: 1,
  mixes: [{ ...READ_WRITE, name: "read", read: 100, write: 0 }, { ...READ_WRITE, name: "write", read: 0, write: 100 }],
};

/** `4KiB, 64KiB` as a list; numbers as numbers. */
export function list(text: string): (string | number)[] {
  return text.split(/[,\s]+/).filter(Boolean).map((one) => (/^\d+$/.test(one) ? Number(one) : one));
}

/** A size selector: `64KiB` is `c(64KiB)`, `1-10MiB` is `u(1,10)MiB`, others stay. */
export function sizes(text: string): string {
  const range = /^(\d+)\s*-\s*(\d+)\s*([A-Za-z]+)$/.exec(text.trim());
  if (range) return `u(${range[1]},${range[2]})${range[3]}`;
  return /^\d+\s*[A-Za-z]+$/.test(text.trim()) ? `c(${text.trim().replace(/\s/g, "")})` : text.trim();
}

const seconds = (s: number) => (s > 0 ? `${s}s` : undefined);

type Part = "read" | "write" | "delete";

/** An operation of a mix, and the part of the objects that it works on. */
interface Share {
  type: (typeof KINDS)[number];
  name?: string;
  ratio: number;
  part: Part | null;
}

/** What is deleted has to be written again, or soon every delete finds nothing: so as many writes go there. */
function shares(mix: Mix): Share[] {
  const again = mix.delete > 0 ? Math.min(mix.delete, mix.write) : 0;
  const all: Share[] = [
    { type: "read", ratio: mix.read, part: "read" },
    { type: "write", ratio: mix.write - again, part: "write", ...(again ? { name: "write" } : {}) },
    { type: "write", ratio: again, part: "delete", name: "rewrite" },
    { type: "delete", ratio: mix.delete, part: "delete" },
    { type: "list", ratio: mix.list, part: null },
    { type: "head", ratio: mix.head, part: "read" },
  ];
  return all.filter((one) => one.ratio > 0);
}

const PARTS: Part[] = ["read", "write", "delete"];

/** Reads, writes and deletes have n objects each, one part behind the other. */
function operations(mix: Mix, containers: string, n: number): Value[] {
  return shares(mix).map(({ part, type, name, ratio }) => {
    const at = part === null ? -1 : PARTS.indexOf(part);
    return { type, name, ratio, containers, objects: part === null ? undefined : `u(${at * n + 1},${(at + 1) * n})` };
  });
}

function setup(around: Around, before: Fields[], after: Fields[]): { first: Value[]; last: Value[] } {
  const work = (type: string, more: Fields): Fields => ({ name: type, works: [{ type, workers: type === "init" || type === "dispose" ? 1 : around.setupWorkers, ...more }] });
  const made = (type: string, all: Fields[], wanted: boolean): Value[] => (wanted ? all.map((more) => work(type, more)) : []);
  return {
    first: [...made("init", [{}], around.init), ...made("prepare", before, around.prepare)],
    last: [...made("cleanup", after, around.cleanup), ...made("dispose", [{}], around.dispose)],
  };
}

function head(around: Around): Fields {
  return { name: around.name, description: around.description || undefined, ...targetValue(around.target) };
}

/** A workload with stages one after another. */
export function simpleYaml(form: SimpleForm): string {
  const any = (kind: (typeof KINDS)[number]) => form.loads.some((load) => load.mix[kind] > 0);
  const n = form.objects;
  const parts = any("delete") ? 3 : any("write") ? 2 : 1;
  const containers = `u(1,${form.containers})`;
  const { first, last } = setup(form, [{ objects: `r(1,${n})` }, ...(any("delete") ? [{ objects: `r(${2 * n + 1},${3 * n})` }] : [])], [{ objects: `r(1,${parts * n})` }]);
  const stages = form.loads.map((load): Value => ({
    name: load.name,
    closure_delay: seconds(load.delayS),
    works: [{
      name: load.name, workers: load.workers, rate: load.rate || undefined, rampup: seconds(load.rampupS), runtime: seconds(load.runtimeS),
      total_ops: load.totalOps > 0 ? load.totalOps : undefined, operations: operations(load.mix, containers, n),
    }],
  }));
  return toYaml({
    ...head(form),
    defaults: { container_prefix: form.prefix, containers: `r(1,${form.containers})`, sizes: sizes(form.size), verify: form.verify || undefined },
    thresholds: form.threshold ? form.threshold.split("\n").map((one) => one.trim()).filter(Boolean) : undefined,
    stages: unique([...first, ...stages, ...last] as Fields[]),
  });
}

/** A workload whose load is repeated for each combination of sizes, containers, objects and workers. */
export function matrixYaml(form: MatrixForm): string {
  const [containers, objects] = [list(form.containers), list(form.objects)];
  const most = (all: (string | number)[]) => Math.max(1, ...all.map(Number).filter(Number.isFinite));
  const manySizes = list(form.sizes);
  const any = (kind: (typeof KINDS)[number]) => form.mixes.some((mix) => mix[kind] > 0);
  // One population for each size, large enough for every combination.
  const size: Fields = { sizes: "c(${{ matrix.size }})" };
  const prefix = (which: string) => "${{ matrix.size }}-" + which;
  const range = `r(1,${most(objects)})`;
  const kinds = [["objects-", true], ["written-", any("write")], ["deleted-", any("delete")]] as const;
  const setupStage = (type: "prepare" | "cleanup", which: string, at: number): Fields => ({
    name: `${type}${at ? `-${which.replace("-", "")}` : ""}`, matrix: { size: manySizes },
    works: [{ type, workers: form.setupWorkers, objects: range, object_prefix: prefix(which), ...(type === "prepare" ? size : {}) }],
  });
  const prepare = kinds.filter(([which]) => which === "objects-" || (which === "deleted-" && any("delete"))).map(([which], at) => setupStage("prepare", which, at));
  const cleanup = kinds.filter(([, used]) => used).map(([which], at) => setupStage("cleanup", which, at));
  const stages = form.mixes.map((mix): Fields => ({
    name: mix.name,
    closure_delay: seconds(form.delayS),
    matrix: { size: manySizes, ...(containers.length > 1 ? { containers } : {}), ...(objects.length > 1 ? { objects } : {}), workers: list(form.workers) },
    repeat: form.repeat > 1 ? form.repeat : undefined,
    works: [{
      name: mix.name, workers: "${{ matrix.workers }}", rampup: seconds(form.rampupS), runtime: seconds(form.runtimeS),
      operations: shares(mix).map(({ part, type, name, ratio }): Fields => ({
        type, name, ratio, containers: `u(1,${containers.length > 1 ? "${{ matrix.containers }}" : (containers[0] ?? 1)})`,
        ...(part === null ? {} : {
          objects: `u(1,${objects.length > 1 ? "${{ matrix.objects }}" : (objects[0] ?? 1)})`,
          object_prefix: prefix(part === "write" ? "written-" : part === "delete" ? "deleted-" : "objects-"),
        }),
        ...(type === "write" ? size : {}),
      })),
    }],
  }));
  return toYaml({
    ...head(form),
    defaults: { container_prefix: form.prefix, containers: `r(1,${most(containers)})` },
    stages: [
      ...(form.init ? [{ name: "init", works: [{ type: "init", workers: 1 }] }] : []),
      ...(form.prepare ? prepare : []), ...unique(stages), ...(form.cleanup ? cleanup : []),
      ...(form.dispose ? [{ name: "dispose", works: [{ type: "dispose", workers: 1 }] }] : []),
    ],
  });
}

/** Stages with the same name get a number. */
function unique(stages: Fields[]): Fields[] {
  const seen = new Map<string, number>();
  return stages.map((stage) => {
    const name = String(stage["name"]);
    const n = (seen.get(name) ?? 0) + 1;
    seen.set(name, n);
    return n === 1 ? stage : { ...stage, name: `${name}-${n}` };
  });
}
