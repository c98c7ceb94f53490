// The verdict while it forms: one line that keeps its place, and what it is about.
import type { VerdictNews } from "../../data/api";
import { VerdictMark } from "../ui/marks";

const STATUS: Record<string, [string, string]> = { fail: ["✕", "fail"], warn: ["!", "warning"], not_run: ["?", "not run"], pass: ["✓", "pass"] };

export function Forming({ verdict }: { verdict: VerdictNews | null }) {
  return (
    <section className="panel forming" aria-label="Verdict so far">
      <p className="forming-line">
        <span className="soft">Verdict so far</span> <VerdictMark verdict={verdict?.overall ?? null} forming />
        <span className="forming-reason">{verdict?.reason ?? "It forms when the first checks can be made."}</span>
      </p>
      {verdict !== null && verdict.findings.length > 0 && (
        <details>
          <summary>Checks that do not pass: {verdict.findings.length}</summary>
          <ul className="findings">
            {verdict.findings.map(([id, stage, status, text], at) => (
              <li key={`${id}-${stage}-${at}`}>
                <span className={`status ${status}`}><span aria-hidden="true">{STATUS[status]?.[0] ?? "?"}</span> {STATUS[status]?.[1] ?? status}</span>{" "}
                <span className="soft">{id}{stage && `, ${stage}`}</span> {text}
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}
