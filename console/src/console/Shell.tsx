// What stands around every page: where one is, where one can go, and how the connection is.
import { useEffect, useRef, useState, type ReactNode } from "react";
import { Link, useLocation } from "wouter";
import { Button, Menu, MenuItem, MenuSection, MenuTrigger, Popover, Header, Separator } from "react-aria-components";
import { zoneName } from "../format";
import { useThemeChoice, useZone, type ThemeChoice } from "./prefs";
import { useSession } from "./session";
import { useStore } from "./store";
import { reconnect, system } from "./system";
import type { Connection } from "./sse";
import { Help } from "./Help";
import { Notices } from "./ui/notices";
import { useNow } from "./ui/time";

export const PLACES: { path: string; name: string; key: string }[] = [
  { path: "/", name: "Home", key: "h" },
  { path: "/submit", name: "Submit", key: "s" },
  { path: "/compare", name: "Compare", key: "c" },
  { path: "/performance", name: "Performance", key: "p" },
  { path: "/studies", name: "Studies", key: "y" },
  { path: "/targets", name: "Targets", key: "t" },
  { path: "/secrets", name: "Secrets", key: "k" },
];

export function Brand() {
  return (
    <span className="brand">
      <svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
        <rect width="32" height="32" rx="7" fill="var(--brand)" />
        <path d="M7 23V15M13 23V9M19 23v-5M25 23V12" stroke="#fff" strokeWidth="3.4" strokeLinecap="round" />
      </svg>
      Cosmark
    </span>
  );
}

function isAt(path: string, location: string): boolean {
  return path === "/" ? location === "/" || location.startsWith("/runs/") : location === path || location.startsWith(`${path}/`);
}

export function Shell({ children }: { children: ReactNode }) {
  const [location] = useLocation();
  const main = useRef<HTMLElement>(null);
  const first = useRef(true);
  useEffect(() => {
    // After a change of page the reading goes on at its beginning.
    if (first.current) first.current = false;
    else {
      main.current?.focus({ preventScroll: true });
      scrollTo(0, 0);
    }
  }, [location]);
  return (
    <>
      <a className="skip" href="#main">To the page</a>
      <header className="bar-top">
        <Link href="/" className="home-link" aria-label="Cosmark, home"><Brand /></Link>
        <nav aria-label="Pages">
          {PLACES.map(({ path, name }) => (
            <Link key={path} href={path} aria-current={isAt(path, location) ? "page" : undefined}>{name}</Link>
          ))}
        </nav>
        <ConnectionMark />
        <Settings />
      </header>
      <Stale />
      <main id="main" ref={main} tabIndex={-1} className="page">{children}</main>
      <Foot />
      <Help />
      <Notices />
    </>
  );
}

function word(connection: Connection): [string, string] {
  switch (connection.phase) {
    case "open": return ["good", "live"];
    case "connecting": return ["wait", "connecting"];
    case "waiting": return ["bad", "reconnecting"];
    case "resting": return ["wait", "resting"];
    case "closed": return ["bad", "closed"];
  }
}

function ConnectionMark() {
  const { connection, status } = useStore(system);
  const [kind, text] = word(connection);
  const nats = status && !status.nats_connected && status.nats !== "" ? "NATS is not connected" : null;
  return (
    <span className={`connection ${nats ? "bad" : kind}`} title={status ? `Controller ${status.controller}, Cosmark ${status.version}` : undefined} role="status">
      <span className="dot" aria-hidden="true" />{nats ?? text}
    </span>
  );
}

/** Says that what is shown is old, since when, and when the next attempt is made. It lies over the page and moves nothing. */
function Stale() {
  const { connection, status } = useStore(system);
  const now = useNow();
  const [since, setSince] = useState<number | null>(null);
  const { clockMs } = useStore(system);
  const lost = connection.phase === "waiting" || (connection.phase === "connecting" && since !== null);
  useEffect(() => {
    if (connection.phase === "open") setSince(null);
    else if (connection.phase === "waiting") setSince((before) => before ?? Date.now());
  }, [connection]);
  if (!lost || since === null) return null;
  const next = connection.phase === "waiting" ? Math.max(0, Math.ceil((connection.at + clockMs - now) / 1000)) : 0;
  return (
    <section className="stale" aria-label="Connection">
      <span>
        <span role="alert">{status ? "The connection to the controller is lost, what is shown is old" : "The controller does not answer"}</span>
        {/* Not read out: it changes every second. */}
        <span aria-hidden="true">: for {Math.max(0, Math.round((now - clockMs - since) / 1000))} s. {next > 0 ? `Next attempt in ${next} s.` : "Connecting."}</span>
      </span>
      <button type="button" className="button small" onClick={reconnect}>Try now</button>
      {/* A controller that no longer leads sends whoever loads the page to the one that does. */}
      {connection.phase === "waiting" && connection.attempt > 3 && <a className="button small" href={location.pathname + location.search}>Load the page again</a>}
    </section>
  );
}

const THEMES: [ThemeChoice, string][] = [["system", "As the system"], ["light", "Light"], ["dark", "Dark"]];

function Settings() {
  const session = useSession();
  const [theme, setTheme] = useThemeChoice();
  const [zone, setZone] = useZone();
  return (
    <MenuTrigger>
      <Button className="button quiet" aria-label={`Settings and log out, logged in as ${session.token_name}`}>
        <span className="who">{session.token_name}</span> <span aria-hidden="true">▾</span>
      </Button>
      <Popover className="popover" placement="bottom end">
        <Menu
          className="menu"
          onAction={(key) => {
            const [what, value] = String(key).split(":");
            if (what === "theme") setTheme(value as ThemeChoice);
            else if (what === "zone") setZone(value === "utc" ? "utc" : "local");
            else if (what === "keys") dispatchEvent(new Event("cosmark-help"));
            else void session.logOut();
          }}
        >
          <MenuSection>
            <Header className="menu-head">Theme</Header>
            {THEMES.map(([value, name]) => (
              <MenuItem key={value} id={`theme:${value}`} className="menu-item" textValue={`${name} theme${theme === value ? ", chosen" : ""}`}>
                <span className="tick" aria-hidden="true">{theme === value ? "✓" : ""}</span>{name}
              </MenuItem>
            ))}
          </MenuSection>
          <Separator className="menu-line" />
          <MenuSection>
            <Header className="menu-head">Times</Header>
            {(["local", "utc"] as const).map((value) => (
              <MenuItem key={value} id={`zone:${value}`} className="menu-item" textValue={`${value === "utc" ? "UTC" : "Local time"}${zone === value ? ", chosen" : ""}`}>
                <span className="tick" aria-hidden="true">{zone === value ? "✓" : ""}</span>
                {value === "utc" ? "UTC" : "Local time"}
              </MenuItem>
            ))}
          </MenuSection>
          <Separator className="menu-line" />
          <MenuItem id="keys" className="menu-item" textValue="Keys"><span className="tick" aria-hidden="true" />Keys of this console</MenuItem>
          <MenuItem id="out" className="menu-item" textValue="Log out">
            <span className="tick" aria-hidden="true" />Log out <span className="soft">({session.role})</span>
          </MenuItem>
        </Menu>
      </Popover>
    </MenuTrigger>
  );
}

function Foot() {
  const { status } = useStore(system);
  const [zone] = useZone();
  const named = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const place = zone === "utc" || named === "UTC" ? "UTC" : `${named} (${zoneName()})`;
  return (
    <footer className="foot">
      <span>Times are {place}.</span>
      {status && (
        <span>
          Controller {status.controller}{status.leader !== status.controller && `, led by ${status.leader}`}
          {status.controllers.length > 1 && `, ${status.controllers.length} controllers`}, Cosmark {status.version}
          {status.nats !== "" && `, NATS at ${status.nats}`}
        </span>
      )}
      <span>Press <kbd>?</kbd> for keys.</span>
    </footer>
  );
}
