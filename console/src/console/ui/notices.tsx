// What just happened, in one sentence at the edge of the page; read out to who cannot see it.
import { useEffect } from "react";
import { sentence } from "../api";
import { Store, useStore } from "../store";

interface Notice {
  id: number;
  text: string;
  kind: "good" | "bad";
}

const notices = new Store<Notice[]>([]);
let next = 1;
const SHOWN_MS = 6000;
const MOST = 4;

export function say(text: string, kind: Notice["kind"] = "good"): void {
  notices.set([...notices.get(), { id: next++, text, kind }].slice(-MOST));
}

/** Runs what may fail; a failure becomes a notice. True when it was done. */
export async function attempt(what: () => Promise<unknown>, done?: string): Promise<boolean> {
  try {
    await what();
    if (done) say(done);
    return true;
  } catch (error) {
    say(sentence(error), "bad");
    return false;
  }
}

export function Notices() {
  const all = useStore(notices);
  return (
    <div className="notices" role="status" aria-live="polite">
      {all.map((one) => <One key={one.id} notice={one} />)}
    </div>
  );
}

function One({ notice }: { notice: Notice }) {
  const close = () => notices.set(notices.get().filter((one) => one.id !== notice.id));
  useEffect(() => {
    // A failure stays until it was read.
    if (notice.kind === "bad") return;
    const timer = setTimeout(close, SHOWN_MS);
    return () => clearTimeout(timer);
  });
  return (
    <div className={`notice ${notice.kind}`}>
      <span>{notice.text}</span>
      <button type="button" onClick={close} aria-label="Close this message">✕</button>
    </div>
  );
}
