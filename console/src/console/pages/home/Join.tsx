// How a driver of another machine joins: the whole line, to copy.
import { copyText } from "../../../components/files";
import { useStore } from "../../store";
import { system } from "../../system";
import { say } from "../../ui/notices";

/** What is to be known of a line before it is pasted elsewhere. */
export function joinHints(command: string): string[] {
  const hints = [];
  if (/\/\/(127\.|localhost|\[::1\])/.test(command)) hints.push("This NATS listens on the controller's machine only; the controller's --nats-listen opens it to other machines.");
  if (/--nats-nkey-file/.test(command)) hints.push("The login file lies in the folder nats of the controller's state; take it along.");
  else hints.push("It needs the login of a driver for this NATS: --nats-nkey-file, --nats-creds or --nats-token-file.");
  return hints;
}

export function JoinCommand() {
  const { status } = useStore(system);
  if (!status) return null;
  if (!status.join) return <p>This controller makes its load itself: it takes no drivers of other machines.</p>;
  const command = status.join;
  return (
    <div className="join">
      <p>Start one on each machine that is to make load; it needs no open port, only the way to NATS:</p>
      <p className="command">
        <code>{command}</code>{" "}
        <button type="button" className="button small" onClick={() => void copyText(command).then((done) => say(done ? "The command is copied" : "The browser does not let this page copy", done ? "good" : "bad"))}>Copy the command</button>
      </p>
      {joinHints(command).map((hint) => <p key={hint} className="hint">{hint}</p>)}
    </div>
  );
}
