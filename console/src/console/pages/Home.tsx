// Drivers, what runs, what waits, and what was.
import { useStore } from "../store";
import { system } from "../system";
import { Drivers } from "./home/Drivers";
import { History } from "./home/History";
import { Queue } from "./home/Queue";
import { Running } from "./home/Running";
import { Loading } from "../ui/states";
import { useTitle } from "../ui/title";

export function Home() {
  const { status, drivers, active } = useStore(system);
  useTitle("Home");
  const running = active.filter((run) => run.state === "processing");
  const waiting = active.filter((run) => run.state !== "processing");
  return (
    <>
      <h1 className="visually-hidden">Home</h1>
      <div className="home">
        <section className="panel" aria-labelledby="running">
          <div className="panel-head">
            <h2 id="running">Running</h2>
            {status && <span className="soft">{running.length} of {status.concurrency} at a time</span>}
          </div>
          {status ? <Running runs={running} waiting={waiting.length} drivers={status.drivers_alive} /> : <Loading what="What runs" lines={3} />}
        </section>
        <section className="panel" aria-labelledby="queue">
          <div className="panel-head">
            <h2 id="queue">Queue</h2>
            {status && waiting.length > 0 && <span className="soft">{waiting.length} waiting</span>}
          </div>
          {status ? <Queue runs={waiting} /> : <Loading what="The queue" lines={3} />}
        </section>
        <section className="panel drivers" aria-labelledby="drivers">
          <div className="panel-head">
            <h2 id="drivers">Drivers</h2>
            {status && <span className="soft">{status.drivers_alive} alive</span>}
          </div>
          {status ? <Drivers drivers={drivers} /> : <Loading what="The drivers" lines={3} />}
        </section>
        <History />
      </div>
    </>
  );
}
