// Figures and tables of the report, as they form. Pictures are pictures: nothing in them is a part of this page.
import type { StudyPart } from "../../data/api";

const LOOKS: Record<string, string> = { false: "is-false", hollow: "hollow", best: "best", not_run: "soft" };

export function Parts({ parts }: { parts: StudyPart[] }) {
  return <>{parts.map((part, at) => <One key={at} part={part} />)}</>;
}

function One({ part }: { part: StudyPart }) {
  switch (part.kind) {
    case "heading":
      return <h3>{part.text}</h3>;
    case "text":
      return <p>{part.text}</p>;
    case "list":
      return <ul className="remarks">{part.items.map((item) => <li key={item}>{item}</li>)}</ul>;
    case "figure":
      return (
        <figure className="study-figure">
          <img src={`data:image/svg+xml;charset=utf-8,${encodeURIComponent(part.svg)}`} alt={part.caption} />
          <figcaption>{part.caption}</figcaption>
        </figure>
      );
    case "table":
      return (
        <div className="scroll study-table" role="region" aria-label={part.columns.join(", ")} tabIndex={0}>
          <p className="hint">{part.caption}</p>
          <table>
            <thead><tr>{part.columns.map((column) => <th key={column} scope="col" className="text">{column}</th>)}</tr></thead>
            <tbody>
              {part.rows.map((row, at) => <tr key={at}>{row.map((field, i) => <td key={i} className={`${/^[-\d.]+( |$)/.test(field.text) ? "" : "text"} ${LOOKS[field.look] ?? ""}`}>{field.text}</td>)}</tr>)}
            </tbody>
          </table>
        </div>
      );
  }
}
