"""Student's t, with nothing but the standard library: intervals over repetitions."""

from __future__ import annotations

import math
import sys
from typing import Optional, Sequence, Tuple

from .errors import CosmarkError


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularized incomplete beta function, by its continued fraction (NIST DLMF 8.17.22, Lentz's method)."""
    if x <= 0.0 or x >= 1.0:
        return min(max(x, 0.0), 1.0)
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - _incomplete_beta(b, a, 1.0 - x)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    tiny, c, d = 1e-300, 1.0, 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > tiny else tiny)
    result = d
    for m in range(1, 300):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1.0 + term * d
            d = 1.0 / (d if abs(d) > tiny else tiny)
            c = 1.0 + term / c
            c = c if abs(c) > tiny else tiny
            result *= d * c
        if abs(d * c - 1.0) < 1e-14:
            break
    return math.exp(log_front) * result / a


def check_confidence(confidence: float) -> None:
    """A CosmarkError where it is none: an interval of 95 would hold everything."""
    if not 0.0 < confidence < 1.0:
        raise CosmarkError(f"a confidence lies between 0 and 1, {confidence} does not; 95 % is 0.95")


def t_quantile(confidence: float, freedom: float) -> float:
    """The t beyond which, on both sides together, ``1 - confidence`` of Student's distribution lies."""
    check_confidence(confidence)
    low, high = 0.0, 1e7
    for _ in range(200):
        middle = (low + high) / 2.0
        beyond = _incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + middle * middle))
        low, high = (middle, high) if beyond > 1.0 - confidence else (low, middle)
    return (low + high) / 2.0


def mean_and_interval(values: Sequence[float], confidence: float = 0.95) -> Tuple[float, Optional[Tuple[float, float]]]:
    """Mean of an amount, and where the amount lies with this confidence; None for fewer than two values.

    Rates and times are never below 0: where all values are above it the interval is that of their logarithms, as in every
    table and picture of Cosmark, and reaches to the mean where that lies beyond it; where one is 0 it is Student's, cut at 0.
    """
    mean = math.fsum(values) / len(values)
    if len(values) < 2:
        return mean, None
    if min(values) == max(values):
        # Their logarithms are rounded.
        return values[0], (values[0], values[0])
    is_above = min(values) > 0.0
    scaled = [math.log(value) for value in values] if is_above else list(values)
    middle = math.fsum(scaled) / len(scaled)
    variance = math.fsum((value - middle) ** 2 for value in scaled) / (len(scaled) - 1)
    half = t_quantile(confidence, len(scaled) - 1) * math.sqrt(variance / len(scaled))
    low, high = middle - half, middle + half
    if is_above:
        # Values that differ by more than all numbers have ends that are numbers.
        least, most = sys.float_info.min, sys.float_info.max
        ends = max(math.exp(low), least), math.exp(high) if high < math.log(most) else most
        return mean, (min(ends[0], mean), max(ends[1], mean))
    return mean, (max(low, 0.0) if min(values) == 0.0 else low, high)


def reach(mean: float, interval: Optional[Tuple[float, float]]) -> Tuple[float, float]:
    """How far an interval goes below and above a mean; 0 without one."""
    if interval is None:
        return 0.0, 0.0
    return max(mean - interval[0], 0.0), max(interval[1] - mean, 0.0)


def difference(
    before: Sequence[float], after: Sequence[float], confidence: float = 0.95
) -> Optional[Tuple[float, float]]:
    """Welch's interval of mean(after) - mean(before); None unless both sides have two values or more."""
    if len(before) < 2 or len(after) < 2:
        return None
    parts = []
    for values in (before, after):
        mean = math.fsum(values) / len(values)
        spread = math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values)
        parts.append((mean, spread, len(values)))
    (mean_a, spread_a, n_a), (mean_b, spread_b, n_b) = parts
    spread = spread_a + spread_b
    if spread == 0.0:
        return mean_b - mean_a, mean_b - mean_a
    freedom = spread**2 / (spread_a**2 / (n_a - 1) + spread_b**2 / (n_b - 1))
    half = t_quantile(confidence, freedom) * math.sqrt(spread)
    return mean_b - mean_a - half, mean_b - mean_a + half
