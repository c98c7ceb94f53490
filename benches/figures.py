"""The figures: what is run, in which order, and what each is held against."""

import os
import resource
import shlex
from statistics import median

from harness import CONNECTIONS, MIB, Failed, NotRun, find, free_port, measure, stop


class Row:
    """One line of the table. `held` is what the target bounds: a ratio or a value."""

    def __init__(self, figure, ours="", peer="", ratio="", target="", verdict=""):
        self.cells = [figure, ours, peer, ratio, target, verdict]
        self.missed = verdict == "MISSED"


def judged(figure, ours, peer, ratio, target, good):
    return Row(figure, ours, peer, ratio, target, "pass" if good else "MISSED")


def not_run(figure, target, why):
    return Row(figure, target=target, verdict=f"not run ({why})")


def interleaved(reps, runs):
    """Runs each of `runs` once, `reps` times over, so that a slow minute hits all of them."""
    results = {name: [] for name in runs}
    for rep in range(reps):
        for name, run in runs.items():
            print(f"  {name} {rep + 1}/{reps}", flush=True)
            results[name].append(run())
    return results


def middle(results, read):
    return median(read(result) for result in results)


def ratio_of(ours, theirs, read):
    """The median of the ratios of neighbouring runs."""
    return median(read(a) / read(b) for a, b in zip(ours, theirs))


# ---- workloads


def s3(endpoint, **keys):
    return {"type": "s3", "endpoint": endpoint, "accesskey": "ID", "secretkey": "not-a-secret", "path_style_access": True, **keys}


def closed(storage, operation, seconds, workers=CONNECTIONS, **work):
    """One stage of one closed loop."""
    main = {"name": "main", "workers": workers, "interval": "1s", "runtime": f"{seconds}s", "operations": [operation], **work}
    return {"name": "bench", "storage": storage, "stages": [{"name": "main", "works": [main]}]}


def read_of(objects, **keys):
    """Reads, the object drawn by the run's seed."""
    return {"type": "read", "container_name": "static", "containers": "c(1)", "object_prefix": keys.pop("prefix", "o"),
            "objects": f"u(1,{objects})", **keys}


def prepare(bench, endpoint, prefix, objects, size):
    work = {"type": "prepare", "workers": 4, "container_name": "static", "containers": "r(1,1)",
            "object_prefix": prefix, "objects": f"r(1,{objects})", "sizes": f"c({size})B", "verify": True}
    bench.cosmark({"name": "prepare", "storage": s3(endpoint), "stages": [{"name": "prepare", "works": [work]}]})


# ---- the engine alone


def engine(bench, reps):
    """The null adaptor: nothing but the engine."""
    load = closed({"type": "none"}, {"type": "read", "containers": "u(1,32)", "objects": "u(1,100000)"}, bench.seconds)
    runs = [bench.cosmark(load) for _ in range(reps)]
    rate = middle(runs, lambda run: run.rate_per_s)
    yield judged("null adaptor, one core", f"{rate / 1e6:.2f} M op/s", "", "", ">= 2.00 M op/s", rate >= 2e6)


# ---- small requests


def small(bench, reps):
    """GET 4 KiB, 64 connections."""
    port, tls_port = bench.nginx()
    plain, tls = f"http://127.0.0.1:{port}", f"https://127.0.0.1:{tls_port}"
    prepare(bench, plain, "o", 1000, 4096)
    sim_port, _ = bench.simstore()
    sim = f"http://127.0.0.1:{sim_port}"
    read = read_of(1000)
    runs = {
        "wrk nginx": lambda: bench.wrk(f"{plain}/static/o1"),
        "GET 4 KiB nginx": lambda: bench.cosmark(closed(s3(plain), read, bench.seconds)),
        "GET 4 KiB TLS": lambda: bench.cosmark(closed(s3(tls, insecure=True), read, bench.seconds)),
        "wrk simstore": lambda: bench.wrk(f"{sim}/static/o1"),
        "GET 4 KiB simstore": lambda: bench.cosmark(closed(s3(sim), read, bench.seconds)),
        "GET 4 KiB simstore, apart": lambda: bench.cosmark(closed(s3(sim), read, bench.seconds), only_load=True),
        "GET 4 KiB simstore, log": lambda: bench.cosmark(closed(s3(sim), read, bench.seconds), "--oplog", only_load=True),
    }
    try:
        find("wrk")
    except NotRun as why:
        yield not_run("GET 4 KiB, CPU against wrk", "<= 1.15", why)
        runs = {name: run for name, run in runs.items() if not name.startswith("wrk")}
    results = interleaved(reps, runs)
    cpu = lambda run: run.us_per_op  # noqa: E731
    for server in ("nginx", "simstore"):
        theirs, ours = results.get(f"wrk {server}"), results[f"GET 4 KiB {server}"]
        if theirs:
            ratio = ratio_of(ours, theirs, cpu)
            yield judged(f"GET 4 KiB, CPU per request, {server}", f"{middle(ours, cpu):.2f} us", f"wrk {middle(theirs, cpu):.2f} us",
                         f"{ratio:.2f}", "<= 1.15", ratio <= 1.15)
            rate = lambda run: run.rate_per_s  # noqa: E731
            yield Row(f"  op/s of those runs, {server}", f"{middle(ours, rate):.0f}", f"wrk {middle(theirs, rate):.0f}",
                      f"{ratio_of(ours, theirs, rate):.2f}", "", "for information")
    both = list(zip(results["GET 4 KiB TLS"], results["GET 4 KiB nginx"]))
    more = median(cpu(a) - cpu(b) for a, b in both)
    yield judged("GET 4 KiB over TLS 1.3, CPU beyond plain", f"{middle(results['GET 4 KiB TLS'], cpu):.2f} us",
                 f"plain {middle(results['GET 4 KiB nginx'], cpu):.2f} us", f"+{more:.2f} us", "<= +5 us", more <= 5)
    ratio = ratio_of(results["GET 4 KiB simstore, log"], results["GET 4 KiB simstore, apart"], lambda run: run.rate_per_s)
    yield judged("op/s with the operation log", f"{middle(results['GET 4 KiB simstore, log'], lambda run: run.rate_per_s):.0f}",
                 f"without {middle(results['GET 4 KiB simstore, apart'], lambda run: run.rate_per_s):.0f}", f"{ratio:.3f}", ">= 0.97", ratio >= 0.97)


# ---- large objects


def large(bench, reps):
    """10 MiB objects on four connections. Reads are of one object, so that the server's copy is in the cache as iperf3's is."""
    port, _ = bench.nginx()
    endpoint = f"http://127.0.0.1:{port}"
    prepare(bench, endpoint, "big", 1, 10 * MIB)
    sim_port, _ = bench.simstore()
    write = {"type": "write", "container_name": "static", "containers": "c(1)", "object_prefix": "big", "objects": "u(1,16)",
             "sizes": "c(10)MiB"}
    load = lambda storage, operation: bench.cosmark(closed(storage, operation, bench.seconds, workers=4))  # noqa: E731
    runs = {
        "GET 10 MiB": lambda: load(s3(endpoint), read_of(1, prefix="big")),
        "GET 10 MiB verified": lambda: load(s3(endpoint), read_of(1, prefix="big", verify=True)),
        "PUT 10 MiB": lambda: load(s3(f"http://127.0.0.1:{sim_port}", signature="none"), write),
    }
    targets = {
        "GET 10 MiB": ("iperf3 -R", 0.6),
        "GET 10 MiB verified": ("iperf3 -R", 1.2),
        "PUT 10 MiB": ("iperf3", 0.7),
    }
    try:
        iperf_port = free_port()
        bench.serve([find("iperf3"), "-s", "-p", iperf_port], iperf_port)
        runs["iperf3 -R"] = lambda: bench.iperf3(iperf_port, True)
        runs["iperf3"] = lambda: bench.iperf3(iperf_port, False)
    except NotRun as why:
        for name, (_, target) in targets.items():
            yield not_run(f"{name}, CPU against iperf3", f"<= {target}", why)
        return
    results = interleaved(reps, runs)
    cpu = lambda run: run.s_per_gb  # noqa: E731
    for name, (peer, target) in targets.items():
        ratio = ratio_of(results[name], results[peer], cpu)
        yield judged(f"{name}, CPU per GB", f"{middle(results[name], cpu):.3f} s", f"{peer} {middle(results[peer], cpu):.3f} s",
                     f"{ratio:.2f}", f"<= {target}", ratio <= target)


# ---- the schedule, and many workers


def times_of(run, *columns):
    """Columns of the operation log of a kept run, the measured window only."""
    try:
        from pyarrow import parquet
    except ImportError:
        raise NotRun("python3 has no module pyarrow") from None
    return parquet.read_table(run.directory / "operations.parquet", columns=list(columns), filters=[("phase", "=", "window")])


def schedule(bench, reps):
    """How late the requests of an open loop are sent."""
    target = "p99 < 100 us"
    rate = 20000
    port, _ = bench.nginx()
    endpoint = f"http://127.0.0.1:{port}"
    prepare(bench, endpoint, "o", 1000, 4096)
    load = closed(s3(endpoint), read_of(1000), bench.seconds, workers=256, rate=f"{rate}/s", rampup="1s")
    late = []
    for _ in range(reps):
        run = bench.cosmark(load, "--oplog", keep=True, only_load=True)
        try:
            table = times_of(run, "due_ns", "sent_ns")
        except NotRun as why:
            yield not_run(f"open loop at {rate}/s, send against schedule", target, why)
            return
        errors = sorted(s - d for d, s in zip(table["due_ns"].to_pylist(), table["sent_ns"].to_pylist()))
        late.append([errors[int(len(errors) * q)] / 1e3 for q in (0.5, 0.99, 0.999)] + [len(errors) / bench.seconds])
    p50, p99, p999, reached = (median(run[i] for run in late) for i in range(4))
    yield judged(f"open loop at {rate}/s, sent after due, p99", f"{p99:.0f} us", "", f"p50 {p50:.0f}, p99.9 {p999:.0f} us",
                 target, p99 < 100 and reached > 0.99 * rate)


def crowd(bench, workers, reps):
    """Many workers, each with its own connection: memory, and the longest silence of the load thread."""
    port, _ = bench.simstore()
    per_address = 10000  # past half of its local ports (28 232) Linux searches long for a free one in connect()
    works = []
    for part in range((workers + per_address - 1) // per_address):
        count = min(per_address, workers - part * per_address)
        storage = s3(f"http://127.0.0.1:{port}", source_address=f"127.0.0.{2 + part}")
        # Paced: a closed loop would open all connections at once, and the server's backlog would refuse most of them.
        work = closed(storage, read_of(1000), bench.seconds, workers=count, rampup=f"{max(8, workers // 8000)}s",
                      pace={"rate_per_worker": f"{10000 / workers}/s"})["stages"][0]["works"][0]
        works.append({**work, "name": f"part{part}", "storage": storage})
    load = {"name": "bench", "stages": [{"name": "main", "works": works}]}
    memory, silence = [], []
    for _ in range(reps):
        run = bench.cosmark(load, "--oplog", keep=True, only_load=True)
        memory.append(run.max_resident_bytes / MIB)
        try:
            table = times_of(run, "sent_ns", "end_ns")
        except NotRun as why:
            silence = why
            break
        moments = sorted(table["sent_ns"].to_pylist() + table["end_ns"].to_pylist())
        silence.append(max(b - a for a, b in zip(moments, moments[1:])) / 1e6)
    mib = median(memory)
    yield judged(f"{workers} workers and connections, resident", f"{mib:.0f} MiB", "", f"{mib * 1024 / workers:.1f} KiB each",
                 "<= 1024 MiB", mib <= 1024)
    figure = f"{workers} connections, longest pause of the load thread"
    if isinstance(silence, NotRun):
        yield not_run(figure, "<= 50 ms", silence)
    else:
        yield judged(figure, f"{median(silence):.1f} ms", "", f"worst run {max(silence):.1f} ms", "<= 50 ms", median(silence) <= 50)


def many(bench, reps):
    """10 000, and 100 000 or as many as this machine lets one process open."""
    reps = min(reps, 3)
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[1] - 500
    sizes = [10000, 100000]
    for size in sizes:
        if allowed >= size:
            yield from crowd(bench, size, reps)
            continue
        yield not_run(f"{size} workers and connections", "<= 1024 MiB, <= 50 ms", f"one process may open {allowed + 500} files here")
        most = allowed // 1000 * 1000
        if most > 10000:
            yield from crowd(bench, most, reps)


# ---- other load generators

PEERS = {
    "warp": "COSMARK_BENCH_WARP",
    "hsbench": "COSMARK_BENCH_HSBENCH",
    "swift-bench": "COSMARK_BENCH_SWIFT_BENCH",
    "COSBench": "COSMARK_BENCH_COSBENCH",
}


def peers(bench, reps):
    """Whole commands from the environment, against a store that counts what it answers: CPU per request."""
    for name, variable in PEERS.items():
        figure = f"CPU per request, Cosmark against {name}"
        if not os.environ.get(variable):
            yield not_run(figure, "none", f"{variable} is not set")
            continue
        ours, theirs = [], []
        for _ in range(reps):
            port, store = bench.simstore()
            command = os.environ[variable].format(host=f"127.0.0.1:{port}", endpoint=f"http://127.0.0.1:{port}")
            try:
                usage = measure(shlex.split(command), 120)
            except (Failed, OSError) as why:
                yield not_run(figure, "none", str(why)[:60])
                break
            finally:
                said = stop(store)
            answered = next((int(line.split()[0]) for line in said.splitlines() if line.endswith("requests answered")), 0)
            if not answered:
                yield not_run(figure, "none", "the store saw no request")
                break
            theirs.append(usage.cpu_s / answered * 1e6)
            port, store = bench.simstore()
            ours.append(bench.cosmark(closed(s3(f"http://127.0.0.1:{port}"), read_of(1000), bench.seconds)).us_per_op)
            stop(store)
        else:
            ratio = median(a / b for a, b in zip(ours, theirs))
            yield Row(figure, f"{median(ours):.2f} us", f"{name} {median(theirs):.2f} us", f"{ratio:.3f}", "none", "for information")


GROUPS = {"engine": engine, "small": small, "large": large, "schedule": schedule, "many": many, "peers": peers}
