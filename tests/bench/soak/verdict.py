"""Verdict of a soak test. Pure.

The first minutes are the warm-up. After it, the first third of the samples is compared with the last third. Comparing
medians makes the verdict independent of a single garbage collection or burst of connections.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Final

WARM_UP_S: Final = 600.0
# Growth by a tenth in an hour is fragmentation. A leak of 1 kB per request is far above that.
MEMORY_GROWTH: Final = 0.10
MEMORY_SLACK_MB: Final = 8.0
DESCRIPTOR_SLACK: Final = 16
LATENCY_GROWTH: Final = 2.0
LATENCY_SLACK_MS: Final = 50.0
_LEAST_SAMPLES: Final = 6


@dataclass(frozen=True, kw_only=True)
class Sample:
    """State of the server at one time, and the latencies since the previous sample."""

    at_s: float
    memory_mb: float
    descriptors: int
    latencies_ms: tuple[float, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One measure at the start and at the end, and its limit at the end."""

    measure: str
    start: float
    end: float
    limit: float

    @property
    def is_within_limit(self) -> bool:
        return self.end <= self.limit


def warm_up_of(seconds: float) -> float:
    """Return ten minutes, or a quarter of a shorter test."""
    return min(WARM_UP_S, seconds / 4)


def judge(samples: Sequence[Sample], warm_up_s: float) -> list[Finding]:
    """Compare the end with the start. Raises ValueError for too few samples after the warm-up."""
    warm = [sample for sample in samples if sample.at_s >= warm_up_s]
    if len(warm) < _LEAST_SAMPLES:
        raise ValueError(f"{len(warm)} samples after the warm-up, at least {_LEAST_SAMPLES} are needed")
    third = len(warm) // 3
    first, last = warm[:third], warm[-third:]
    memory, memory_now = (median(sample.memory_mb for sample in part) for part in (first, last))
    open_then, open_now = (median(sample.descriptors for sample in part) for part in (first, last))
    latency, latency_now = _p95(first), _p95(last)
    return [
        Finding(
            measure="memory, MB", start=memory, end=memory_now, limit=memory * (1 + MEMORY_GROWTH) + MEMORY_SLACK_MB
        ),
        Finding(measure="descriptors", start=open_then, end=open_now, limit=open_then + DESCRIPTOR_SLACK),
        Finding(
            measure="p95 of a request, ms",
            start=latency,
            end=latency_now,
            limit=latency * LATENCY_GROWTH + LATENCY_SLACK_MS,
        ),
    ]


def _p95(samples: Sequence[Sample]) -> float:
    latencies = [latency for sample in samples for latency in sample.latencies_ms]
    if len(latencies) < 2:
        return latencies[0] if latencies else 0.0
    return quantiles(latencies, n=20, method="inclusive")[-1]
