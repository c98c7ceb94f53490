// Fields of forms, each with its label and one phrase of help.
import { useId, type ReactNode } from "react";

interface Common {
  label: string;
  hint?: string;
}

export function TextField(props: Common & { value: string; onChange(value: string): void; placeholder?: string; required?: boolean; list?: string[]; trouble?: string | null; type?: "text" | "password" }) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{props.label}</label>
      <input
        id={id} type={props.type ?? "text"} value={props.value} placeholder={props.placeholder} required={props.required} spellCheck={false} autoComplete={props.type === "password" ? "new-password" : "off"}
        aria-invalid={props.trouble ? true : undefined} aria-describedby={props.hint || props.trouble ? `${id}-hint` : undefined}
        {...(props.list ? { list: `${id}-list` } : {})} onChange={(event) => props.onChange(event.target.value)}
      />
      {props.list && <datalist id={`${id}-list`}>{props.list.map((one) => <option key={one} value={one} />)}</datalist>}
      {(props.hint || props.trouble) && <span id={`${id}-hint`} className={props.trouble ? "trouble" : "hint"}>{props.trouble ?? props.hint}</span>}
    </div>
  );
}

export function NumberField(props: Common & { value: number; onChange(value: number): void; min?: number; max?: number; unit?: string; trouble?: string | null }) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{props.label}{props.unit && <span className="soft"> ({props.unit})</span>}</label>
      <input
        id={id} type="number" inputMode="numeric" min={props.min ?? 0} max={props.max} value={Number.isFinite(props.value) ? props.value : ""} aria-describedby={props.hint || props.trouble ? `${id}-hint` : undefined} aria-invalid={props.trouble ? true : undefined}
        onChange={(event) => { const n = event.target.valueAsNumber; props.onChange(Number.isFinite(n) ? Math.max(props.min ?? 0, Math.round(n)) : (props.min ?? 0)); }}
      />
      {(props.hint || props.trouble) && <span id={`${id}-hint`} className={props.trouble ? "trouble" : "hint"}>{props.trouble ?? props.hint}</span>}
    </div>
  );
}

export function SelectField(props: Common & { value: string; onChange(value: string): void; options: [string, string][] }) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{props.label}</label>
      <select id={id} value={props.value} aria-describedby={props.hint ? `${id}-hint` : undefined} onChange={(event) => props.onChange(event.target.value)}>
        {props.options.map(([value, name]) => <option key={value} value={value}>{name}</option>)}
      </select>
      {props.hint && <span id={`${id}-hint`} className="hint">{props.hint}</span>}
    </div>
  );
}

export function Check(props: { label: string; value: boolean; onChange(value: boolean): void; title?: string }) {
  return (
    <label className="check" title={props.title}>
      <input type="checkbox" checked={props.value} onChange={(event) => props.onChange(event.target.checked)} /> {props.label}
    </label>
  );
}

export function Group({ title, children, hint }: { title: string; children: ReactNode; hint?: string }) {
  return (
    <fieldset className="group">
      <legend>{title}</legend>
      {hint && <p className="hint">{hint}</p>}
      {children}
    </fieldset>
  );
}
