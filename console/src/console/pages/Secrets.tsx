// Secrets that the controller keeps: set, replaced, removed; never shown.
import { useState, type FormEvent } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { call } from "../api";
import { useSecrets } from "../build/TargetForm";
import { useSession } from "../session";
import { Confirm } from "../ui/Dialog";
import { TextField } from "../ui/fields";
import { attempt } from "../ui/notices";
import { Answer, Empty } from "../ui/states";
import { useTitle } from "../ui/title";

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const path = (name: string) => `secrets/${encodeURIComponent(name)}`;

export default function Secrets() {
  useTitle("Secrets");
  const { mayOperate } = useSession();
  const client = useQueryClient();
  const query = useSecrets();
  const [name, setName] = useState("");
  const [value, setValue] = useState("");
  const [places, setPlaces] = useState("");
  const endpoints = places.split(/[\s,]+/).filter((one) => one !== "");
  const [removing, setRemoving] = useState<string | null>(null);
  const exists = query.data?.includes(name) ?? false;
  const again = () => client.invalidateQueries({ queryKey: ["secrets"] });
  const wrong = name !== "" && !NAME.test(name);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const done = await attempt(() => call("PUT", path(name), { value, endpoints }), exists ? `${name} has its new value` : `${name} is kept`);
    if (!done) return;
    setName("");
    setValue("");
    setPlaces("");
    void again();
  };

  return (
    <>
      <h1 className="page-title">Secrets</h1>
      <div className="two">
        <section className="panel" aria-labelledby="kept">
          <div className="panel-head"><h2 id="kept">Kept by this controller</h2></div>
          <Answer query={query} what="The secrets" lines={4}>
            {(names) => names.length === 0 ? (
              <Empty title="No secret is kept.">
                <p>A secret that is kept here stands in workloads and targets by its name alone.</p>
              </Empty>
            ) : (
              <ul className="secret-list">
                {names.map((one) => (
                  <li key={one}>
                    <code>{`{secret: ${one}}`}</code>
                    {mayOperate && (
                      <span className="actions">
                        <button type="button" className="button small" onClick={() => setName(one)} aria-label={`Replace ${one}`}>Replace</button>
                        <button type="button" className="button small danger-text" onClick={() => setRemoving(one)} aria-label={`Remove ${one}`}>Remove</button>
                      </span>
                    )}
                  </li>
                ))}
              </ul>
            )}
          </Answer>
        </section>
        <section className="panel" aria-labelledby="set">
          <div className="panel-head"><h2 id="set">Set a secret</h2></div>
          {mayOperate ? (
            <form className="stack" onSubmit={(event) => void submit(event)}>
              <TextField label="Name" value={name} required onChange={setName} hint="letters, digits, dots, dashes" trouble={wrong ? "Letters, digits, dots, dashes and underscores, at most 64" : null} />
              <TextField label="Value" type="password" value={value} required onChange={setValue} hint="It is written and never read back: nobody can see it here again." />
              <TextField label="May be sent to" value={places} required onChange={setPlaces} hint="Addresses such as https://keystone:5000 https://swift:8080, apart by spaces. It goes nowhere else." />
              {exists && <p className="note">A secret of this name exists; its value is replaced.</p>}
              <div className="actions"><button type="submit" className="button primary" disabled={!NAME.test(name) || value === "" || endpoints.length === 0}>{exists ? "Replace" : "Keep"}</button></div>
            </form>
          ) : <Empty title="Your token may only look."><p>To set a secret, log in with a token of the role operate.</p></Empty>}
          <p className="hint">In a target: <code>secretkey: {"{secret: NAME}"}</code>. The value reaches the drivers sealed, and no log, archive or page.</p>
        </section>
      </div>
      <Confirm
        title={`Remove ${removing ?? ""}?`} open={removing !== null} onClose={() => setRemoving(null)} action="Remove it"
        onConfirm={async () => { if (removing && await attempt(() => call("DELETE", path(removing)), `${removing} is removed`)) void again(); }}
      >
        Workloads and targets that name it can no longer be run until it is set again. Its value cannot be brought back.
      </Confirm>
    </>
  );
}
