// A workload from lists: one stage for every combination.
import { Group, NumberField, TextField } from "../ui/fields";
import { AroundFields, MixFields, SetupFields } from "./SimpleForm";
import { list, READ_WRITE, type MatrixForm as Form, type Mix } from "./workload";

export function MatrixForm({ form, onChange }: { form: Form; onChange(form: Form): void }) {
  const set = (more: Partial<Form>) => onChange({ ...form, ...more });
  const mix = (at: number, next: Mix) => set({ mixes: form.mixes.map((one, i) => (i === at ? next : one)) });
  const axes = [form.sizes, form.containers, form.objects, form.workers].map((text) => Math.max(1, list(text).length));
  const stages = axes.reduce((all, n) => all * n, 1) * form.mixes.length * Math.max(1, form.repeat);
  return (
    <div className="builder">
      <AroundFields form={form} onChange={onChange} />
      <Group title="Axes" hint="Lists, separated by commas. The load is run once for every combination.">
        <div className="grid">
          <TextField label="Object sizes" value={form.sizes} onChange={(sizes) => set({ sizes })} />
          <TextField label="Workers" value={form.workers} onChange={(workers) => set({ workers })} />
          <TextField label="Containers" value={form.containers} onChange={(containers) => set({ containers })} />
          <TextField label="Objects per container" value={form.objects} onChange={(objects) => set({ objects })} />
        </div>
        <p className="figure">{axes[0]} sizes × {axes[3]} workers{axes[1]! > 1 && ` × ${axes[1]} containers`}{axes[2]! > 1 && ` × ${axes[2]} objects`} × {form.mixes.length} mixes{form.repeat > 1 && ` × ${form.repeat} repetitions`} = <b>{stages} stages of load</b></p>
      </Group>
      <Group title="Mixes of operations">
        {form.mixes.map((one, at) => (
          <div key={at} className="mix-row">
            <TextField label="Name" value={one.name} onChange={(name) => mix(at, { ...one, name })} />
            <MixFields name={one.name} mix={one} onChange={(next) => mix(at, next)} />
            {form.mixes.length > 1 && <button type="button" className="button small" aria-label={`Remove the mix ${one.name}`} onClick={() => set({ mixes: form.mixes.filter((_, i) => i !== at) })}>Remove</button>}
          </div>
        ))}
        <p><button type="button" className="button" onClick={() => set({ mixes: [...form.mixes, { ...READ_WRITE, name: `mix${form.mixes.length + 1}` }] })}>Add a mix</button></p>
      </Group>
      <Group title="Each stage">
        <div className="grid">
          <NumberField label="Ramp-up" unit="s" value={form.rampupS} onChange={(rampupS) => set({ rampupS })} />
          <NumberField label="Measured" unit="s" min={1} value={form.runtimeS} onChange={(runtimeS) => set({ runtimeS })} />
          <NumberField label="Pause after it" unit="s" value={form.delayS} onChange={(delayS) => set({ delayS })} />
          <NumberField label="Repetitions" min={1} max={100} value={form.repeat} hint="in a random order each time" onChange={(repeat) => set({ repeat })} />
        </div>
      </Group>
      <Group title="Before and after">
        <div className="grid">
          <TextField label="Container prefix" value={form.prefix} onChange={(prefix) => set({ prefix })} />
          <NumberField label="Workers of the setup" min={1} value={form.setupWorkers} onChange={(setupWorkers) => set({ setupWorkers })} />
        </div>
        <SetupFields form={form} onChange={onChange} />
      </Group>
    </div>
  );
}
