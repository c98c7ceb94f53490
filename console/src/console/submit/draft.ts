// What is being prepared for submission. It stays while other pages are looked at, and over a reload.
import type { Submission } from "../../data/api";
import { NO_TARGET, type Target } from "../build/target";
import { MATRIX, SIMPLE, type MatrixForm, type SimpleForm } from "../build/workload";
import { Store } from "../store";

export interface Draft {
  text: string;
  fileName: string | null;
  simple: SimpleForm;
  matrix: MatrixForm;
  /** The target that was tested last. */
  target: Target;
  options: Options;
}

export interface Options {
  /** A target file as text; empty = as the workload says. */
  target: string;
  tags: string;
  priority: number;
  /** `3`, `zone=a`, `3,zone=a`; empty = what the workload says, else all. */
  drivers: string;
  /** Such as `2m`. */
  waitForDrivers: string;
  operationLog: boolean;
  seed: string;
  settings: string;
}

export const START = `# A workload: what to do, with how many workers, for how long. Ctrl+Space completes, Ctrl+Enter checks.
name: my-workload
defaults:
  container_prefix: cosmark-
  containers: r(1,4)
  sizes: c(64)KiB
stages:
  - name: init
    works:
      - {type: init, workers: 1}
  - name: prepare
    works:
      - {type: prepare, workers: 8, objects: "r(1,100)"}
  - name: main
    works:
      - name: main
        workers: 16
        rampup: 5s
        runtime: 60s
        operations:
          - {type: read, ratio: 80, containers: "u(1,4)", objects: "u(1,100)"}
          - {type: write, ratio: 20, containers: "u(1,4)", objects: "u(101,200)"}
  - name: cleanup
    works:
      - {type: cleanup, workers: 8, objects: "r(1,200)"}
  - name: dispose
    works:
      - {type: dispose, workers: 1}
`;

const KEY = "cosmark-draft";
const FRESH: Draft = {
  text: START, fileName: null, simple: SIMPLE, matrix: MATRIX, target: NO_TARGET,
  options: { target: "", tags: "", priority: 0, drivers: "", waitForDrivers: "", operationLog: false, seed: "", settings: "" },
};

function kept(): Draft {
  try {
    const text = sessionStorage.getItem(KEY);
    if (!text) return FRESH;
    const before = JSON.parse(text) as Partial<Draft>;
    // What was kept by an earlier console may lack an option.
    return { ...FRESH, ...before, options: { ...FRESH.options, ...before.options } };
  } catch {
    return FRESH;
  }
}

export const draft = new Store<Draft>(kept());

let timer: ReturnType<typeof setTimeout> | undefined;

export function change(more: Partial<Draft>): void {
  draft.set({ ...draft.get(), ...more });
  clearTimeout(timer);
  timer = setTimeout(() => {
    try {
      sessionStorage.setItem(KEY, JSON.stringify(withoutSecrets(draft.get())));
    } catch {
      // Not kept over a reload.
    }
  }, 400);
}

/** What was typed into a field for secrets is not written down. */
export function withoutSecrets(one: Draft): Draft {
  const part = (from: Target["storage"]) => ({
    ...from, keys: Object.fromEntries(Object.entries(from.keys).filter(([name, given]) => given.secret || !/secret|password|token|key$/i.test(name))),
  });
  const cleanTarget = (target: Target): Target => ({ storage: part(target.storage), auth: part(target.auth) });
  const clean = <F extends SimpleForm | MatrixForm>(form: F): F => ({ ...form, target: cleanTarget(form.target) });
  return { ...one, simple: clean(one.simple), matrix: clean(one.matrix), target: cleanTarget(one.target) };
}

export function submissionOf(source: string, fileName: string | null, options: Options): Submission {
  return {
    source,
    file_name: fileName,
    target: options.target.trim() === "" ? null : options.target,
    settings: options.settings.split("\n").map((one) => one.trim()).filter(Boolean),
    priority: options.priority,
    tags: options.tags.split(",").map((one) => one.trim()).filter(Boolean),
    operation_log: options.operationLog,
    drivers: options.drivers.trim() || null,
    wait_for_drivers: options.waitForDrivers.trim() || null,
    seed: /^\d+$/.test(options.seed.trim()) ? Number(options.seed.trim()) : null,
  };
}
