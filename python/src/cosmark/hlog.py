"""``histograms.hlog``: the HdrHistogram log format 1.3 with the compressed V2 encoding, read and added up.

Source: HistogramLogReader, EncodableHistogram and ZigZagEncoding of HdrHistogram/HdrHistogram. A histogram holds counts
of times in buckets that are at most 0.1 % wide (three significant digits); adding histograms up adds their counts, so
that any quantile of the sum is that of all operations together. Nothing here averages percentiles.
"""

from __future__ import annotations

import base64
import binascii
import math
import struct
import zlib
from bisect import bisect_left
from itertools import accumulate
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple

from .errors import CosmarkError
from .files import open_file

try:
    import numpy
except ImportError:
    numpy = None  # type: ignore[assignment]

_COMPRESSED_COOKIE = 0x1C849304
_PLAIN_COOKIE = 0x1C849303
_HEAD = struct.Struct(">iiiiqqd")
# A longer line, or more bytes in it, is damage: 30 000 buckets need less.
_MOST_LINE_BYTES = 4 << 20
_MOST_PLAIN_BYTES = 1 << 20
# HdrHistogram's times have 63 bits; more operations than this nobody makes in an interval.
_TIME_BITS = 63
_MOST_COUNTS = 1 << 48

#: Parts of a stage that are told apart by the end of a tag.
PHASES = ("window", "rampup", "rampdown", "drain")


def _share(q: float) -> None:
    """Also where there are no times: who means p99 and writes 99 is not to learn that there were too few."""
    if not 0.0 <= q <= 1.0:
        raise CosmarkError(f"a quantile lies between 0 and 1, {q} does not; p99 is 0.99")


class Histogram:
    """Counts of times in ns, in the buckets of HdrHistogram. Add two with ``+``.

    ``quantile_ns(q)`` is the highest time of the bucket in which the q-quantile lies, at most 0.1 % too high: the figure
    that Cosmark publishes.
    """

    __slots__ = ("_counts", "_sub_bits", "_unit", "_sums")

    def __init__(self, sub_bits: int = 10, unit: int = 0) -> None:
        # Index of the bucket to its count; most of the 30 000 buckets are empty.
        self._counts: Dict[int, int] = {}
        self._sub_bits = sub_bits
        self._unit = unit
        self._sums: Optional[Tuple[List[int], List[int]]] = None

    def _value(self, index: int) -> Tuple[int, int]:
        """Lowest value of a bucket, and how many values it holds."""
        half = 1 << self._sub_bits
        bucket, sub = (index >> self._sub_bits) - 1, (index & (half - 1)) + half
        if bucket < 0:
            bucket, sub = 0, sub - half
        shift = bucket + self._unit
        return sub << shift, 1 << shift

    def add(self, other: "Histogram") -> None:
        """Adds all times of another histogram of the same resolution; one without times has none."""
        if not other._counts:
            return
        if (self._sub_bits, self._unit) != (other._sub_bits, other._unit):
            if self._counts:
                raise CosmarkError("histograms of different resolutions cannot be added up")
            self._sub_bits, self._unit = other._sub_bits, other._unit
        counts = self._counts
        for index, count in other._counts.items():
            counts[index] = counts.get(index, 0) + count
        self._sums = None

    def __add__(self, other: "Histogram") -> "Histogram":
        both = Histogram(self._sub_bits, self._unit)
        both.add(self)
        both.add(other)
        return both

    def __radd__(self, other: object) -> "Histogram":
        # What sum() begins with.
        return self + Histogram() if other == 0 else NotImplemented

    def __len__(self) -> int:
        return sum(self._counts.values())

    def __bool__(self) -> bool:
        return bool(self._counts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Histogram) and dict(self.steps_ns()) == dict(other.steps_ns())

    __hash__ = None  # type: ignore[assignment]

    def steps_ns(self) -> Iterator[Tuple[int, int]]:
        """Upper edge in ns and count of each bucket that is not empty, ascending."""
        for index in sorted(self._counts):
            low, size = self._value(index)
            yield low + size - 1, self._counts[index]

    def _cumulative(self) -> Tuple[List[int], List[int]]:
        if self._sums is None:
            indices = sorted(self._counts)
            self._sums = indices, list(accumulate(self._counts[index] for index in indices))
        return self._sums

    def quantile_ns(self, q: float) -> Optional[int]:
        """The time in ns that the share ``q`` (0 to 1) of all times does not exceed; None when there are none."""
        _share(q)
        indices, sums = self._cumulative()
        if not indices:
            return None
        rank = max(1, math.ceil(q * sums[-1]))
        low, size = self._value(indices[min(bisect_left(sums, rank), len(indices) - 1)])
        return low if q == 0.0 else low + size - 1

    def quantile(self, q: float) -> Optional[float]:
        """The same in ms."""
        ns = self.quantile_ns(q)
        return None if ns is None else ns / 1e6

    def supports(self, q: float) -> bool:
        """True where ten or more times lie beyond the quantile: what Cosmark asks of a percentile that it publishes."""
        _share(q)
        return len(self) * (1.0 - q) >= 10.0 - 1e-9

    def share_within(self, ms: float) -> Optional[float]:
        """Share of times up to ``ms`` milliseconds, 0 to 1; None when there are none."""
        total = len(self)
        if not total:
            return None
        # In ms, as quantile() gives them: back in ns not every edge is itself.
        return sum(count for edge, count in self.steps_ns() if edge / 1e6 <= ms) / total

    @property
    def mean_ms(self) -> Optional[float]:
        """Mean in ms, of the middles of buckets (0.05 %); the exact one is in ``run.json``."""
        total = len(self)
        if not total:
            return None
        middles = ((self._value(index), count) for index, count in self._counts.items())
        return sum((low + (size - 1) / 2.0) * count for (low, size), count in middles) / total / 1e6

    @property
    def max_ms(self) -> Optional[float]:
        """Greatest in ms."""
        return self.quantile(1.0)

    def cdf(self) -> Tuple[List[float], List[float]]:
        """Times in ms, ascending, and the share of all times up to each."""
        times, shares, total, so_far = [], [], len(self), 0
        for edge, count in self.steps_ns():
            so_far += count
            times.append(edge / 1e6)
            shares.append(so_far / total)
        return times, shares

    def __repr__(self) -> str:
        return f"Histogram({len(self)} times, p50 {self.quantile(0.5)} ms, max {self.max_ms} ms)"


class Entry(NamedTuple):
    """A line of the log."""

    #: ``<tag of the operation>.<kind of time>``, with ``.rampup`` and so on outside the measured window
    tag: str
    #: seconds since the log's base time
    start_s: float
    #: seconds
    length_s: float
    histogram: Histogram


def _counts_of(payload: bytes) -> Dict[int, int]:
    """Counts by index, out of ZigZag LEB128 numbers (9 bytes at most): a negative one is a run of empty buckets."""
    counts: Dict[int, int] = {}
    at, index, end = 0, 0, len(payload)
    while at < end:
        value = shift = 0
        while True:
            if at >= end:
                raise ValueError("a number is cut short")
            byte = payload[at]
            at += 1
            if shift == 56:
                value |= byte << shift
                break
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
        number = (value >> 1) ^ -(value & 1)
        if number < 0:
            index -= number
        else:
            if number:
                counts[index] = number
            index += 1
        if index > 1 << 24:
            raise ValueError("more buckets than a histogram has")
    return counts


def _arrays(payload: bytes) -> Optional[Tuple[Any, Any]]:
    """Indices of filled buckets, ascending, and their counts, for numbers of one to three bytes, which nearly all are; None
    for others."""
    raw = numpy.frombuffer(payload, dtype=numpy.uint8)
    goes_on = raw >= 0x80
    if not raw.size or goes_on[-1]:
        return None
    ends = numpy.flatnonzero(~goes_on)
    lengths = ends + 1
    lengths[1:] -= lengths[:-1].copy()
    if lengths.max() > 3:
        return None
    values = raw[ends].astype(numpy.int64) << (7 * (lengths - 1))
    for back in (1, 2):
        has = lengths > back
        values[has] |= (raw[ends[has] - back].astype(numpy.int64) & 0x7F) << (7 * (lengths[has] - 1 - back))
    numbers = (values >> 1) ^ -(values & 1)
    steps = numpy.where(numbers < 0, -numbers, 1)
    if int(steps.sum()) > 1 << 24:
        raise ValueError("more buckets than a histogram has")
    indices = numpy.cumsum(steps) - steps
    filled = numbers > 0
    return indices[filled], numbers[filled]


def _counts_by_numpy(payload: bytes) -> Optional[Dict[int, int]]:
    """As :func:`_counts_of`; None where :func:`_arrays` is."""
    arrays = _arrays(payload)
    return None if arrays is None else dict(zip(arrays[0].tolist(), arrays[1].tolist()))


def _unpacked(encoded: bytes) -> Tuple[int, int, bytes]:
    """Resolution (as of :class:`Histogram`) and payload of a compressed V2 encoding.

    Raises ValueError with what is wrong. Lengths are believed only as far as there are bytes.
    """
    if len(encoded) < 8:
        raise ValueError("too short")
    cookie, _ = struct.unpack_from(">ii", encoded)
    if cookie & ~0xF0 != _COMPRESSED_COOKIE:
        raise ValueError("another encoding than compressed V2")
    try:
        inflater = zlib.decompressobj()
        plain = inflater.decompress(encoded[8:], _MOST_PLAIN_BYTES + 1)
    except zlib.error as cause:
        raise ValueError(f"cannot be inflated ({cause})") from None
    if not _HEAD.size <= len(plain) <= _MOST_PLAIN_BYTES:
        raise ValueError("its length is not what it says")
    cookie, length, offset, digits, lowest, _highest, _ratio = _HEAD.unpack_from(plain)
    if cookie & ~0xF0 != _PLAIN_COOKIE or offset != 0 or not 0 <= digits <= 5 or lowest < 1:
        raise ValueError("another encoding than V2")
    if length != len(plain) - _HEAD.size:
        raise ValueError("its length is not what it says")
    # The least power of two that tells 2 x 10^digits values apart.
    sub_bits = max(0, (2 * 10**digits - 1).bit_length() - 1)
    return sub_bits, lowest.bit_length() - 1, plain[_HEAD.size :]


def _believe(sub_bits: int, unit: int, last: int, times: int) -> None:
    """Raises ValueError where a histogram of this highest bucket and so many times cannot be."""
    # Shifted, a wild one would fill the memory.
    if (last >> sub_bits) + unit > _TIME_BITS - sub_bits:
        raise ValueError("a time that no histogram has")
    if times > _MOST_COUNTS:
        raise ValueError("more times than an interval has")


def decode(encoded: bytes) -> Histogram:
    """The histogram of a compressed V2 encoding; raises ValueError with what is wrong."""
    sub_bits, unit, payload = _unpacked(encoded)
    histogram = Histogram(sub_bits, unit)
    counts = _counts_by_numpy(payload) if numpy is not None else None
    histogram._counts = _counts_of(payload) if counts is None else counts
    _believe(sub_bits, unit, max(histogram._counts, default=0), sum(histogram._counts.values()))
    return histogram


class _Sum:
    """Adds encoded histograms up: of a long log the counts lie in an array, where there is NumPy."""

    def __init__(self) -> None:
        self._others = Histogram()
        self._resolution: Optional[Tuple[int, int]] = None
        self._counts: Any = None

    def add(self, encoded: bytes) -> None:
        """Raises ValueError with what is wrong with the encoding."""
        sub_bits, unit, payload = _unpacked(encoded)
        arrays = _arrays(payload) if numpy is not None else None
        if arrays is None:
            self._others.add(decode(encoded))
            return
        indices, counts = arrays
        last = int(indices[-1]) if indices.size else 0
        _believe(sub_bits, unit, last, int(counts.sum()))
        if self._resolution != (sub_bits, unit):
            if self._resolution is not None:
                self._others.add(self._array())
            self._resolution, self._counts = (sub_bits, unit), numpy.zeros(last + 1, dtype=numpy.int64)
        if last >= len(self._counts):
            self._counts = numpy.concatenate([self._counts, numpy.zeros(last + 1, dtype=numpy.int64)])
        # No bucket is there twice.
        self._counts[indices] += counts

    def _array(self) -> Histogram:
        histogram = Histogram() if self._resolution is None else Histogram(*self._resolution)
        if self._counts is not None:
            filled = numpy.flatnonzero(self._counts)
            histogram._counts = dict(zip(filled.tolist(), self._counts[filled].tolist()))
        return histogram

    def histogram(self) -> Histogram:
        """What was added; a CosmarkError where the resolutions of it differ."""
        return self._array() + self._others if self._others else self._array()


class HistogramLog:
    """The log of one run, read line by line; only what is asked for is decoded.

    A last line that was cut short by a kill is left out, as everywhere in Cosmark.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        #: seconds since 1970 that all starts count from
        self.base_s = 0.0
        self._read_base()

    def _read_base(self) -> None:
        for line in self._lines():
            if line[1].startswith(b"#[BaseTime:"):
                try:
                    self.base_s = float(line[1].split(b":", 1)[1].split()[0])
                except (ValueError, IndexError):
                    raise self._damaged(line[0], "no base time") from None
            if not line[1].startswith((b"#", b'"')):
                return

    def _damaged(self, number: int, problem: str) -> CosmarkError:
        return CosmarkError(
            f"{self.path} line {number}: {problem}; restore the file from a copy, or delete the line"
        )

    def _lines(self) -> Iterator[Tuple[int, bytes]]:
        try:
            with open_file(self.path) as file:
                number = 0
                while True:
                    line = file.readline(_MOST_LINE_BYTES)
                    number += 1
                    if not line.endswith(b"\n"):
                        if len(line) >= _MOST_LINE_BYTES:
                            raise self._damaged(number, f"more than {_MOST_LINE_BYTES} bytes")
                        return
                    yield number, line[:-1]
        except OSError as cause:
            raise CosmarkError(f"cannot read {self.path}: {cause.strerror}") from None

    def _found(self, tags: Optional[Iterable[str]]) -> Iterator[Tuple[int, bytes, float, float, bytes]]:
        """Line, tag, start, length and encoded histogram of every line, or of those whose tag is one of ``tags``."""
        wanted = None if tags is None else {tag.encode() for tag in tags}
        for number, line in self._lines():
            if not line.startswith(b"Tag="):
                continue
            tag, _, rest = line[4:].partition(b",")
            if wanted is not None and tag not in wanted:
                continue
            fields = rest.split(b",")
            try:
                start, length = float(fields[0]), float(fields[1])
                if not (math.isfinite(start) and math.isfinite(length)):
                    raise ValueError("no time")
                encoded = base64.b64decode(fields[3], validate=True)
            except (IndexError, ValueError, binascii.Error) as cause:
                raise self._no_line(number, cause) from None
            yield number, tag, start, length, encoded

    def _no_line(self, number: int, cause: Exception) -> CosmarkError:
        return self._damaged(number, f"not a line of a histogram log ({cause})")

    def entries(self, tags: Optional[Iterable[str]] = None) -> Iterator[Entry]:
        """Every line, or those whose tag is one of ``tags``."""
        for number, tag, start, length, encoded in self._found(tags):
            try:
                histogram = decode(encoded)
            except ValueError as cause:
                raise self._no_line(number, cause) from None
            yield Entry(tag.decode("utf-8", "replace"), start, length, histogram)

    def tags(self) -> List[str]:
        """All tags, each once, sorted. Nothing is decoded."""
        lines = (line for _, line in self._lines() if line.startswith(b"Tag="))
        return sorted({line[4:].partition(b",")[0].decode("utf-8", "replace") for line in lines})

    def merged(self, tags: Iterable[str]) -> Dict[str, Histogram]:
        """The sum of all lines of each tag that occurs."""
        sums: Dict[str, _Sum] = {}
        for number, tag, _, _, encoded in self._found(tags):
            try:
                sums.setdefault(tag.decode("utf-8", "replace"), _Sum()).add(encoded)
            except ValueError as cause:
                raise self._no_line(number, cause) from None
        return {tag: one.histogram() for tag, one in sums.items()}
