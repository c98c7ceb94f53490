// An address that leads nowhere.
import { Link } from "wouter";
import { Empty } from "../ui/states";

export function NotFound({ what = "This page" }: { what?: string }) {
  return (
    <section className="panel">
      <h1>{what} does not exist</h1>
      <Empty title="The address may be mistyped, or what it showed was removed.">
        <p><Link href="/">Go to the drivers, the queue and the history</Link></p>
      </Empty>
    </section>
  );
}
