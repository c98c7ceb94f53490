// Server-sent events (WHATWG HTML, 9.2) by fetch: unlike EventSource this sees the status of a refusal and the heartbeat,
// which is a comment; so it knows when a connection has gone quiet, and can say so.
import { apiPath, loggedOut } from "./api";

export interface ServerEvent {
  name: string;
  data: string;
}

/** Cuts a stream of text into events. */
export class EventParser {
  /** Id of the last event, to go on from there. */
  lastId: string | null = null;
  private rest = "";
  private name = "";
  private data: string[] = [];
  private id: string | null = null;

  /** A connection begins: what the last one left unfinished is gone, and comes again. */
  begin(): void {
    this.rest = "";
    this.name = "";
    this.data = [];
    this.id = null;
  }

  push(text: string): ServerEvent[] {
    const events: ServerEvent[] = [];
    this.rest += text;
    // A CR at the very end may be the first half of CR LF.
    const lines = this.rest.split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line === "") {
        // An id counts when its event is whole.
        if (this.id !== null) this.lastId = this.id;
        this.id = null;
        if (this.data.length) events.push({ name: this.name || "message", data: this.data.join("\n") });
        this.name = "";
        this.data = [];
        continue;
      }
      const colon = line.indexOf(":");
      if (colon === 0) continue;
      const field = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
      if (field === "event") this.name = value;
      else if (field === "data") this.data.push(value);
      else if (field === "id" && !value.includes("\0")) this.id = value;
    }
    return events;
  }
}

export type Connection =
  | { phase: "connecting" }
  | { phase: "open" }
  /** Waits before it tries again; at: ms since the epoch. */
  | { phase: "waiting"; at: number; attempt: number }
  /** The tab is not seen: nothing is asked. */
  | { phase: "resting" }
  | { phase: "closed" };

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 15_000;
/** The controller writes a comment each 10 s; after this without a byte the connection counts as dead. */
export const SILENCE_MS = 25_000;
/** A tab that is not seen gives its connection back: browsers allow six to one address. */
const REST_AFTER_MS = 120_000;

/** Wait before attempt n (from 1): doubling, with chance so that many pages do not come back at once. */
export function backoff(attempt: number, chance = Math.random()): number {
  return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (attempt - 1)) * (0.75 + chance / 2);
}

export interface StreamOptions {
  onEvents(events: ServerEvent[]): void;
  onConnection(connection: Connection): void;
  /** An answer that will not get better by asking again, such as 404. */
  onRefused?(status: number): void;
}

/** A connection that comes back by itself and goes on where it was. */
export class EventStream {
  private readonly parser = new EventParser();
  private abort: AbortController | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private silence: ReturnType<typeof setTimeout> | undefined;
  private rest: ReturnType<typeof setTimeout> | undefined;
  private attempt = 0;
  private stopped = false;

  constructor(private readonly path: string, private readonly options: StreamOptions) {
    document.addEventListener("visibilitychange", this.seen);
    addEventListener("online", this.retry);
    void this.connect();
  }

  stop(): void {
    this.stopped = true;
    document.removeEventListener("visibilitychange", this.seen);
    removeEventListener("online", this.retry);
    clearTimeout(this.rest);
    this.hangUp();
    this.options.onConnection({ phase: "closed" });
  }

  /** Tries now instead of later. */
  retry = (): void => {
    if (this.stopped || this.abort) return;
    clearTimeout(this.timer);
    void this.connect();
  };

  private seen = (): void => {
    clearTimeout(this.rest);
    if (document.visibilityState === "visible") {
      this.attempt = 0;
      this.retry();
      return;
    }
    this.rest = setTimeout(() => {
      this.hangUp();
      this.options.onConnection({ phase: "resting" });
    }, REST_AFTER_MS);
  };

  private hangUp(): void {
    clearTimeout(this.timer);
    clearTimeout(this.silence);
    this.abort?.abort();
    this.abort = null;
  }

  private heard(): void {
    clearTimeout(this.silence);
    this.silence = setTimeout(() => {
      this.hangUp();
      this.again();
    }, SILENCE_MS);
  }

  private again(): void {
    if (this.stopped) return;
    this.attempt += 1;
    const wait = backoff(this.attempt);
    this.options.onConnection({ phase: "waiting", at: Date.now() + wait, attempt: this.attempt });
    this.timer = setTimeout(() => void this.connect(), wait);
  }

  private async connect(): Promise<void> {
    const abort = new AbortController();
    this.abort = abort;
    this.options.onConnection({ phase: "connecting" });
    this.heard();
    this.parser.begin();
    try {
      const headers: Record<string, string> = { Accept: "text/event-stream" };
      if (this.parser.lastId !== null) headers["Last-Event-ID"] = this.parser.lastId;
      const answer = await fetch(apiPath(this.path), { headers, signal: abort.signal, credentials: "same-origin", cache: "no-store" });
      if (answer.status === 401) {
        loggedOut();
        return this.stop();
      }
      if (answer.status === 404 || answer.status === 410) {
        this.options.onRefused?.(answer.status);
        return this.stop();
      }
      if (!answer.ok || !answer.body) throw new Error(String(answer.status));
      await this.read(answer.body, abort);
    } catch {
      // Whatever cut it off: try again, unless it was this side.
    }
    if (this.abort !== abort) return;
    this.hangUp();
    this.again();
  }

  private async read(body: ReadableStream<Uint8Array>, abort: AbortController): Promise<void> {
    const reader = body.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>).getReader();
    this.options.onConnection({ phase: "open" });
    for (;;) {
      const { done, value } = await reader.read();
      if (done || abort.signal.aborted) return;
      this.attempt = 0;
      this.heard();
      const events = this.parser.push(value);
      if (events.length) this.options.onEvents(events);
    }
  }
}
