"""A run: what its directory says, read file by file when it is asked for. Nothing is written."""

from __future__ import annotations

import bisect
import csv
import html
import io
import itertools
import json
import math
import os
import re
import socket
import warnings
from datetime import datetime
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from . import cosbench
from .errors import CosmarkError
from .files import as_text, is_run_directory, number_of, read_text
from .frames import Parquet
from .hlog import PHASES, Histogram, HistogramLog
from .table import Table
from .texts import as_it_was, plain

#: Which of an operation's times: from due to the end, from sent to the end, from sent to the first byte of the answer.
TIMES = ("response", "service", "first_byte")

#: The form of ``run.json`` that this package reads.
SCHEMA = 1
#: A larger run.json is damage.
_MOST_RECORD_BYTES = 1 << 30
#: Percentiles in ``run.json``.
_PERCENTILES = ("p50", "p60", "p80", "p90", "p95", "p99", "p99_9", "p99_99")
#: Parts of a mean response time; they add up to it.
_PARTS = ("mean", "wait", "connect", "tls", "send", "first_byte", "body", "several", "rest")
#: What prepares and cleans up, and measures nothing.
_AROUND = ("init", "prepare", "mprepare", "cleanup", "dispose", "delay")

Json = Dict[str, Any]


class Verdict(NamedTuple):
    """Whether the numbers of a run can be believed."""

    #: ``true``, ``true_with_limits``, ``not_proven`` or ``false``
    overall: str
    #: the gravest reason why it is no better
    reason: Optional[str]
    #: one row per check: id, name, stage, status, allows, value, limit, message
    checks: Table

    @property
    def word(self) -> str:
        """As it stands above results: ``TRUE WITH LIMITS``."""
        return self.overall.replace("_", " ").upper()

    def __str__(self) -> str:
        return f"{self.word}: {self.reason}" if self.reason else self.word


class Operation:
    """What one operation of a stage did in its measured window."""

    def __init__(self, run: "Run", stage: "Stage", record: Json) -> None:
        #: the operation's part of ``run.json``, every field of it
        self.record = record
        self.run, self.stage = run, stage
        #: its name, what it does, its work, its name in the histogram log
        self.name: str = record.get("name", "")
        self.op: str = record.get("op", "")
        self.work: str = record.get("work", "")
        self.tag: str = record.get("tag", "")
        self.id: str = record.get("id", "")

    @property
    def is_main(self) -> bool:
        """False for what prepares and cleans up."""
        return self.op not in _AROUND

    @property
    def count(self) -> int:
        """Operations that succeeded."""
        return int(self.record.get("count") or 0)

    @property
    def failures(self) -> int:
        """Operations that failed."""
        return int(self.record.get("failures") or 0)

    @property
    def throughput_per_s(self) -> Optional[float]:
        """Successes per second of the window."""
        return _number(self.record.get("throughput_per_s"))

    @property
    def bandwidth_bytes_per_s(self) -> Optional[float]:
        """Body bytes of successes per second of the window."""
        return _number(self.record.get("bandwidth_bytes_per_s"))

    def bounds(self, figure: str) -> Optional[Tuple[float, float]]:
        """Between which values a figure lies (``throughput_per_s``, ``response_ms.p99``); None where it is not known."""
        bound = (self.record.get("bounds") or {}).get(figure) or {}
        low, high = _number(bound.get("low")), _number(bound.get("high"))
        return None if low is None or high is None or bound.get("does_not_hold") else (low, high)

    def client_part(self, figure: str) -> Tuple[Optional[float], Optional[float]]:
        """What the client can have added to a figure, and what it can have kept from it, in the figure's unit.

        None where nothing limits it; zeros of a run that says nothing about it.
        """
        bound = (self.record.get("bounds") or {}).get(figure)
        if not bound:
            return 0.0, 0.0
        client = bound.get("client") or {}
        return _number(client.get("below")), _number(client.get("above"))

    def histogram(self, time: str = "response", phase: str = "window") -> Histogram:
        """All its times of one kind, added up over the intervals of a phase."""
        return self.run._histograms(self, time, phase)

    def histograms_by_size(self) -> "Dict[str, Histogram]":
        """Response times of the window by class of size (``4 KiB..16 KiB``), ascending; empty where all were of one class, of
        runs that were killed, and of runs of older versions."""
        classes = self.record.get("size_classes") or []
        tags = {f"{self.tag}.response.size_{one.get('least_bytes')}": str(one.get("label")) for one in classes}
        if tags:
            self.run._check_whole(self, "response")
        merged = self.run._log().merged(tags) if tags else {}
        return {label: merged[tag] for tag, label in tags.items() if tag in merged}

    def quantile(self, q: float, time: str = "response", phase: str = "window") -> Optional[float]:
        """See :meth:`Run.quantile`."""
        histogram = self.histogram(time, phase)
        return histogram.quantile(q) if histogram.supports(q) else None

    def __repr__(self) -> str:
        return f"Operation({self.stage.name} {self.name}, {self.count} ok, {self.failures} failed)"


class Stage:
    """A stage."""

    def __init__(self, run: "Run", record: Json) -> None:
        #: the stage's part of ``run.json``, every field of it
        self.record = record
        self.run = run
        self.id: str = record.get("id", "")
        self.name: str = record.get("name", "")
        self.state: str = record.get("state", "")
        self.reason: Optional[str] = record.get("reason")
        self.started = _moment(record.get("started"))
        self.ended = _moment(record.get("ended"))
        self.load_started = _moment(record.get("load_started"))
        self.window_s = _number(record.get("window_s"))
        self.operations = [Operation(run, self, one) for one in record.get("operations") or []]

    @property
    def main(self) -> List[Operation]:
        """Its operations without those that prepare and clean up."""
        return [one for one in self.operations if one.is_main]

    @property
    def throughput_per_s(self) -> Optional[float]:
        """Successes per second of all of its operations but those that prepare and clean up; None where one's is not known."""
        rates = [one.throughput_per_s for one in self.main if one.count > 0 or one.throughput_per_s is not None]
        known = [rate for rate in rates if rate is not None]
        return sum(known) if known and len(known) == len(rates) else None

    def operation(self, name: str) -> Operation:
        """The operation of this name, id (``op1``), tag, or ``work/name``."""
        # Of COSBench's runs works and operations have no names of their own, and nothing is no name.
        fits = [
            one
            for one in self.operations
            if name and name in (one.name, f"{one.work}/{one.name}", one.id, one.tag)
        ]
        if len(fits) == 1:
            return fits[0]
        have = ", ".join(f"{one.work}/{one.name} ({one.id})" for one in fits or self.operations) or "none"
        if not self.operations and self.run.state == "running":
            have += " yet: a run that goes on has those of a stage when it has ended"
        said = "is not there" if not fits else "is there more than once: say work/name or the id"
        raise CosmarkError(f"operation {name} of stage {self.id} of {self.run.id} {said}; there are {have}")

    def __repr__(self) -> str:
        return f"Stage({self.id} {self.state}, {len(self.operations)} operations)"


class Run:
    """A run of an archive; see :func:`cosmark.open`."""

    def __init__(self, path: Path) -> None:
        #: its directory, which stays the same where the working directory changes
        self.path = path.absolute()
        #: ``run.json``, every field of it
        self.record: Json = _read_record(self.path)
        self.id: str = self.record.get("id", "")
        self.name: str = self.record.get("name", "")
        self.reason: Optional[str] = self.record.get("reason")
        self.seed: Optional[int] = self.record.get("seed")
        #: ``COSBench 0.4.2`` of a run that COSBench made; None of ours
        self.made_by: Optional[str] = self.record.get("made_by")
        self.submitted = _moment(self.record.get("submitted"))
        self.started = _moment(self.record.get("started"))
        self.ended = _moment(self.record.get("ended"))
        self.stages = [Stage(self, one) for one in self.record.get("stages") or []]
        self._merged: Dict[Tuple[str, str, str], Histogram] = {}

    @property
    def state(self) -> str:
        """``finished``, ``failed``, ``terminated``, ``cancelled``, ``running``, or ``killed``: its process is gone."""
        state = str(self.record.get("state", ""))
        return "killed" if state == "running" and _is_gone(self.record.get("process")) else state

    @property
    def verdict(self) -> Verdict:
        """Whether its numbers can be believed, and every check."""
        verdict = self.record.get("verdict") or {}
        columns = ("id", "name", "stage", "status", "allows", "value", "limit", "message")
        checks = Table(verdict.get("checks") or [], columns)
        return Verdict(verdict.get("overall") or "not_proven", verdict.get("reason"), checks)

    def stage(self, stage: str) -> Stage:
        """The stage of this name or id (``main`` or ``s3-main``)."""
        fits = [one for one in self.stages if stage in (one.id, one.name)]
        if len(fits) == 1:
            return fits[0]
        have = ", ".join(one.id for one in fits or self.stages) or "none"
        said = "is not there" if not fits else "is there more than once: say its id"
        raise CosmarkError(f"stage {stage} of {self.id} {said}; there are {have}")

    def operation(self, stage: str, operation: str) -> Operation:
        """One operation of one stage."""
        return self.stage(stage).operation(operation)

    @property
    def operations(self) -> Table:
        """One row per stage and operation: counts, rates, times, and their error bounds.

        ``<time>_<figure>_ms`` is a figure of one kind of time: ``response_p99_ms``, ``first_byte_mean_ms``. A percentile
        that the data do not support is None; :meth:`quantile` reads any other. Between ``<time>_<figure>_low_ms`` and
        ``_high_ms`` (``throughput_low_per_s``, ``bandwidth_low_bytes_per_s``) lies what a client that adds nothing would have
        measured; both are None where the figure does not hold.
        """
        return self._rows_of(one for stage in self.stages for one in stage.operations)

    @property
    def main(self) -> Table:
        """The same without what prepares and cleans up."""
        return self._rows_of(one for stage in self.stages for one in stage.main)

    def _rows_of(self, operations: Iterable[Operation]) -> Table:
        """A row each; the columns are there without any, too."""
        rows = [_row(one) for one in operations]
        return Table(rows, list(rows[0] if rows else _row(Operation(self, Stage(self, {}), {}))))

    def histogram(
        self, stage: str, operation: str, time: str = "response", phase: str = "window"
    ) -> Histogram:
        """All times of one kind of one operation, added up over drivers and intervals: any quantile, CDF, counts."""
        return self.operation(stage, operation).histogram(time, phase)

    def quantile(
        self, stage: str, operation: str, q: float, time: str = "response", phase: str = "window"
    ) -> Optional[float]:
        """The time in ms that the share ``q`` of the operations did not exceed, from merged histograms.

        At most 0.1 % too high. None where fewer than ten operations lie beyond it, as in the rest of Cosmark:
        ``histogram(..).quantile(q)`` gives the figure all the same.
        """
        return self.operation(stage, operation).quantile(q, time, phase)

    def _histograms(self, one: Operation, time: str, phase: str) -> Histogram:
        check_time(time)
        if phase not in PHASES:
            raise CosmarkError(f"there is no phase {phase}; there are {', '.join(PHASES)}")
        self._check_whole(one, time)
        return self._merged_times(one.tag, time, phase)

    def _merged_times(self, tag: str, time: str, phase: str) -> Histogram:
        key = (tag, time, phase)
        if key not in self._merged:
            # A closed loop's service time is its response time and is written once.
            tags = _tags(tag, time, phase)
            merged = self._log().merged(tags)
            self._merged[key] = next((merged[one] for one in tags if one in merged), Histogram())
        return self._merged[key]

    def _check_whole(self, one: Operation, time: str) -> None:
        """A CosmarkError where the log of a run that is over has fewer times of the window than the record counts: one that was cut,
        or copied in part, reads like a shorter one, and its quantiles are those of a part of the run."""
        counted = (one.record.get(f"{time}_ms") or {}).get("count")
        if self.state in ("running", "killed") or self.record.get("fio") or not isinstance(counted, int):
            return
        has = len(self._merged_times(one.tag, time, "window"))
        if has < counted:
            where = f"{self.path / 'histograms.hlog'} has {has} of {counted} {time} times of {one.name or one.id} in the window"
            said = "it was cut, or copied in part; restore it from a copy"
            raise CosmarkError(f"{where} of {one.stage.id}: {said} (run.operations has the figures of the whole run)")

    def _ours(self, what: str) -> Path:
        """The directory, of a run that has more than COSBench's tables."""
        if self.made_by:
            said = f"{self.id} is a run of {self.made_by}, which leaves no {what}"
            raise CosmarkError(f"{said}: there are the rates and percentiles of its tables, and its timelines as series()")
        return self.path

    def _log(self) -> HistogramLog:
        return HistogramLog(self._ours("histograms of exact times") / "histograms.hlog")

    @property
    def intervals(self) -> Table:
        """``intervals.csv``: what ended in each interval, for every operation, phase and driver."""
        return _read_csv(self._ours("intervals by phase and driver") / "intervals.csv", ("stage", "tag", "phase"), ("start_s", "end_s", "count", "failures"))

    @property
    def clients(self) -> Table:
        """``clients.csv``: how each driver itself was doing, second by second."""
        return _read_csv(self._ours("seconds of its drivers") / "clients.csv")

    @property
    def probes(self) -> Table:
        """``probes.csv``: every request of the probers beside the load; empty without ``consistency:``."""
        path = self._ours("requests of probers") / "probes.csv"
        return _read_csv(path, ("stage", "driver", "op")) if path.exists() else Table([])

    def series(
        self,
        stage: str,
        operation: str,
        quantiles: Sequence[float] = (0.5, 0.99),
        time: str = "response",
    ) -> Table:
        """One operation over time, all drivers together, ramps and drain included.

        One row per interval: ``start_s`` and ``end_s`` since the load of the stage began, ``phase``, ``count``,
        ``failures``, ``throughput_per_s``, ``bandwidth_bytes_per_s``, ``in_flight_mean``, and ``<time>_p<..>_ms`` of the
        merged histograms of the interval for each of ``quantiles``; None where fewer than ten times lie beyond.

        Of a run of COSBench it is the timeline of the stage, which does not tell phases and has no percentiles: it has
        ``time`` (of day, where COSBench ran), ``response_mean_ms`` and ``first_byte_mean_ms``.
        """
        return self._series(self.operation(stage, operation), quantiles, time)

    def _series(self, one: Operation, quantiles: Sequence[float] = (0.5, 0.99), time: str = "response") -> Table:
        check_time(time)
        if self.made_by:
            timeline = self._timelines().get(one.stage.id) or []
            return Table(cosbench.series(timeline, one.stage.operations.index(one)), cosbench.COLUMNS)
        bins: Dict[Tuple[float, float, str], Json] = {}
        for row in self.intervals:
            if row["stage"] == one.stage.id and row["tag"] == one.tag:
                _add_interval(bins, row)
        bins = {(row["start_s"], row["end_s"], row["phase"]): row for row in _joined(bins.values())}
        names = {q: f"{time}_p{format(q * 100, '.10g').replace('.', '_')}_ms" for q in quantiles}
        if quantiles and bins:
            self._check_whole(one, time)
        histograms = self._by_bin(one, time, bins) if quantiles and bins else {}
        rows = []
        for key in sorted(bins):
            row, span = bins[key], key[1] - key[0]
            row["throughput_per_s"] = row["count"] / span if span > 0 else None
            row["bandwidth_bytes_per_s"] = row["bytes"] / span if span > 0 else None
            histogram = histograms.get(key, Histogram())
            for q, name in names.items():
                row[name] = histogram.quantile(q) if histogram.supports(q) else None
            rows.append(row)
        sums = ("start_s", "end_s", "phase", *_SUMS, "in_flight_mean", "throughput_per_s", "bandwidth_bytes_per_s")
        return Table(rows, (*sums, *names.values()))

    def _timelines(self) -> Json:
        """Of a run of COSBench, by stage. Where one is damaged the program says which, and gives none."""
        if "timelines" not in self.record:
            self.record["timelines"] = _parsed(self.path, cosbench.record_and_timelines).get("timelines")
        timelines: Json = self.record["timelines"] or {}
        return timelines

    def _by_bin(
        self, one: Operation, time: str, bins: Iterable[Tuple[float, float, str]]
    ) -> Dict[Tuple[float, float, str], Histogram]:
        if one.stage.load_started is None:
            return {}
        log = self._log()
        offset = one.stage.load_started.timestamp() - log.base_s
        phases = {tag: phase for phase in PHASES for tag in _tags(one.tag, time, phase)}
        own = f"{one.tag}.{time}"
        found: Dict[Tuple[float, float, str], Dict[bool, Histogram]] = {}
        by_phase = {phase: _Spans(key for key in bins if key[2] == phase) for phase in PHASES}
        for entry in log.entries(phases):
            middle = entry.start_s + entry.length_s / 2 - offset
            phase = phases[entry.tag]
            # Times in the log have three decimals: the middle of a line lies in its bin, or beside one of a millisecond.
            places = (by_phase[phase].around(middle + off_s) for off_s in (0.0, -0.0005, 0.0005, -0.001, 0.001))
            fits = next((place for place in places if place is not None), None)
            if fits is not None:
                is_own = entry.tag.startswith(own)
                found.setdefault(fits, {}).setdefault(is_own, Histogram()).add(entry.histogram)
        return {key: both.get(True) or both.get(False) or Histogram() for key, both in found.items()}

    def _by_interval(self, one: Operation, time: str) -> List[Tuple[float, float, Histogram]]:
        """Start and length in s since the load of the stage began, and times, of every line of all phases."""
        check_time(time)
        if one.stage.load_started is None:
            return []
        self._check_whole(one, time)
        log = self._log()
        offset = one.stage.load_started.timestamp() - log.base_s
        for kind in (time, "response") if time == "service" else (time,):
            tags = [tag for phase in PHASES for tag in _tags(one.tag, kind, phase)[:1]]
            found = [(entry.start_s - offset, entry.length_s, entry.histogram) for entry in log.entries(tags)]
            if found:
                return found
        return []

    @property
    def events(self) -> Table:
        """What happened when: ``events`` of ``run.json`` where it has them, else the states of its stages."""
        events = self.record.get("events")
        if isinstance(events, list) and events:
            return Table(events)
        rows = [
            {"at": change.get("at"), "kind": "stage", "stage": stage.id, "text": change.get("state")}
            for stage in self.stages
            for change in stage.record.get("history") or []
        ]
        return Table(sorted(rows, key=lambda row: str(row["at"])), ("at", "kind", "stage", "text"))

    @property
    def thresholds(self) -> Table:
        """One row per threshold and operation."""
        return Table(self.record.get("thresholds") or [])

    @property
    def trials(self) -> Table:
        """Every trial of every search: load, throughput, p95, status."""
        searches = self.record.get("searches") or []
        return Table({"search": one.get("name"), **trial} for one in searches for trial in one.get("trials") or [])

    @property
    def durability(self) -> Table:
        """One row per time that what the store had acknowledged was read back; empty where nobody looked."""
        return Table(self.record.get("durability") or [])

    @property
    def faults(self) -> Table:
        """One row per slot of every fault that was made on purpose, with what it cost."""
        left_out = ("parts", "course_per_s", "course_from_s", "course_step_s", "unknown")
        return Table(
            {"stage": stage.id, "fault": fault.get("name"), "type": fault.get("type"), **own}
            for stage in self.stages
            for fault in stage.record.get("faults") or []
            for slot in fault.get("slots") or []
            for own in [{key: value for key, value in slot.items() if key not in left_out}]
        )

    @property
    def time_parts(self) -> Table:
        """What mean response times went into: a row per stage, operation and class of size (None = all), in ms; ``send_ms`` is
        None where nobody knows it, and then part of ``first_byte_ms``."""
        rows = []
        for stage in self.stages:
            for one in stage.operations:
                of_sizes = [(size.get("label"), size) for size in one.record.get("size_classes") or []]
                for label, record in [(None, one.record), *of_sizes]:
                    parts = record.get("time")
                    if parts:
                        known = {f"{part}_ms": parts.get(f"{part}_ms") for part in _PARTS}
                        rows.append({"stage": stage.id, "work": one.work, "operation": one.name, "size": label, **known})
        return Table(rows, ("stage", "work", "operation", "size", *(f"{part}_ms" for part in _PARTS)))

    @property
    def parts(self) -> Table:
        """Results of the window by driver, endpoint and class of size: a row per stage, operation and ``part``; ``by`` says of
        what kind it is. Empty where an operation has one of each.
        """
        kinds = (("driver", "drivers", "driver"), ("endpoint", "endpoints", "endpoint"), ("size", "size_classes", "label"))
        rows = [
            _part_row(one, by, part.get(name), part)
            for stage in self.stages
            for one in stage.operations
            for by, field, name in kinds
            for part in one.record.get(field) or []
        ]
        return Table(rows, list(_part_row(Operation(self, Stage(self, {}), {}), "", None, {})))

    @property
    def errors(self) -> Table:
        """Failures of the window by class (``http_503``, ``timeout``, ``connect``, ..): a row per stage, operation and class."""
        names = ("stage", "work", "operation", "error", "count")
        return Table(
            (
                dict(zip(names, (stage.id, one.work, one.name, error, count)))
                for stage in self.stages
                for one in stage.operations
                for error, count in (one.record.get("errors") or {}).items()
            ),
            names,
        )

    @property
    def consistency(self) -> Table:
        """How soon writes were seen beside the load: a row per stage and kind of look, what other drivers saw as well.

        ``missed_at_most`` is the upper end of the 95 % interval of the share of changes that were missed. Empty without
        ``consistency:``; :attr:`probes` has every request.
        """
        names = ("class", "title", "looks", "stale", "changes", "missed_changes", "missed_at_most", "longest_stale_ms")
        rows = []
        for stage in self.stages:
            found = stage.record.get("consistency") or {}
            for by, classes in (("same_driver", found), ("other_driver", found.get("between_drivers") or {})):
                for one in classes.get("classes") or []:
                    rows.append({"stage": stage.id, "seen_by": by, **{name: one.get(name) for name in names}})
        return Table(rows, ("stage", "seen_by", *names))

    @property
    def fio_jobs(self) -> Table:
        """What fio was asked for, a row per job; empty of runs that fio did not make."""
        return Table((self.record.get("fio") or {}).get("jobs") or [])

    @property
    def bottlenecks(self) -> Table:
        """What limits the store, with the sentence that says so (``text``); empty where its machines were not looked at."""
        return Table(self.record.get("bottlenecks") or [])

    @property
    def nodes(self) -> Table:
        """The store's machines in the measured windows: one row per stage, machine and part (``cpu``, ``sda``)."""
        rows = []
        for stage in self.stages:
            for node in stage.record.get("nodes") or []:
                about = {"stage": stage.id, "node": node.get("name"), "role": node.get("role")}
                for unit in node.get("units") or []:
                    kept = {key: unit.get(key) for key in ("kind", "name", "busy", "highest_busy")}
                    rows.append({**about, **kept})
                for quantity in node.get("quantities") or []:
                    rows.append({**about, **quantity})
        names = ("stage", "node", "role", "kind", "name", "busy", "highest_busy", "quantity", "unit", "mean", "highest")
        return Table(rows, names)

    def node_log(self) -> Parquet:
        """Every reading of the store's machines (``nodes.parquet``)."""
        return Parquet(self._ours("readings of machines"), "nodes", "the run looked at no machines: name them with nodes: in the workload")

    def oplog(self) -> Parquet:
        """The operation log: one row per operation, times in ns since ``oplog().epoch``.

        ``oplog().to_pandas(stage="s3-main", phase="window")`` reads only what is asked for.
        """
        return Parquet(self._ours("operation log"), "operations", "the run kept none: begin it with --oplog")

    def __repr__(self) -> str:
        by = f", of {self.made_by}" if self.made_by else ""
        return f"Run({self.id} {self.name}, {self.state}, {self.verdict.word}, {len(self.stages)} stages{by})"

    def _repr_html_(self) -> str:
        who, state, word = (html.escape(text) for text in (self.id, self.state, self.verdict.word))
        return f"<p><b>{who}</b> {state}, {word}</p>{self.main._repr_html_()}"


def check_time(time: str) -> None:
    """A CosmarkError for what is none of :data:`TIMES`: nothing would be found of it, as if nothing had been measured."""
    if time not in TIMES:
        raise CosmarkError(f"there are no times {time}; there are {', '.join(TIMES)}")


def _tags(tag: str, time: str, phase: str) -> List[str]:
    end = "" if phase == "window" else f".{phase}"
    kinds = (time, "response") if time == "service" else (time,)
    return [f"{tag}.{kind}{end}" for kind in kinds]


def _row(one: Operation) -> Json:
    record = one.record
    rate = one.bounds("throughput_per_s")
    row: Json = {"stage": one.stage.name, "stage_id": one.stage.id, "work": one.work, "operation": one.name}
    for key in ("op", "arrival", "workers", "window_s", "count", "failures", "success_ratio", "bytes"):
        row[key] = record.get(key)
    row["throughput_per_s"] = record.get("throughput_per_s")
    row["throughput_low_per_s"], row["throughput_high_per_s"] = rate or (None, None)
    row["bandwidth_bytes_per_s"] = record.get("bandwidth_bytes_per_s")
    bandwidth = one.bounds("bandwidth_bytes_per_s")
    row["bandwidth_low_bytes_per_s"], row["bandwidth_high_bytes_per_s"] = bandwidth or (None, None)
    row["in_flight_mean"] = record.get("in_flight_mean")
    for time in (*TIMES, "wire"):
        times = record.get(f"{time}_ms") or {}
        for figure in ("mean", "min", *_PERCENTILES, "max"):
            row[f"{time}_{figure}_ms"] = times.get(figure)
            # Maxima and the times on the wire have no interval.
            if time in TIMES and figure not in ("min", "max"):
                low, high = one.bounds(f"{time}_ms.{figure}") or (None, None)
                row[f"{time}_{figure}_low_ms"], row[f"{time}_{figure}_high_ms"] = low, high
    for key in ("intended", "missed", "delayed", "unfinished", "requests", "retries", "connections"):
        row[key] = record.get(key)
    return row


def _part_row(one: Operation, by: str, part: Optional[str], record: Json) -> Json:
    row: Json = {"stage": one.stage.id, "work": one.work, "operation": one.name, "by": by, "part": part}
    for key in ("workers", "connections", "count", "failures", "bytes"):
        row[key] = record.get(key)
    count, window_s = _number(record.get("count")), _number(one.record.get("window_s"))
    row["throughput_per_s"] = count / window_s if count is not None and window_s else None
    for time in TIMES:
        times = record.get(f"{time}_ms") or {}
        row.update({f"{time}_{figure}_ms": times.get(figure) for figure in ("mean", *_PERCENTILES, "max")})
    return row


class _Spans:
    """Intervals among which that of a moment is found in few steps: a run of days has tens of thousands of them."""

    def __init__(self, spans: Iterable[Tuple[float, float, str]]) -> None:
        self._spans = sorted(spans)
        self._starts = [start for start, _, _ in self._spans]
        #: the latest end of all up to each
        self._ends = list(itertools.accumulate((end for _, end, _ in self._spans), max))

    def around(self, moment: float) -> Optional[Tuple[float, float, str]]:
        """The one that holds a moment; of several, as of drivers that end apart, that whose middle is nearest to it."""
        at = bisect.bisect_right(self._starts, moment)
        found: List[Tuple[float, float, str]] = []
        while at and self._ends[at - 1] > moment:
            at -= 1
            if self._spans[at][1] > moment:
                found.append(self._spans[at])
        return min(found, key=lambda span: abs((span[0] + span[1]) / 2 - moment), default=None)


#: Columns of ``intervals.csv`` that are sums.
_SUMS = ("count", "failures", "missed", "delayed", "bytes", "partial_bytes", "requests", "retries", "connections")


def _add_interval(bins: Dict[Tuple[float, float, str], Json], row: Mapping[str, Any]) -> None:
    key = (float(row["start_s"]), float(row["end_s"]), str(row["phase"]))
    empty = {"start_s": key[0], "end_s": key[1], "phase": key[2], **{name: 0 for name in _SUMS}}
    total = bins.setdefault(key, {**empty, "in_flight_mean": None})
    for name in _SUMS:
        total[name] += int(row.get(name) or 0)
    if row.get("in_flight_mean") is not None:
        total["in_flight_mean"] = (total["in_flight_mean"] or 0.0) + float(row["in_flight_mean"])


def _joined(rows: Iterable[Json]) -> List[Json]:
    """Rows of drivers that ended apart, or whose intervals begin some milliseconds apart, are one, as in the histogram log: those
    of one phase that overlap by more than half of the shorter one."""
    groups: List[List[Json]] = []
    latest: Dict[str, List[Json]] = {}
    for row in sorted(rows, key=lambda row: (row["start_s"], row["end_s"])):
        group = latest.get(row["phase"])
        if group is not None:
            end = max(one["end_s"] for one in group)
            shorter = min(row["end_s"] - row["start_s"], end - group[0]["start_s"])
            if min(end, row["end_s"]) - row["start_s"] > shorter / 2.0:
                group.append(row)
                continue
        latest[row["phase"]] = [row]
        groups.append(latest[row["phase"]])
    return [group[0] if len(group) == 1 else _sum_of(group) for group in groups]


def _sum_of(group: Sequence[Json]) -> Json:
    whole: Json = {"start_s": group[0]["start_s"], "end_s": max(one["end_s"] for one in group), "phase": group[0]["phase"]}
    whole.update({name: sum(one[name] for one in group) for name in _SUMS})
    span = whole["end_s"] - whole["start_s"]
    # A mean over a part of the time.
    known = [
        one["in_flight_mean"] * ((one["end_s"] - one["start_s"]) / span) for one in group if one["in_flight_mean"] is not None
    ]
    return {**whole, "in_flight_mean": sum(known) if known else None}


def _number(value: Any) -> Optional[float]:
    """What is no number, or one that no measurement gives (NaN, more than 1e308), is not known."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def _moment(text: Optional[str]) -> Optional[datetime]:
    """RFC 3339; more than six decimals are cut."""
    if not text:
        return None
    short = re.sub(r"\.(\d{1,6})\d*", lambda found: "." + found.group(1).ljust(6, "0"), text)
    try:
        return datetime.fromisoformat(short.replace("Z", "+00:00"))
    except ValueError:
        raise CosmarkError(f"{text} is no moment as RFC 3339 writes it; is run.json damaged?") from None


#: What has a form in ``run.json``: ``{}`` an object, ``[..]`` a list of such, ``"*"`` every key, ``str`` a text, ``int`` a
#: whole number. What is not named may be anything, and what is missing or null is not known.
_TIME_KEYS = tuple(f"{time}_ms" for time in (*TIMES, "wire"))
_TIMES_OF_PARTS: Json = {f"{time}_ms": {} for time in TIMES}
_FORM: Json = {
    **{key: str for key in ("id", "name", "state", "reason", "submitted", "started", "ended", "made_by")},
    "stages": [
        {
            **{key: str for key in ("id", "name", "state", "reason", "started", "ended", "load_started")},
            "operations": [
                {
                    **{key: str for key in ("id", "name", "op", "work", "tag")},
                    **{key: int for key in ("count", "failures", "workers")},
                    **{key: {} for key in _TIME_KEYS},
                    "bounds": {"*": {"client": {}}},
                    "size_classes": [{"time": {}, **_TIMES_OF_PARTS}],
                    "drivers": [_TIMES_OF_PARTS],
                    "endpoints": [_TIMES_OF_PARTS],
                    "errors": {},
                    "time": {},
                }
            ],
            "consistency": {"classes": [{}], "between_drivers": {"classes": [{}]}},
            "history": [{}],
            "pauses": [{}],
            "missing": [{}],
            "faults": [{"slots": [{}]}],
            "nodes": [{"units": [{}], "quantities": [{}]}],
        }
    ],
    "verdict": {"overall": str, "reason": str, "checks": [{}]},
    "searches": [{"trials": [{}]}],
    "thresholds": [{}],
    "durability": [{}],
    "events": [{}],
    "process": {},
    "fio": {"jobs": [{}]},
    "timelines": {"*": [{"time": str, "operations": [{"count": int}]}]},
    "bottlenecks": [{}],
}


def _misfit(value: Any, form: Any, where: str) -> Optional[str]:
    """The first thing that has another form than it should, and which one; None when all is well."""
    if isinstance(form, list):
        if not isinstance(value, list):
            return f"{where} is no list"
        found = (
            _misfit(one, form[0], f"{where}[{at}]") if one is not None else f"{where}[{at}] is null"
            for at, one in enumerate(value)
        )
        return next((said for said in found if said), None)
    if isinstance(form, dict):
        if not isinstance(value, dict):
            return f"{where or 'it'} is no object"
        for key, own in form.items():
            for name in value if key == "*" else (key,):
                inner = value.get(name)
                said = None if inner is None else _misfit(inner, own, f"{where}.{name}" if where else name)
                if said:
                    return said
        return None
    if form is int:
        return None if isinstance(value, int) and not isinstance(value, bool) else f"{where} is no whole number"
    return None if isinstance(value, str) else f"{where} is no text"


def _object(pairs: List[Tuple[str, Any]]) -> Json:
    return {plain(key): _clean(value) for key, value in pairs}


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, list):
        return [_clean(one) for one in value]
    return value


def _read_record(path: Path) -> Json:
    record = _parsed(path, cosbench.record_text if cosbench.is_at(path) else _text_of_record)
    if record.get("state") != "running" or not _is_gone(record.get("process")):
        return record
    try:
        return _parsed(path, lambda killed: cosbench.exported(killed, "cannot be put together"))
    except CosmarkError as cause:
        said = "the program puts together what the stage in which it ended had measured, and could not; it is left out"
        warnings.warn(f"{path} was killed: {said} ({cause})", stacklevel=4)
        return record


def _text_of_record(path: Path) -> str:
    file = path / "run.json"
    # Of a link it is its own size: none is followed.
    if file.lstat().st_size > _MOST_RECORD_BYTES:
        raise CosmarkError(f"{file} is larger than any record; restore it from a copy")
    return read_text(file)


def _parsed(path: Path, read: Callable[[Path], str]) -> Json:
    file = path / "run.json"
    try:
        record = json.loads(read(path), object_pairs_hook=_object)
    except FileNotFoundError:
        lacking = f"{path} has no run.json, nor a table of results of COSBench"
        raise CosmarkError(f"{lacking}{_hint_of_archive(path)}") from None
    except OSError as cause:
        raise CosmarkError(f"cannot read {file}: {cause.strerror}") from None
    except RecursionError:
        raise CosmarkError(f"{file} is nested deeper than any record; restore it from a copy") from None
    except ValueError as cause:
        raise CosmarkError(f"{file} is no JSON: {cause}; restore it from a copy") from None
    found = record.get("schema") if isinstance(record, dict) else None
    # 1.0 and True are 1 for Python, and no schema for the program.
    if not isinstance(record, dict) or type(found) is not int or found != SCHEMA:
        if type(found) is int and found > SCHEMA:
            raise CosmarkError(
                f"{file} was written in schema {found}, this package reads {SCHEMA}; upgrade the package"
            )
        raise CosmarkError(f"{file} is no record of a run: it says no schema {SCHEMA}; restore it from a copy")
    said = _misfit(record, _FORM, "")
    if said:
        raise CosmarkError(f"{file} is damaged: {said}; restore it from a copy")
    return record


def _hint_of_archive(path: Path) -> str:
    """What to open where a whole archive was meant."""
    try:
        names = (name for name in os.listdir(path) if number_of(name) is not None and is_run_directory(path / name))
        first = min(names, default=None)
    except OSError:
        return ""
    return "" if first is None else f"; it is an archive: open one of its runs ({path / first}), or all with cosmark.runs"


def _read_csv(path: Path, texts: Sequence[str] = (), numbers: Sequence[str] = ()) -> Table:
    """Numbers as numbers, what is empty as None. A last line that was cut short is left out. ``texts`` and ``numbers`` are
    columns that must be there; sums and ``numbers`` hold nothing but numbers."""
    try:
        text = read_text(path)
    except FileNotFoundError:
        raise CosmarkError(f"{path} is not there: the run is older, or it never began") from None
    except OSError as cause:
        raise CosmarkError(f"cannot read {path}: {cause.strerror}") from None
    except UnicodeDecodeError as cause:
        raise CosmarkError(f"{path} is no text (byte {cause.start}); restore it from a copy") from None
    whole = text[: text.rfind("\n") + 1]
    # The lines of the file, and not what else ends lines for Python: a name may hold it.
    lines = csv.DictReader(io.StringIO(whole, newline=""))
    rows: List[Json] = []
    try:
        lacking = ", ".join(name for name in (*texts, *numbers) if name not in (lines.fieldnames or ()))
        if lacking and whole:
            raise CosmarkError(f"{path} is damaged: line 1: no column {lacking}; restore it from a copy")
        for row in lines:
            rows.append({key: _value(key, value) for key, value in row.items() if key})
            wrong = _no_number(rows[-1], numbers)
            if wrong:
                said = f"line {lines.line_num}: {wrong} is no number"
                raise CosmarkError(f"{path} is damaged: {said}; restore it from a copy, or delete the line")
    except csv.Error as cause:
        raise CosmarkError(f"{path} is damaged: line {lines.line_num}: {cause}; restore it from a copy") from None
    return Table(rows, lines.fieldnames)


def _no_number(row: Json, numbers: Sequence[str]) -> Optional[str]:
    """The first column that has to hold a number and does not."""
    if not numbers:
        return None
    sums = [name for name in (*_SUMS, "in_flight_mean") if row.get(name) is not None]
    return next((name for name in (*numbers, *sums) if _number(row.get(name)) is None), None)


#: Columns that are text whatever stands in them.
_TEXTS = ("stage", "tag", "driver", "phase", "errors", "thread")


def _value(key: Optional[str], value: Any) -> Any:
    if value in ("", None):
        return None
    if key in _TEXTS:
        return plain(as_it_was(value))
    try:
        return int(value)
    except ValueError:
        pass
    try:
        return float(value)
    except ValueError:
        return plain(as_it_was(value)) if isinstance(value, str) else value


def _is_gone(process: Optional[Json]) -> bool:
    """The process that wrote a run is certainly gone: same machine, and no such process (or machine booted since). One that has
    ended and that nobody has waited for yet, as a notebook of its children, is gone, too."""
    if not process:
        return True
    started, boot = process.get("started_ticks"), process.get("boot_id")
    if started is None or boot is None or process.get("hostname") != socket.gethostname():
        return False
    try:
        now = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return False
    if now != boot:
        return True
    try:
        fields = Path(f"/proc/{int(process['pid'])}/stat").read_text().rpartition(")")[2].split()
        return fields[0] in ("Z", "X") or int(fields[19]) != started
    except (OSError, KeyError, IndexError, ValueError, TypeError, OverflowError):
        return True


def find(run: Union[str, int, "os.PathLike[str]"], archive: Union[str, "os.PathLike[str]", None] = None) -> Path:
    """The directory of the run that ``run`` names.

    A directory (``archive/w3-mixed``), the same without the name (``archive/w3``), a number (3 or ``w3``) or ``last``:
    the newest that made load (``last-1``: the one before, and so on). The last two are looked for in ``archive`` (default:
    ``archive`` in the working directory), the first two where they say, as by the program.
    """
    given = Path(run) if not isinstance(run, int) else Path(f"w{run}")
    if given.name == "run.json" and given.is_file():
        return given.parent
    # What names its own archive is not looked for in another one, which may have a run of the same number.
    says_where = len(given.parts) > 1 or str(run).startswith("./")
    is_place = archive is None or says_where
    if is_place and given.is_file():
        raise CosmarkError(f"{given} is a file, and a run is a directory: unpack what is packed, and open a run in it")
    if is_place and given.is_dir():
        return given
    root = given.parent if says_where else Path(archive or "archive")
    name = given.name
    try:
        names = (d for d in os.listdir(root) if is_run_directory(root / d))
        have = sorted((n, d) for d in names if (n := number_of(d)) is not None)
    except OSError as cause:
        raise CosmarkError(f"no run {run}: cannot read {root}: {cause.strerror}") from None
    back = re.fullmatch(r"last(?:-(\d{1,9}))?", name)
    if back and have:
        # A run that never came to make load, because a login failed for instance, is not what is meant.
        before = int(back.group(1) or 0)
        tries = (directory for _, directory in reversed(have[-1000 - before :]) if not _never_began(root / directory))
        meant = next(itertools.islice(tries, before, None), None if before else have[-1][1])
        if meant is None:
            raise CosmarkError(f"no run {run} in {root}: fewer runs than that made load")
        return root / meant
    digits = re.fullmatch(r"w?(\d+)", name)
    named = [directory for _, directory in have if as_text(directory) == as_text(name)]
    meant_by = named[:1] or [directory for number, directory in have if digits and number == int(digits.group(1))]
    if len(meant_by) > 1:
        # A folder without a run takes nothing from one that has.
        meant_by = [directory for directory in meant_by if _has_run(root / directory)] or meant_by
    if len(meant_by) > 1:
        several = f"{len(meant_by)} runs in {root} have the number of {name}: {', '.join(map(as_text, meant_by))}"
        raise CosmarkError(f"{several}; give the name of one of these directories")
    if meant_by:
        return root / meant_by[0]
    shown = ", ".join(directory for _, directory in have[-5:]) or "no runs at all"
    raise CosmarkError(f"no run {run} in {root}; the newest there: {shown}")


#: A run, or what :func:`cosmark.open` takes for one: a directory, a number, ``last``.
RunLike = Union[Run, str, int, "os.PathLike[str]"]


def as_run(run: RunLike) -> Run:
    """The run itself; what only names one is opened."""
    return run if isinstance(run, Run) else Run(find(run))


def as_runs(runs: Union[RunLike, Sequence[RunLike]]) -> List[Run]:
    """One or several; a text is one and not its letters."""
    if isinstance(runs, (Run, str, int, os.PathLike)):
        return [as_run(runs)]
    return [as_run(one) for one in runs]


def _has_run(path: Path) -> bool:
    """Of ours or of COSBench."""
    return (path / "run.json").is_file() or cosbench.is_at(path)


def _never_began(path: Path) -> bool:
    """It is over, and none of its stages made load; or it was cut off before it had a record. One that cannot be read made
    load, as far as anybody knows."""
    try:
        record = json.loads(cosbench.record_text(path) if cosbench.is_at(path) else read_text(path / "run.json"))
        over = record["state"] in ("failed", "terminated", "cancelled")
        return over and not any(one.get("load_started") or one.get("operations") for one in record["stages"])
    except FileNotFoundError:
        return True
    except (CosmarkError, OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False
