// What goes with a workload: target, tags, place in the queue.
import { useQuery } from "@tanstack/react-query";
import type { LibraryEntry } from "../../data/api";
import { get } from "../api";
import { Check, NumberField, TextField } from "../ui/fields";
import type { Options } from "./draft";

export function OptionFields({ options, onChange }: { options: Options; onChange(options: Options): void }) {
  const set = (more: Partial<Options>) => onChange({ ...options, ...more });
  const library = useQuery({ queryKey: ["library"], queryFn: ({ signal }) => get<LibraryEntry[]>("library", signal), staleTime: Infinity });
  const targets = (library.data ?? []).filter((one) => one.kind === "target");
  return (
    <>
      <div className="panel-head"><h2>Options</h2></div>
      <div className="grid narrow">
        <TextField label="Tags" value={options.tags} placeholder="nightly, v19" hint="separated by commas" onChange={(tags) => set({ tags })} />
        <NumberField label="Priority" value={options.priority} hint="higher runs first" min={-100} max={100} onChange={(priority) => set({ priority })} />
        <TextField label="Drivers" value={options.drivers} placeholder="all" hint="how many, or labels: 3, zone=a" onChange={(drivers) => set({ drivers })} />
        <TextField label="Wait for drivers" value={options.waitForDrivers} placeholder="2m" hint="that are not there" onChange={(waitForDrivers) => set({ waitForDrivers })} />
        <TextField label="Seed" value={options.seed} placeholder="random" hint="the same seed gives the same requests" onChange={(seed) => set({ seed: seed.replace(/\D/g, "") })} />
      </div>
      <Check label="Keep a log of every operation (operations.parquet)" value={options.operationLog} onChange={(operationLog) => set({ operationLog })} />
      <details open={options.target !== ""}>
        <summary>Target file{options.target !== "" && ", in use"}</summary>
        <p className="hint">Says where the store is, and replaces what the workload says. Secrets stand in it by name: <code>secretkey: {"{secret: NAME}"}</code></p>
        {targets.length > 0 && (
          <select aria-label="Begin with a target of the library" value="" onChange={(event) => set({ target: targets.find((one) => one.path === event.target.value)?.source ?? options.target })}>
            <option value="">From the library</option>
            {targets.map((one) => <option key={one.path} value={one.path}>{one.name}: {one.title}</option>)}
          </select>
        )}
        <textarea aria-label="Target file" rows={6} spellCheck={false} className="mono" value={options.target} placeholder={"storage:\n  type: s3\n  endpoint: http://127.0.0.1:9000\n  accesskey: ID\n  secretkey: {secret: NAME}"} onChange={(event) => set({ target: event.target.value })} />
      </details>
      <details open={options.settings !== ""}>
        <summary>Settings{options.settings !== "" && ", in use"}</summary>
        <textarea aria-label="Settings, one on each line" rows={3} spellCheck={false} className="mono" value={options.settings} placeholder="main.workers=32" onChange={(event) => set({ settings: event.target.value })} />
        <p className="hint">One <code>KEY=VALUE</code> on each line, as <code>--set</code> of the command line.</p>
      </details>
    </>
  );
}
