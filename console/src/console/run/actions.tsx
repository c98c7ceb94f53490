// What can be done to a run.
import { useState } from "react";
import type { RunSummary } from "../../data/api";
import { call, ofRun } from "../api";
import { useSession } from "../session";
import { Confirm } from "../ui/Dialog";
import { attempt } from "../ui/notices";

/** Cancels after asking once; a run that was cancelled already can be ended at once. */
export function CancelButton({ run, small, stopping = false }: { run: RunSummary; small?: boolean; stopping?: boolean }) {
  const { mayOperate } = useSession();
  const [open, setOpen] = useState(false);
  const [asked, setAsked] = useState(false);
  const abort = asked || stopping;
  if (!mayOperate) return null;
  const waits = run.state === "queuing";
  return (
    <>
      <button type="button" className={`button${small ? " small" : ""} danger-text`} aria-label={`${abort ? "Abort" : "Cancel"} ${run.id}`} onClick={() => setOpen(true)}>
        {abort ? "Abort" : "Cancel"}
      </button>
      <Confirm
        title={`${abort ? "Abort" : "Cancel"} ${run.name} (${run.id})?`} open={open} onClose={() => setOpen(false)}
        action={abort ? "Abort at once" : "Cancel the run"} keep={waits ? "Keep it waiting" : "Let it run"}
        onConfirm={async () => {
          const done = await attempt(
            () => call("POST", ofRun(run.id, "/cancel"), abort ? { abort: true } : {}),
            abort ? `${run.id} is aborted` : waits ? `${run.id} is taken out of the queue` : `${run.id} is being cancelled: operations in flight may end`,
          );
          if (done && !waits) setAsked(true);
        }}
      >
        {waits ? "It is taken out of the queue and never begins."
          : abort ? "Operations in flight are cut off at once. What was measured so far stays in the archive."
          : "Operations in flight may end, the other stages do not begin. What was measured so far stays in the archive."}
      </Confirm>
    </>
  );
}
