// A run as its stream tells it.
import type { LogLine, RunEvent, RunSummary, StageNews, VerdictNews } from "../../data/api";
import type { SeriesNews } from "../../data/types";
import { apiPath, ofRun } from "../api";
import { EventStream, type Connection } from "../sse";
import { Store } from "../store";
import { typed } from "../system";
import { LiveStage } from "./series";

/** Lines of the log that are kept; the rest is in the file. */
export const LOG_LINES = 500;
/** Stages whose bins are kept; earlier ones are in the archive. */
const KEPT_STAGES = 2;
/** The page is drawn at most this often. */
const DRAW_EVERY_MS = 500;

export interface LiveRun {
  run: RunSummary | null;
  stages: StageNews[];
  verdict: VerdictNews | null;
  log: LogLine[];
  /** Bins by stage; the same objects go on being filled, `drawn` says that they changed. */
  live: ReadonlyMap<string, LiveStage>;
  drawn: number;
  connection: Connection;
  /** There is no such run. */
  missing: boolean;
  over: boolean;
}

const EMPTY: LiveRun = {
  run: null, stages: [], verdict: null, log: [], live: new Map(), drawn: 0, connection: { phase: "connecting" }, missing: false, over: false,
};

export class RunFeed {
  readonly store = new Store<LiveRun>(EMPTY);
  private readonly live = new Map<string, LiveStage>();
  private pending: Partial<LiveRun> = {};
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly stream: EventStream;

  constructor(readonly id: string) {
    this.stream = new EventStream(ofRun(id, "/events"), {
      onEvents: (events) => {
        for (const one of events) {
          const event = typed<RunEvent | { event: "series"; data: SeriesNews }>(one);
          if (event) this.take(event);
        }
        this.draw();
      },
      onConnection: (connection) => {
        this.store.set({ ...this.store.get(), connection });
      },
      onRefused: () => this.store.set({ ...this.store.get(), missing: true }),
    });
  }

  stop(): void {
    this.stream.stop();
    clearTimeout(this.timer);
  }

  retry = (): void => this.stream.retry();

  private now<K extends keyof LiveRun>(key: K): LiveRun[K] {
    return (this.pending[key] ?? this.store.get()[key]) as LiveRun[K];
  }

  private take(event: RunEvent | { event: "series"; data: SeriesNews }): void {
    switch (event.event) {
      case "run":
        this.pending.run = event.data;
        break;
      case "stage":
        this.pending.stages = withStage(this.now("stages"), event.data);
        break;
      case "interval":
        if (this.stage(event.data.stage).interval(event.data)) this.changed();
        break;
      case "series":
        this.stage(event.data.stage).add(event.data);
        this.changed();
        break;
      case "log":
        this.pending.log = withLine(this.now("log"), event.data);
        break;
      case "verdict":
        this.pending.verdict = event.data;
        break;
      case "end":
        this.pending.over = true;
        this.stream.stop();
        break;
    }
  }

  private stage(id: string): LiveStage {
    let stage = this.live.get(id);
    if (!stage) {
      stage = new LiveStage(id);
      this.live.set(id, stage);
      const [oldest] = this.live.keys();
      if (this.live.size > KEPT_STAGES && oldest !== undefined) this.live.delete(oldest);
    }
    return stage;
  }

  private changed(): void {
    this.pending.drawn = this.now("drawn") + 1;
  }

  /** Hands on what has come, not more often than people see. */
  private draw(): void {
    if (this.timer !== undefined) return;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      const pending = this.pending;
      this.pending = {};
      const live = pending.drawn === undefined ? this.store.get().live : new Map(this.live);
      this.store.set({ ...this.store.get(), ...pending, live });
    }, this.store.get().run === null ? 0 : DRAW_EVERY_MS);
  }
}

/** Stages in their order, each with its last news; what news do not say stays as it was. */
export function withStage(stages: StageNews[], news: StageNews): StageNews[] {
  const before = stages.find((one) => one.index === news.index);
  const known = { ...news, load_started: news.load_started ?? before?.load_started ?? null, planned_s: news.planned_s ?? before?.planned_s ?? null };
  return [...stages.filter((one) => one !== before), known].sort((a, b) => a.index - b.index);
}

/** The log with a line more; one that was there already (a stream that began again) is left out. */
export function withLine(log: LogLine[], line: LogLine): LogLine[] {
  const known = log.some((one) => one.at === line.at && one.from === line.from && one.text === line.text);
  return known ? log : [...log, line].slice(-LOG_LINES);
}

/** Where a file of a run is. */
export function fileUrl(id: string, name: string): string {
  return apiPath(ofRun(id, `/files/${name.split("/").map(encodeURIComponent).join("/")}`));
}
