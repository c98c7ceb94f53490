// Moments, ages and what remains, all by the controller's clock.
import { useEffect, useState } from "react";
import { clock, moment, NO_VALUE } from "../../format";
import { useZone } from "../prefs";
import { system } from "../system";
import { useStore } from "../store";

/** The controller's time now, ms; moves on each second while the page is seen. */
export function useNow(everyMs = 1000): number {
  const { clockMs } = useStore(system);
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === "visible" && setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now + clockMs;
}

/** `2026-01-05 08:00:01 GMT+2`. */
export function Moment({ at }: { at: string | null }) {
  useZone();
  return at === null ? <>{NO_VALUE}</> : <time dateTime={at} className="moment">{moment(at)}</time>;
}

/** `12 s ago`. */
export function age(at: string, now: number): string {
  const seconds = Math.max(0, Math.round((now - Date.parse(at)) / 1000));
  if (!Number.isFinite(seconds)) return NO_VALUE;
  if (seconds < 3) return "now";
  if (seconds < 120) return `${seconds} s ago`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h ago`;
  return `${Math.round(seconds / 86_400)} days ago`;
}

export function Age({ at }: { at: string }) {
  const now = useNow();
  useZone();
  return <time dateTime={at} title={moment(at)}>{age(at, now)}</time>;
}

/** `2:05`: how long from one moment to another, or to now; without a now it is over, and nobody knows since when. */
export function lasted(from: string | null, to: string | null, now: number | null): string {
  const end = to === null ? now : Date.parse(to);
  if (from === null || end === null) return NO_VALUE;
  const ms = end - Date.parse(from);
  return Number.isFinite(ms) ? clock(Math.max(0, Math.round(ms / 1000))) : NO_VALUE;
}
