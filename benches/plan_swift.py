"""Is `cosmark plan` right of a real store? A ladder against one proxy of the Swift bed under a quota of processor time, the plan of
twice as much, and two such proxies, each under the same quota, measured. Client, proxies and storage share the processors of
one machine, which nobody doubles: `--units quota=2x` asks for that, `--nodes 2x` for another machine, which is no store that is
measured here. What was measured with the processors full decides nothing."""

import json
import socket
import subprocess
import time
from pathlib import Path

from bottleneck_bed import Failed
from bottleneck_swift import SwiftRun

FIRST, SECOND = 23080, 23090
# Seconds until a proxy under a small quota has begun to serve.
PATIENCE_S = 90
# A machine that is busier than this has nothing left that a second proxy could have.
FULL = 0.9
# What is asked of the plan, and whether the second run is that store: twice the quota on the same machine is, another machine
# like this one would be more.
WISHES = [(["--units", "quota=2x"], True), (["--nodes", "2x"], False)]


class ProxiesRun(SwiftRun):
    """One ladder against one or two proxies with a worker each, every one in a group of its own with the same quota."""

    other_conf = None

    def reach(self):
        ports = [FIRST, SECOND][: self.plant["proxies"]]
        return {
            # Each worker keeps to one of them, so that both have the same number of workers.
            "storage": {
                "type": "s3", "endpoint": ",".join(f"http://127.0.0.1:{port}" for port in ports), "accesskey": "test:tester", "secretkey": "testing",
                "path_style_access": True, "region": "us-east-1", "bucket_exists_ok": True, "timeout": "60s",
            },
            "nodes": [{"name": "all in one", "role": "swift", "type": "local", "interval": "500ms", "daemons": "swift-"}],
        }

    def bring_up(self):
        self.bed("up", SWIFT_DAEMONS="none", SWIFT_PROXY_WORKERS="1")
        if self.plant["proxies"] == 2:
            self.add_proxy()
        self.limit("proxy1", "proxy-server.conf", self.plant["quota"])

    def add_proxy(self):
        """As the bed starts its own, with another port, before that one is slowed down."""
        own = self.processes_of("proxy-server.conf")[0]
        words = [word.decode() for word in Path(f"/proc/{own}/cmdline").read_bytes().split(b"\0") if word]
        conf = next(word for word in words if word.endswith("/proxy-server.conf"))
        # Beside it, where the user that a proxy becomes may read it.
        self.other_conf = Path(conf).with_name("second-proxy.conf")
        text = Path(conf).read_text()
        if f"bind_port = {FIRST}" not in text:
            raise Failed(f"{conf} does not say port {FIRST}")
        self.other_conf.write_text(text.replace(f"bind_port = {FIRST}", f"bind_port = {SECOND}"))
        # A session of its own: at its end it signals its whole process group.
        words = [str(self.other_conf) if word == conf else word for word in words]
        second = self.start("second-proxy", "setsid", *words)
        group = self.group("proxy2")
        group.cpu(self.plant["quota"])
        # Before it has children, which are then in the group, too.
        group.take(second.child.pid)
        until = time.monotonic() + PATIENCE_S
        while not answers(SECOND):
            if second.is_over() or time.monotonic() > until:
                raise Failed(f"the second proxy does not serve: {second.said()[-600:]}")
            time.sleep(0.2)

    def end(self):
        super().end()
        if self.other_conf:
            self.other_conf.unlink(missing_ok=True)

    def archived(self):
        """Measures, and gives the directory of the run with the share of the machine that others took."""
        run, share = self.measured()
        found = next((self.directory / "archive").glob("w*-*/run.json"), None)
        if found is None:
            raise Failed(f"no run.json: {run.said()[-600:]}")
        return found.parent, share


def answers(port):
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2) as there:
            there.settimeout(5)
            there.sendall(b"GET /healthcheck HTTP/1.0\r\n\r\n")
            return b"200" in there.recv(64)
    except OSError:
        return False


def of_load(run, workers):
    """Operations per second of one load, and how busy the whole machine was."""
    record = json.loads((run / "run.json").read_text())
    stage = next(stage for stage in record["stages"] if stage["name"] == f"read{workers}")
    rate = sum(operation["throughput_per_s"] or 0 for operation in stage["operations"])
    busy = [unit["busy"] for node in stage["nodes"] for unit in node["units"] if unit["kind"] == "machine"]
    return rate, max(busy, default=0.0)


def costs(run, loads, quota):
    """Of each load: operations per second, processor milliseconds of the proxies' groups for each, and how busy the machine was. What
    is dearer with two proxies than with one at half of the load is what they take of each other."""
    record = json.loads((run / "run.json").read_text())
    said = []
    for workers in loads:
        rate, busy = of_load(run, workers)
        stage = next(stage for stage in record["stages"] if stage["name"] == f"read{workers}")
        used = sum(unit["busy"] * quota for node in stage["nodes"] for unit in node["units"] if unit["kind"] == "cpu_quota")
        each = f"{1e3 * used / rate:.2f} ms" if rate and used else "?"
        said.append(f"{workers} workers: {rate:.1f}/s, {each} each, machine {100 * busy:.0f} %")
    return "; ".join(said)


def planned(binary, run, wish, workers):
    """What the plan says, or why it says nothing."""
    command = [binary, "plan", run, "--json", *wish, "--workers", str(workers)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    if done.returncode:
        return None, (done.stderr or done.stdout).strip().splitlines()[-1:]
    return json.loads(done.stdout)[0]["planned"]["throughput_per_s"], []


def held_against(said, truth, near):
    """Of a plan: its value, its interval, what was measured, whether that lies in it, how far off the value is, and what to call it."""
    low, high = said["low"], said["high"]
    # Without an upper end the store may not keep up.
    is_inside = low <= truth and (high is None or truth <= high)
    off = said["value"] / truth - 1 if truth else float("inf")
    cells = [f"{said['value']:.1f}", f"{low:.1f} to {'?' if high is None else format(high, '.1f')}", f"{truth:.1f}", "inside" if is_inside else "outside"]
    is_near = abs(off) <= near
    state = "right" if is_near and is_inside else "near, but outside" if is_near else "off, but inside" if is_inside else "WRONG"
    return [*cells, f"{100 * off:+.1f} %", state]


def compare(options, near, too_busy, directory, lines):
    """Rows of a table, as `held_against` makes them, after what was asked. Each start of the bed has a cost per operation of its own
    (other places in memory, another neighbour on the host): with several starts, one proxy and two in turn, the last rows hold the
    means of what was planned and of what was measured against each other."""
    quota, loads, asked = options.quota, [4, 8, 12, 16, 24, 32], [32, 64]

    def run(proxies, loads, start):
        place = directory / f"{proxies}-proxies-{start}"
        place.mkdir()
        plant = {"proxies": proxies, "quota": quota, "rates": [], "loads": loads}
        one = ProxiesRun(options.binary, plant, options.step, place)
        try:
            return one.archived()
        finally:
            one.end()

    means = {}
    for start in range(1, options.starts + 1):
        # In turn, so that what changes with time is on neither side alone.
        sides = [(1, loads), (2, asked)] if start % 2 else [(2, asked), (1, loads)]
        of_side = {proxies: run(proxies, these, start) for proxies, these in sides}
        (before, others_before), (after, others_after) = of_side[1], of_side[2]
        print(f"one proxy: {costs(before, loads, quota)}; others {100 * others_before:.0f} %", flush=True)
        print(f"two proxies: {costs(after, asked, quota)}; others {100 * others_after:.0f} %", flush=True)
        for wish, is_measured in WISHES:
            for workers in asked:
                truth, busy = of_load(after, workers)
                said, why = planned(options.binary, before, wish, workers)
                what = f"{' '.join(wish)}, {workers} workers, {quota} processors each"
                is_crowded = busy >= FULL or max(others_before, others_after) > too_busy
                if is_measured:
                    means.setdefault(what, []).append((said and said["value"], truth, is_crowded))
                if options.starts > 1:
                    what = f"start {start}: {what}"
                if said is None:
                    lines.append([what, "refused", "-", f"{truth:.1f}", "-", "-", f"missed: {''.join(why)[:300]}"])
                    continue
                *cells, state = held_against(said, truth, near)
                if not is_measured:
                    state = "of a store with another machine, which was not measured"
                elif state == "WRONG" and is_crowded:
                    state = f"INCONCLUSIVE: the processors are {100 * busy:.0f} % busy"
                elif state == "WRONG" and options.starts > 1:
                    state = "off and outside, in this start"
                lines.append([what, *cells, state])
    if options.starts > 1:
        lines += [of_all(what, pairs, near) for what, pairs in means.items()]


def of_all(what, pairs, near):
    """A row of the means over all starts; those in which nothing was planned count in what was measured alone."""
    said = [value for value, _, _ in pairs if value is not None]
    truths = [truth for _, truth, _ in pairs]
    crowded = sum(is_crowded for _, _, is_crowded in pairs)
    name, truth = f"mean of {len(pairs)} starts: {what}", sum(truths) / len(truths)
    spread = f"{min(truths):.1f} to {max(truths):.1f}"
    if 2 * len(said) <= len(pairs):
        return [name, f"refused in {len(pairs) - len(said)}", "-", f"{truth:.1f} ({spread})", "-", "-", "missed: too few plans"]
    value = sum(said) / len(said)
    off = value / truth - 1 if truth else float("inf")
    state = "right" if abs(off) <= near else f"INCONCLUSIVE: the processors were full, or used by others, in {crowded}" if crowded else "WRONG"
    return [name, f"{value:.1f}", f"{min(said):.1f} to {max(said):.1f} planned", f"{truth:.1f} ({spread})", "-", f"{100 * off:+.1f} %", state]
