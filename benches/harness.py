"""Runs programs pinned and bounded, and measures their CPU time by getrusage (wait4): Cosmark, its peers, the servers."""

import contextlib
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SERVER_CORE, CLIENT_CORE = 0, 1
CONNECTIONS = 64
MIB = 1 << 20


class NotRun(Exception):
    """A figure that cannot be measured here; the text says why."""


class Failed(Exception):
    """Something that should have worked did not."""


class Usage:
    """What a process has used in its life."""

    def __init__(self, rusage, output):
        self.cpu_s = rusage.ru_utime + rusage.ru_stime
        self.user_s = rusage.ru_utime
        self.max_resident_bytes = rusage.ru_maxrss * 1024
        self.output = output


def find(program):
    path = shutil.which(program) or shutil.which(program, path="/usr/sbin:/sbin")
    if not path:
        raise NotRun(f"{program} is not installed")
    return path


def real_time():
    """chrt -f 10 where allowed: other work on the machine then does not take the cores away."""
    if shutil.which("chrt") and subprocess.run(["chrt", "-f", "10", "true"], capture_output=True).returncode == 0:
        return ["chrt", "-f", "10"]
    return []


REAL_TIME = real_time()

CONGESTION_FILE = Path("/proc/sys/net/ipv4/tcp_congestion_control")
MOST_FILES = 250_000
OWN_NETWORK = "COSMARK_BENCH_OWN_NETWORK"


def own_network():
    """Starts this program again in a network namespace of its own whose TCP does not pace, where that is allowed.

    BBR, the default of some machines, paces by timers also on loopback: each 70 KB then cost the reader a wake-up, and
    what is measured is wake-ups. Returns what is in use.
    """
    if os.environ.get(OWN_NETWORK):
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True, timeout=10)
        for name in ("cubic", "reno"):
            with contextlib.suppress(OSError):
                CONGESTION_FILE.write_text(name)
                break
        return f"network namespace of its own, {CONGESTION_FILE.read_text().strip()}"
    tools = shutil.which("unshare") and shutil.which("ip")
    if tools and subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode == 0:
        sys.stdout.flush()
        os.execvpe("unshare", ["unshare", "-n", sys.executable, *sys.argv], {**os.environ, OWN_NETWORK: "1"})
    return f"the machine's own network, {CONGESTION_FILE.read_text().strip()}"


def pinned(core, command, priority=REAL_TIME):
    return ["taskset", "-c", str(core), *priority, *map(str, command)]


def prefer_load_threads(pid):
    """The client's core and high priority for the load threads of a Cosmark; its writers stay on the other core. Not real-time priority:
    a thread that waits awake for its due times uses all of its core, and the kernel takes that away from real-time tasks."""
    with contextlib.suppress(OSError):
        threads = {int(each.name): each.joinpath("comm").read_text() for each in Path(f"/proc/{pid}/task").iterdir()}
        loads = [thread for thread, name in threads.items() if name.startswith("load-")]
        # Not before there are any: a program that starts on one core plans for one core.
        for thread in threads if loads else ():
            os.sched_setaffinity(thread, {CLIENT_CORE if thread in loads else SERVER_CORE})
            if thread in loads and REAL_TIME:
                os.setpriority(os.PRIO_PROCESS, thread, -20)


def measure(command, limit_s, core=CLIENT_CORE, only_load=False, watch=None):
    """Runs a command to its end on the client's core; with `only_load` only its load threads run there, and with priority. `watch` is
    given its id now and then."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        command = [str(part) for part in command] if only_load else pinned(core, command)
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors)
        until = time.monotonic() + limit_s
        while True:
            pid, status, rusage = os.wait4(child.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() > until:
                os.kill(child.pid, signal.SIGKILL)
                os.wait4(child.pid, 0)
                child.returncode = -9
                raise Failed(f"{child.args} did not end within {limit_s} s")
            if only_load:
                prefer_load_threads(child.pid)
            if watch:
                watch(child.pid)
            time.sleep(0.02)
        child.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        if child.returncode != 0:
            text = (errors.read() or output.read()).decode(errors="replace").strip()
            raise Failed(f"{child.args} ended with {child.returncode}: {text[-600:]}")
        return Usage(rusage, output.read().decode(errors="replace"))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def allow_files():
    """As many open files as the figures need, where the right to raise the limit is given."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(hard, MOST_FILES), max(hard, MOST_FILES)))


class Bench:
    """The binary, a directory in memory, and the servers; ends what it started."""

    def __init__(self, binary, seconds):
        self.binary = Path(binary).resolve()
        if not os.access(self.binary, os.X_OK):
            raise SystemExit(f"{binary} is not there; run: cargo build --release, or give --binary")
        self.seconds = seconds
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.dir = Path(tempfile.mkdtemp(prefix="cosmark-bench-", dir=memory))
        self.servers = []

    def close(self):
        for child in self.servers:
            stop(child)
        shutil.rmtree(self.dir, ignore_errors=True)

    # ---- servers

    def serve(self, command, port, **options):
        log = open(self.dir / f"server-{port}.log", "wb")
        child = subprocess.Popen(
            pinned(SERVER_CORE, command), stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, **options
        )
        child.log = Path(log.name)
        self.servers.append(child)
        until = time.monotonic() + 10
        while time.monotonic() < until:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                return child
            if child.poll() is not None:
                break
            time.sleep(0.05)
        raise Failed(f"{command[0]} does not listen: {child.log.read_text(errors='replace')[-400:]}")

    def nginx(self):
        """Plain and TLS port of an nginx that keeps what is PUT in memory."""
        program = find("nginx")
        root = self.dir / "nginx"
        for name in ("tmp", "www/static"):
            (root / name).mkdir(parents=True)
        certificate(root)
        port, tls_port = free_port(), free_port()
        text = (HERE / "nginx.conf.in").read_text()
        hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        for key, value in {
            "USER_LINE": "user root;" if os.getuid() == 0 else "",
            "DIR": root, "PORT": port, "TLS_PORT": tls_port, "CONNECTIONS": min(4096, hard_limit // 2),
        }.items():
            text = text.replace(f"@{key}@", str(value))
        (root / "nginx.conf").write_text(text)
        self.serve([program, "-e", "stderr", "-p", root, "-c", root / "nginx.conf"], port)
        return port, tls_port

    def simstore(self, null_bytes=4096):
        """A simulated store that keeps nothing and answers every GET with as many bytes."""
        port = free_port()
        behaviour = self.dir / f"behaviour-{port}.yaml"
        behaviour.write_text(
            f"store: {{mode: null, null_bytes: {null_bytes}}}\nlog: {{max_records: 0}}\nmax_connections: 1000000\n"
        )
        child = self.serve([self.binary, "serve", "--behaviour", behaviour, "--listen", f"127.0.0.1:{port}"], port)
        return port, child

    # ---- clients

    def cosmark(self, workload, *options, limit_s=120, keep=False, only_load=False, watch=None):
        """One `cosmark run` on one load thread. Returns its usage, its run.json, and its directory if that is kept."""
        file = self.dir / "workload.json"
        file.write_text(json.dumps(workload))  # JSON is YAML
        archive = Path(tempfile.mkdtemp(prefix="archive-", dir=self.dir))
        try:
            usage = measure(
                [self.binary, "run", file, "--threads", "1", "--seed", "1", "--json", "-q", "--archive", archive, *options],
                limit_s,
                only_load=only_load,
                watch=watch,
            )
            run = json.loads(usage.output)
            done = [op for stage in run["stages"] for op in stage["operations"]]
            failures = sum(op["failures"] for op in done)
            usage.operations = sum(op["count"] for op in done)
            usage.bytes = sum(op["bytes"] for op in done)
            if failures or not usage.operations:
                raise Failed(f"{failures} operations failed: {[op['error_examples'] for op in done]}"[:600])
            usage.rate_per_s = sum(op["throughput_per_s"] or 0 for op in done)
            usage.us_per_op = usage.cpu_s / usage.operations * 1e6
            usage.s_per_gb = usage.cpu_s / usage.bytes * 1e9 if usage.bytes else None
            usage.done = done
            if keep:
                usage.directory = next(archive.glob("w*-*"))
                return usage
        finally:
            if not keep:
                shutil.rmtree(archive, ignore_errors=True)
        return usage

    def wrk(self, url):
        """wrk, one thread; unsigned GETs of one URL."""
        usage = measure([find("wrk"), "-t1", f"-c{CONNECTIONS}", f"-d{self.seconds}s", url], self.seconds + 30)
        if "Non-2xx" in usage.output or "Socket errors" in usage.output:
            raise Failed(f"wrk: {usage.output}")
        requests = next(line for line in usage.output.splitlines() if " requests in " in line)
        usage.operations = int(requests.split()[0])
        usage.us_per_op = usage.cpu_s / usage.operations * 1e6
        usage.rate_per_s = usage.operations / self.seconds
        return usage

    def iperf3(self, port, reverse):
        """iperf3's client, four streams in its one thread."""
        command = [find("iperf3"), "-c", "127.0.0.1", "-p", port, "-t", self.seconds, "-P4", "-J"]
        usage = measure(command + ["-R"] * reverse, self.seconds + 30)
        end = json.loads(usage.output)["end"]
        usage.bytes = end["sum_received" if reverse else "sum_sent"]["bytes"]
        usage.s_per_gb = usage.cpu_s / usage.bytes * 1e9
        return usage


def certificate(directory):
    command = [find("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
               "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
               "-keyout", str(directory / "key.pem"), "-out", str(directory / "cert.pem")]
    subprocess.run(command, check=True, capture_output=True, timeout=30)


def stop(child):
    """Ends a server that was started here, by its id. Returns what it said."""
    if child.poll() is None:
        child.send_signal(signal.SIGTERM)
        try:
            child.wait(10)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait(10)
    return child.log.read_text(errors="replace") if child.log.exists() else ""
