// A workload from a form: what is there, how it is loaded, stage by stage.
import { Check, Group, NumberField, TextField } from "../ui/fields";
import { KINDS, READ_WRITE, type Around, type Load, type Mix, type SimpleForm as Form } from "./workload";
import { troubleOf, type FieldMistakes } from "./mistakes";
import { TargetForm } from "./TargetForm";

const NONE: FieldMistakes = new Map();

export function AroundFields<F extends Around>({ form, onChange, mistakes = NONE }: { form: F; onChange(form: F): void; mistakes?: FieldMistakes }) {
  const set = (more: Partial<Around>) => onChange({ ...form, ...more });
  return (
    <>
      <Group title="Workload">
        <div className="grid">
          <TextField label="Name" value={form.name} required trouble={form.name.trim() === "" ? "A workload needs a name." : null} onChange={(name) => set({ name })} />
          <TextField label="Description" value={form.description} onChange={(description) => set({ description })} />
        </div>
      </Group>
      <Group title="Target"><TargetForm target={form.target} onChange={(target) => set({ target })} />{troubleOf(mistakes, TARGET_KEYS) && <p className="trouble" role="alert">{troubleOf(mistakes, TARGET_KEYS)}</p>}</Group>
    </>
  );
}

const TARGET_KEYS = ["storage", "auth", "type", "endpoint", "accesskey", "secretkey", "username", "password", "auth_url"];

export function SetupFields<F extends Around>({ form, onChange }: { form: F; onChange(form: F): void }) {
  const set = (more: Partial<Around>) => onChange({ ...form, ...more });
  return (
    <div className="checks">
      <Check label="create the containers (init)" value={form.init} onChange={(init) => set({ init })} />
      <Check label="write the objects (prepare)" value={form.prepare} onChange={(prepare) => set({ prepare })} />
      <Check label="delete the objects (cleanup)" value={form.cleanup} onChange={(cleanup) => set({ cleanup })} />
      <Check label="delete the containers (dispose)" value={form.dispose} onChange={(dispose) => set({ dispose })} />
    </div>
  );
}

export function MixFields({ mix, onChange, name }: { mix: Mix; onChange(mix: Mix): void; name: string }) {
  const sum = KINDS.reduce((all, kind) => all + mix[kind], 0);
  return (
    <div className="mix" role="group" aria-label={`Operations of ${name}`}>
      {KINDS.map((kind) => (
        <label key={kind} className="field">
          <span>{kind}</span>
          <input type="number" min={0} value={mix[kind]} onChange={(event) => onChange({ ...mix, [kind]: Math.max(0, event.target.valueAsNumber || 0) })} />
        </label>
      ))}
      <span className="hint">{sum > 0 ? KINDS.filter((kind) => mix[kind] > 0).map((kind) => `${Math.round((mix[kind] / sum) * 100)} % ${kind}s`).join(", ") : "give at least one operation a share"}</span>
    </div>
  );
}

export function SimpleForm({ form, onChange, mistakes = NONE }: { form: Form; onChange(form: Form): void; mistakes?: FieldMistakes }) {
  const wrong = (keys: string[], stage?: string) => ({ trouble: troubleOf(mistakes, keys, stage) });
  const set = (more: Partial<Form>) => onChange({ ...form, ...more });
  const load = (at: number, more: Partial<Load>) => set({ loads: form.loads.map((one, i) => (i === at ? { ...one, ...more } : one)) });
  return (
    <div className="builder">
      <AroundFields form={form} mistakes={mistakes} onChange={onChange} />
      <Group title="Objects" hint="Reads, writes and deletes get as many objects each, so that no read misses because of a delete.">
        <div className="grid">
          <NumberField label="Containers" {...wrong(["containers"])} min={1} value={form.containers} onChange={(containers) => set({ containers })} />
          <NumberField label="Objects per container" {...wrong(["objects"])} min={1} value={form.objects} onChange={(objects) => set({ objects })} />
          <TextField label="Size" {...wrong(["sizes"])} value={form.size} hint="64KiB, a range 1-10MiB, or a selector" list={["4KiB", "64KiB", "1MiB", "16MiB", "1-10MiB", "h(1|64|80,64|1024|20)KiB"]} onChange={(size) => set({ size })} />
          <TextField label="Container prefix" {...wrong(["container_prefix"])} value={form.prefix} onChange={(prefix) => set({ prefix })} />
          <NumberField label="Workers of the setup" min={1} value={form.setupWorkers} onChange={(setupWorkers) => set({ setupWorkers })} />
        </div>
        <SetupFields form={form} onChange={onChange} />
        <Check label="compare every byte read with what was written" value={form.verify} onChange={(verify) => set({ verify })} />
      </Group>
      {form.loads.map((one, at) => (
        <Group key={at} title={`Load ${at + 1}`}>
          <div className="grid">
            <TextField label="Name" {...wrong(["name"], one.name)} value={one.name} onChange={(name) => load(at, { name })} />
            <NumberField label="Workers" {...wrong(["workers"], one.name)} min={1} value={one.workers} onChange={(workers) => load(at, { workers })} />
            <TextField label="Rate" {...wrong(["rate", "arrivals"], one.name)} value={one.rate} placeholder="closed loop" hint="5000/s makes an open loop" onChange={(rate) => load(at, { rate })} />
            <NumberField label="Ramp-up" {...wrong(["rampup"], one.name)} unit="s" value={one.rampupS} onChange={(rampupS) => load(at, { rampupS })} />
            <NumberField label="Measured" {...wrong(["runtime"], one.name)} unit="s" value={one.runtimeS} onChange={(runtimeS) => load(at, { runtimeS })} />
            <NumberField label="Operations" {...wrong(["total_ops"], one.name)} value={one.totalOps} hint="0: time alone ends it" onChange={(totalOps) => load(at, { totalOps })} />
            <NumberField label="Pause after it" {...wrong(["closure_delay"], one.name)} unit="s" value={one.delayS} onChange={(delayS) => load(at, { delayS })} />
          </div>
          <MixFields name={one.name} mix={one.mix} onChange={(mix) => load(at, { mix })} />
          {form.loads.length > 1 && <button type="button" className="button small" onClick={() => set({ loads: form.loads.filter((_, i) => i !== at) })}>Remove load {at + 1}</button>}
        </Group>
      ))}
      <p><button type="button" className="button" onClick={() => set({ loads: [...form.loads, { ...(form.loads[form.loads.length - 1] ?? { name: "main", mix: READ_WRITE, workers: 16, rate: "", rampupS: 5, runtimeS: 60, totalOps: 0, delayS: 0 }), name: `main${form.loads.length + 1}` }] })}>Add a load</button></p>
      <Group title="Thresholds">
        <label className="field">
          <span>What the loads have to reach</span>
          <textarea rows={2} aria-invalid={troubleOf(mistakes, ["thresholds", "threshold"]) ? true : undefined} value={form.threshold} placeholder={"read.p95 <= 20 ms\nerror_rate <= 0.1 %"} onChange={(event) => set({ threshold: event.target.value })} />
          {troubleOf(mistakes, ["thresholds", "threshold"]) ? <span className="trouble">{troubleOf(mistakes, ["thresholds", "threshold"])}</span> : <span className="hint">One condition on each line; none is needed.</span>}
        </label>
      </Group>
    </div>
  );
}
