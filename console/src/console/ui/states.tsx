// What stands where there is nothing, nothing yet, or a failure: always with what to do.
import type { ReactNode } from "react";
import type { UseQueryResult } from "@tanstack/react-query";
import { Refused, sentence } from "../api";

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="empty-state">
      <p className="empty-title">{title}</p>
      {children && <div className="soft">{children}</div>}
    </div>
  );
}

/** A place that keeps its size until the answer is there. */
export function Loading({ what, lines = 4 }: { what: string; lines?: number }) {
  return (
    <div className="loading" role="status">
      <span className="visually-hidden">{what} is being loaded</span>
      {Array.from({ length: lines }, (_, at) => <span key={at} className="bone" style={{ width: `${90 - ((at * 23) % 45)}%` }} />)}
    </div>
  );
}

export function Failure({ error, what, onRetry }: { error: unknown; what: string; onRetry?: () => void }) {
  const status = error instanceof Refused ? error.status : -1;
  return (
    <div className="empty-state failed-state" role="alert">
      <p className="empty-title">{what} could not be loaded</p>
      <p>{sentence(error)}</p>
      {status === 403 && <p className="soft">Your token may only look. Log in with a token whose role is operate.</p>}
      {onRetry && <p><button type="button" className="button" onClick={onRetry}>Try again</button></p>}
    </div>
  );
}

/** One of the three, or what comes of the data. */
export function Answer<T>(props: { query: UseQueryResult<T>; what: string; lines?: number; children: (data: T) => ReactNode }) {
  const { query, what } = props;
  if (query.data !== undefined) return <>{props.children(query.data)}</>;
  if (query.isError) return <Failure error={query.error} what={what} onRetry={() => void query.refetch()} />;
  return <Loading what={what} {...(props.lines === undefined ? {} : { lines: props.lines })} />;
}
