// Where the store is and how one logs in: the keys come from the adaptors' own tables.
import { useQuery } from "@tanstack/react-query";
import type { Adaptor } from "../../data/service";
import { get } from "../api";
import { SelectField, TextField } from "../ui/fields";
import { firstKeys, formKeys, type Given, type Target, type TargetPart } from "./target";

export function useAdaptors() {
  return useQuery({ queryKey: ["adaptors"], queryFn: ({ signal }) => get<Adaptor[]>("adaptors", signal), staleTime: Infinity });
}

export function useSecrets() {
  return useQuery({ queryKey: ["secrets"], queryFn: ({ signal }) => get<string[]>("secrets", signal), staleTime: 10_000 });
}

export function TargetForm({ target, onChange, none = "as the target file says" }: { target: Target; onChange(target: Target): void; none?: string }) {
  const adaptors = useAdaptors().data ?? [];
  const secrets = useSecrets().data ?? [];
  const of = (kind: string) => adaptors.filter((one) => one.kind === kind);
  return (
    <>
      <Part
        label="Storage" part={target.storage} adaptors={of("storage")} secrets={secrets} onChange={(storage) => onChange({ ...target, storage })}
        none={["", none]}
      />
      <Part label="Login" part={target.auth} adaptors={of("auth").filter((one) => one.name !== "none")} secrets={secrets} onChange={(auth) => onChange({ ...target, auth })} none={["none", "none"]} />
    </>
  );
}

interface PartProps {
  label: string;
  part: TargetPart;
  adaptors: Adaptor[];
  secrets: string[];
  none: [string, string];
  onChange(part: TargetPart): void;
}

function Part({ label, part, adaptors, secrets, none, onChange }: PartProps) {
  const adaptor = adaptors.find((one) => one.name === part.type);
  const first = adaptor ? firstKeys(adaptor) : [];
  const others = adaptor ? formKeys(adaptor).filter((key) => !first.includes(key)) : [];
  const set = (name: string, given: Given) => onChange({ ...part, keys: { ...part.keys, [name]: given } });
  const field = (key: Adaptor["keys"][number]) => (
    <KeyField key={key.name} meta={key} given={part.keys[key.name] ?? { text: "", secret: key.secret && secrets.length > 0 }} secrets={secrets} onChange={(given) => set(key.name, given)} />
  );
  return (
    <div className="part">
      <div className="grid">
        <SelectField
          label={label} value={part.type} onChange={(type) => onChange({ type, keys: {} })}
          options={[none, ...adaptors.map((one): [string, string] => [one.name, one.name])]} {...(adaptor ? { hint: adaptor.summary } : {})}
        />
        {first.map(field)}
      </div>
      {others.length > 0 && (
        <details>
          <summary>Further keys of {part.type}</summary>
          <div className="grid">{others.map(field)}</div>
        </details>
      )}
    </div>
  );
}

function KeyField({ meta, given, secrets, onChange }: { meta: Adaptor["keys"][number]; given: Given; secrets: string[]; onChange(given: Given): void }) {
  const help = meta.summary ?? meta.help ?? "";
  const label = meta.required ? `${meta.name} (required)` : meta.name;
  if (meta.secret && given.secret) {
    return (
      <SelectField
        label={label} value={given.text} hint={`${help}; a secret that the controller keeps`} onChange={(text) => onChange(text === "\0text" ? { text: "", secret: false } : { text, secret: true })}
        options={[["", "choose a secret"], ...secrets.map((name): [string, string] => [name, name]), ["\0text", "type it instead"]]}
      />
    );
  }
  return (
    <TextField
      label={label} value={given.text} type={meta.secret ? "password" : "text"} placeholder={meta.default ?? ""}
      hint={meta.secret ? `${help}; better kept under Secrets and chosen by its name` : help} onChange={(text) => onChange({ text, secret: false })}
    />
  );
}
