// The way in: a token, which the controller showed when it was first started.
import { useState, type FormEvent } from "react";
import type { SessionInfo } from "../../data/api";
import { call, Refused, sentence } from "../api";
import { Brand } from "../Shell";

export function Login({ onLogin, note }: { onLogin(session: SessionInfo): void; note: string | null }) {
  const [token, setToken] = useState("");
  const [busy, setBusy] = useState(false);
  const [trouble, setTrouble] = useState<string | null>(null);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setTrouble(null);
    try {
      await call("POST", "session", { token: token.trim() });
      onLogin(await call<SessionInfo>("GET", "session"));
    } catch (error) {
      setTrouble(error instanceof Refused && error.status === 401 ? "This token is not known here. Look whether all of it was copied." : sentence(error));
    } finally {
      setBusy(false);
    }
  };

  return (
    <main className="login" id="main">
      <form className="panel" onSubmit={(event) => void submit(event)}>
        <h1><Brand /></h1>
        <p className="soft">Log in with an access token of this controller.</p>
        {note && <p className="note" role="status">{note}</p>}
        <label className="field">
          <span>Token</span>
          <input
            type="password" name="token" autoComplete="current-password" autoFocus required spellCheck={false}
            value={token} onChange={(event) => setToken(event.target.value)}
            aria-invalid={trouble !== null} aria-describedby={trouble ? "login-trouble" : "login-help"}
          />
        </label>
        <p id="login-trouble" className="trouble" role="alert">{trouble}</p>
        <button type="submit" className="button primary" disabled={busy || token.trim() === ""}>{busy ? "Logging in" : "Log in"}</button>
        <p id="login-help" className="hint">
          The controller printed its tokens when it was started for the first time. Whoever runs it can make further ones; a token of the
          role <b>view</b> looks, one of the role <b>operate</b> also submits and cancels.
        </p>
      </form>
    </main>
  );
}
