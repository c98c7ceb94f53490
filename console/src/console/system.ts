// What the controller says about itself, its drivers and its active runs: one stream, one snapshot that the pages follow.
import type { DriverInfo, RunSummary, Status, SystemEvent } from "../data/api";
import { EventStream, type Connection, type ServerEvent } from "./sse";
import { Store } from "./store";

export interface System {
  status: Status | null;
  drivers: DriverInfo[];
  /** Runs that wait or run, in their order. */
  active: RunSummary[];
  connection: Connection;
  /** Grows when a run has ended or a run of the history changed: time to ask for the history again. */
  history: number;
  /** The controller's clock minus this one, ms. */
  clockMs: number;
}

export const EMPTY: System = { status: null, drivers: [], active: [], connection: { phase: "connecting" }, history: 0, clockMs: 0 };

export const ENDED = ["finished", "failed", "terminated", "cancelled", "killed"];

export function hasEnded(run: RunSummary): boolean {
  return ENDED.includes(run.state);
}

/** Running first, then by place in the queue. */
export function inOrder(runs: RunSummary[]): RunSummary[] {
  const rank = (run: RunSummary) => run.position ?? -1;
  return [...runs].sort((a, b) => rank(a) - rank(b) || a.id.localeCompare(b.id, "en", { numeric: true }));
}

function put<T>(list: T[], one: T, same: (other: T) => boolean): T[] {
  const at = list.findIndex(same);
  return at < 0 ? [...list, one] : list.map((other, i) => (i === at ? one : other));
}

function clockOf(status: Status, now: number): number {
  const theirs = Date.parse(status.now);
  return Number.isFinite(theirs) ? theirs - now : 0;
}

/** The snapshot after an event. Pure. */
export function after(system: System, event: SystemEvent, now: number): System {
  switch (event.event) {
    case "everything": {
      const { status, drivers, active } = event.data;
      return { ...system, status, drivers: byName(drivers), active: inOrder(active), history: system.history + 1, clockMs: clockOf(status, now) };
    }
    case "status":
      return { ...system, status: event.data, clockMs: clockOf(event.data, now) };
    case "driver":
      return { ...system, drivers: byName(put(system.drivers, event.data, (one) => one.name === event.data.name)) };
    case "driver_gone":
      return { ...system, drivers: system.drivers.filter((one) => one.name !== event.data) };
    case "run": {
      const run = event.data;
      if (!hasEnded(run)) return { ...system, active: inOrder(put(system.active, run, (one) => one.id === run.id)) };
      return { ...system, active: system.active.filter((one) => one.id !== run.id), history: system.history + 1 };
    }
  }
}

function byName(drivers: DriverInfo[]): DriverInfo[] {
  return [...drivers].sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
}

/** Turns an event of the wire into a typed one; null when it is none that is known. */
export function typed<E extends { event: string }>(event: ServerEvent): E | null {
  try {
    return { event: event.name, data: JSON.parse(event.data) } as unknown as E;
  } catch {
    return null;
  }
}

const KNOWN = new Set(["everything", "status", "driver", "driver_gone", "run"]);

export const system = new Store<System>(EMPTY);
let stream: EventStream | null = null;

export function followSystem(): () => void {
  stream = new EventStream("events", {
    onEvents(events) {
      let next = system.get();
      for (const one of events) {
        const event = KNOWN.has(one.name) ? typed<SystemEvent>(one) : null;
        if (event) next = after(next, event, Date.now());
      }
      system.set(next);
    },
    onConnection: (connection) => system.set({ ...system.get(), connection }),
  });
  return () => {
    stream?.stop();
    stream = null;
    system.set(EMPTY);
  };
}

export function reconnect(): void {
  stream?.retry();
}
