// The machines that make the load.
import { useState } from "react";
import { Link } from "wouter";
import { DataTable, type Column } from "../../../components/DataTable";
import type { DriverDoing, DriverInfo } from "../../../data/api";
import { bytes, exact, share, short } from "../../../format";
import { call } from "../../api";
import { runPage } from "../../paths";
import { useSession } from "../../session";
import { Confirm } from "../../ui/Dialog";
import { attempt } from "../../ui/notices";
import { Empty } from "../../ui/states";
import { Age } from "../../ui/time";
import { JoinCommand } from "./Join";

function path(driver: DriverInfo): string {
  return `drivers/${encodeURIComponent(driver.name)}`;
}

/** A driver's clock minus the controller's; a dash until it has answered. */
export const clockText = (driver: Pick<DriverInfo, "clock_offset_ns">) =>
  driver.clock_offset_ns === null ? "–" : `${driver.clock_offset_ns >= 0 ? "+" : "−"}${short(Math.abs(driver.clock_offset_ns), "ns")}`;

/** What a driver really does for a run: what it sends, and what is unusual about it. */
export function doingText(doing: DriverDoing): { what: string; unusual: string[] } {
  const unusual = [];
  if (!doing.ordered) unusual.push("not of this controller");
  if (doing.lease !== "makes") unusual.push(doing.lease);
  return { what: `${doing.run} ${short(doing.requests_per_s, "per_s")}/s`, unusual };
}

const lease = (doing: DriverDoing) => (doing.lease_age_s === null ? "no lease" : `lease renewed ${doing.lease_age_s.toFixed(1)} s ago`);

function Doing({ doing }: { doing: DriverDoing }) {
  const { what, unusual } = doingText(doing);
  return (
    <span className="doing" title={[lease(doing), ...doing.stores].join("; ")}>
      {what}
      {unusual.length > 0 && <span className="trouble-line"> {unusual.join(", ")}</span>}
    </span>
  );
}

export function Drivers({ drivers }: { drivers: DriverInfo[] }) {
  const { mayOperate } = useSession();
  const [forget, setForget] = useState<DriverInfo | null>(null);
  if (drivers.length === 0) {
    return (
      <Empty title="No driver has reported."><JoinCommand /></Empty>
    );
  }
  const columns: Column<DriverInfo>[] = [
    {
      head: "name", text: true,
      cell: (one) => (
        <span className="driver-name">
          <b>{one.name}</b>
          {one.labels.map(([key, value]) => <span key={key} className="tag">{key}={value}</span>)}
          {one.host !== one.name && <span className="soft"> {one.host}</span>}
          {one.trouble && <span className="trouble-line">{one.trouble}</span>}
        </span>
      ),
    },
    { head: "state", text: true, cell: (one) => <span className={`mark driver-${one.state}`}><span className="dot" aria-hidden="true" />{one.state}</span> },
    { head: "run", text: true, cell: (one) => (one.run ? <Link href={runPage(one.run)}>{one.run}</Link> : "–") },
    { head: "doing", title: "Requests that it really sends to stores, run by run, whoever ordered them", text: true, cell: (one) => (one.doing.length === 0 ? "–" : one.doing.map((doing) => <Doing key={doing.run} doing={doing} />)) },
    {
      head: "load", title: "Share of its processors that is busy",
      cell: (one) => <span className={`meter${(one.load ?? 0) > 0.9 ? " hot" : ""}`}><span style={{ width: `${Math.min(100, (one.load ?? 0) * 100)}%` }} /><b>{one.load === null ? "–" : share(one.load)}</b></span>,
    },
    { head: "ceiling", title: "Operations per second of its null adaptor on one core", cell: (one) => (one.ceiling_ops_per_s === null ? "–" : `${short(one.ceiling_ops_per_s, "per_s")}/s`), exact: (one) => exact(one.ceiling_ops_per_s, "per_s") },
    { head: "cores", cell: (one) => one.cores, exact: (one) => `${bytes(one.memory_bytes)} of memory; ${one.nics.map((nic) => `${nic.name} ${nic.addresses.join(" ")}${nic.speed_bits_per_s ? ` ${short(nic.speed_bits_per_s, "bits_per_s")}` : ""}`).join("; ")}` },
    { head: "clock", title: "Its clock minus the controller's", cell: clockText, exact: (one) => (one.clock_error_ns === null ? "not known" : `± ${short(one.clock_error_ns, "ns")}`) },
    { head: "version", text: true, cell: (one) => one.version, exact: (one) => `messages of version ${one.message_version}; speaks ${one.adaptors.join(" ")}` },
    { head: "last seen", cell: (one) => <Age at={one.last_seen} /> },
    ...(mayOperate ? [{
      head: "action", text: true,
      cell: (one: DriverInfo) => one.state === "lost" || one.state === "refused"
        ? <button type="button" className="button small" aria-label={`Forget ${one.name}`} onClick={() => setForget(one)}>Forget</button>
        : one.state === "drained"
          ? <button type="button" className="button small" aria-label={`Resume ${one.name}`} onClick={() => void attempt(() => call("PATCH", path(one), { drained: false }), `${one.name} gets work again`)}>Resume</button>
          : <button type="button" className="button small" aria-label={`Drain ${one.name}`} title="Finish what it does, and give it no new work" onClick={() => void attempt(() => call("PATCH", path(one), { drained: true }), `${one.name} gets no new work`)}>Drain</button>,
    }] : []),
  ];
  return (
    <>
      <DataTable label="Table of drivers" columns={columns} rows={drivers} keyOf={(one) => one.name} />
      <Confirm
        title={`Forget ${forget?.name ?? "the driver"}?`} open={forget !== null} onClose={() => setForget(null)} action="Forget it"
        onConfirm={async () => { if (forget) await attempt(() => call("DELETE", path(forget)), `${forget.name} is forgotten`); }}
      >
        It is taken off this list. If it reports again, it is back.
      </Confirm>
    </>
  );
}
