// What a fault did to the rate: its slots on top of each other, the band of the healthy rate, the parts of a slot, and marks.
import type { FaultData, FaultSlotData } from "../data/types";
import type { Line, LineModel, Mark } from "./model";

/** The slot whose parts and marks are drawn: the first that counts. */
export function shown(fault: FaultData): FaultSlotData | undefined {
  return fault.slots.find((slot) => slot.void === null && slot.course_per_s.length > 0) ?? fault.slots.find((slot) => slot.course_per_s.length > 0);
}

/** Seconds that are drawn before the fault. */
export function lead(slot: FaultSlotData): number {
  return slot.from_s - slot.course_from_s;
}

function course(fault: FaultData, slot: FaultSlotData, at: number, origin: number): Line {
  const offset = origin - lead(slot);
  return {
    name: fault.slots.length > 1 ? `slot ${slot.number}${slot.void === null ? "" : " (void)"}` : "rate", colour: [0, 2, 4, 5, 6, 7][at % 6]!,
    dash: slot.void === null ? "solid" : "dotted", thin: at > 0,
    points: slot.course_per_s.map((rate, i): [number, number] => [Number((offset + (i + 0.5) * slot.course_step_s).toFixed(3)), rate]),
  };
}

const PARTS: Record<string, string> = { detection: "detection", initiation: "held", recovery: "recovery", keep: "kept" };

/** The picture of a fault. */
export function faultChart(fault: FaultData): LineModel {
  const base = { kind: "lines" as const, x: "time" as const, id: `fault-${fault.id}`, title: `Rate around: ${fault.name}`, unit: "per_s" as const };
  const first = shown(fault);
  if (!first) return { ...base, lines: [], hint: fault.what, empty: "No slot of this fault has a course that can be drawn." };
  const origin = Math.max(...fault.slots.map((slot) => (slot.course_per_s.length ? lead(slot) : 0)));
  const end = Math.max(...fault.slots.map((slot) => origin + slot.to_s - slot.from_s));
  const lines = fault.slots.filter((slot) => slot.course_per_s.length > 0).map((slot, at) => course(fault, slot, at, origin));
  const level = (name: string, y: number): Line => ({ name, colour: 3, thin: true, dash: "dashed", points: [[0, y], [end, y]] });
  if (fault.low_per_s !== null && fault.high_per_s !== null) {
    lines.push(level("band, lower end", fault.low_per_s), level("band, upper end", fault.high_per_s));
  }
  const at = (s: number) => Number((origin + s - first.from_s).toFixed(3));
  const marks: Mark[] = first.marks.map((mark) => ({ at: at(mark.at_s), name: mark.text, kind: mark.kind }));
  const phases = first.parts.filter((part) => part.part in PARTS).map((part) => ({ name: PARTS[part.part]!, from: at(part.from_s), to: at(part.to_s) }));
  const others = fault.slots.length > 1 ? ` Shades and marks are those of slot ${first.number}.` : "";
  return {
    ...base, lines, marks, phases: phases.filter((phase, i) => i % 2 === 0 || phase.to - phase.from > 0), xEnd: end,
    hint: `${fault.what}. Operations per second; it was made ${Number(origin.toFixed(1))} s after the left edge, in every slot. Dashed: the median of the healthy seconds, and 3 median absolute deviations on either side.${others}`,
  };
}
