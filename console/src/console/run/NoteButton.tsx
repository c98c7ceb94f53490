// What a person says about a run, onto its timeline.
import { useState, type FormEvent } from "react";
import { useQueryClient } from "@tanstack/react-query";
import type { RunSummary } from "../../data/api";
import { call, ofRun } from "../api";
import { useSession } from "../session";
import { Dialog } from "../ui/Dialog";
import { attempt } from "../ui/notices";

/** Bytes that the controller takes. */
const LONGEST = 3000;

export function NoteButton({ run, onNoted }: { run: RunSummary; onNoted(): void }) {
  const { mayOperate } = useSession();
  const queries = useQueryClient();
  const [open, setOpen] = useState(false);
  const [text, setText] = useState("");
  const said = text.trim();
  const fits = said !== "" && new TextEncoder().encode(said).length <= LONGEST;
  if (!mayOperate || run.state === "queuing") return null;
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (!fits) return;
    if (await attempt(() => call("POST", ofRun(run.id, "/notes"), { text: said }), `Noted on the timeline of ${run.id}`)) {
      setText("");
      setOpen(false);
      onNoted();
      // The charts show it at once, and not when they look again by themselves.
      void queries.invalidateQueries({ queryKey: ["data-so-far", run.id] });
    }
  };
  return (
    <>
      <button type="button" className="button" title="Put a note on the timeline, at this moment" onClick={() => setOpen(true)}>Note</button>
      <Dialog title={`Note on ${run.name} (${run.id})`} open={open} onClose={() => setOpen(false)}>
        <form onSubmit={(event) => void submit(event)}>
          <label>
            What happened
            <textarea value={text} rows={3} onChange={(event) => setText(event.target.value)} />
          </label>
          <p className="soft">It stands on the time axis of every chart of the report, in run.json and events.csv, with your name.</p>
          <button type="submit" className="button" disabled={!fits}>Put it on the timeline</button>
        </form>
      </Dialog>
    </>
  );
}
