"""Archives that the real program made, once for all tests: on the mock storage, whose times are known, and on the store
inside the program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
os.environ.setdefault("COSMARK_BIN", str(ROOT.parent / "target" / "debug" / "cosmark"))

# The machine may be slow and busy: a program that takes longer than this hangs.
PATIENCE_S = 300

CLOSED = """
name: closed
storage: {type: mock, delay: 2ms}
stages:
  - name: main
    works:
      - name: main
        workers: 4
        rampup: 500ms
        runtime: 1500ms
        interval: 250ms
        operations:
          - {type: read, ratio: 80, containers: c(1), objects: "u(1,100)", sizes: c(4)KB}
          - {type: write, ratio: 20, containers: c(1), objects: "u(1,100)", sizes: "u(1,64)KB"}
"""

# More arrivals than one worker of 2 ms can serve: response and service time differ.
LADDER = """
name: ladder
storage: {type: mock, delay: 2ms}
stages:
""" + "".join(
    f"""
  - name: load{rate}
    works:
      - name: main
        workers: {workers}
        rate: {rate}/s
        runtime: 1500ms
        interval: 500ms
        operations: [{{type: read, containers: c(1), objects: "u(1,100)", sizes: c(4)KB}}]
"""
    for rate, workers in ((100, 4), (400, 4), (450, 1))
)

# Two works whose operations have one name, and a matrix whose last axis is not the load: as many operations as their
# percentiles need, however long a busy machine takes for them.
WORKS = """
name: works
storage: {type: mock, delay: 1ms}
stages:
  - name: main
    works:
      - {name: small, workers: 2, total_ops: 200, operations: [{type: read, containers: c(1), objects: "u(1,100)"}]}
      - {name: large, workers: 4, total_ops: 400, operations: [{type: read, containers: c(1), objects: "u(1,100)"}]}
"""
MATRIX = """
name: matrix
storage: {type: mock, delay: 5ms}
stages:
  - name: main
    matrix: {workers: [1, 2, 4], size: [4KiB, 64KiB]}
    works:
      - name: main
        workers: ${{ matrix.workers }}
        total_ops: 200
        operations: [{type: write, containers: c(1), objects: "u(1,100)", sizes: "c(${{ matrix.size }})"}]
"""

# Four workers on a store that only waits do four times what one does.
STUDY = """
name: small
title: What workers do to a store that only waits
question: Does the rate grow with the workers?
systems: [{name: here}]
factors:
  - {name: size, levels: [4KB, 64KB]}
  - {name: workers, within: true, levels: [1, 4]}
scales:
  quick: {repetitions: {least: 2}}
  full: {repetitions: {least: 5}}
workload:
  head: |
    defaults: {container_prefix: "${{ prefix }}", containers: c(1), sizes: "c(${{ size }})"}
  point: |
    - name: main-${{ workers }}
      works:
        - name: main
          workers: ${{ workers }}
          runtime: 1s
          operations: [{type: write, objects: "u(1,100)"}]
  measured: main-${{ workers }}
claims:
  - id: S1
    says: Four workers do more than twice as much as one
    test:
      - of: {metric: throughput_per_s, where: {workers: 4}}
        to: {metric: throughput_per_s, where: {workers: 1}}
        least: 2
"""


def _run(archive: Path, text: str, *options: str) -> None:
    file = archive / "workload.yaml"
    file.write_text(text)
    program = os.environ["COSMARK_BIN"]
    command = [program, "run", str(file), "--archive", str(archive), "--quiet", "--no-report", "--seed", "7", *options]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, f"{command} ended with {done.returncode}: {done.stderr}{done.stdout}"


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """w1 closed loop with operation log, w2 ladder of three rates, w3 and w4 closed loop again, w5 the demo."""
    directory = tmp_path_factory.mktemp("archive")
    _run(directory, CLOSED, "--oplog")
    _run(directory, LADDER)
    _run(directory, CLOSED)
    _run(directory, CLOSED)
    program = os.environ["COSMARK_BIN"]
    demo = [program, "demo", "--runtime", "2", "--archive", str(directory), "--quiet", "--no-report", "--oplog"]
    done = subprocess.run(demo, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    return directory


@pytest.fixture(scope="session")
def shapes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """w1 two works with operations of one name, w2 a matrix of sizes and workers."""
    directory = tmp_path_factory.mktemp("shapes")
    _run(directory, WORKS)
    _run(directory, MATRIX)
    return directory


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of two sizes and two numbers of workers, each measured twice."""
    directory = tmp_path_factory.mktemp("study")
    (directory / "study.yaml").write_text(STUDY)
    (directory / "target.yaml").write_text("storage: {type: mock, delay: 5ms}\n")
    program = os.environ["COSMARK_BIN"]
    command = [program, "study", "study.yaml", "--system", "here=target.yaml", "--dir", "out", "--no-nodes", "--quiet"]
    done = subprocess.run(command, cwd=directory, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, f"{done.stderr}{done.stdout}"
    return directory / "out"


@pytest.fixture(scope="session")
def python() -> str:
    return sys.executable
