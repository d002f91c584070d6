"""How a soak test is judged. Pure.

What the process needs in its first minutes is its warm-up. After it, the first third of the samples is held against
the last third. Medians are compared, so that one garbage collection or one burst of connections decides nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Final

WARM_UP_S: Final = 600.0
# A tenth of growth in an hour is fragmentation; a leak of 1 kB for each request is far beyond it.
MEMORY_GROWTH: Final = 0.10
MEMORY_SLACK_MB: Final = 8.0
DESCRIPTOR_SLACK: Final = 16
LATENCY_GROWTH: Final = 2.0
LATENCY_SLACK_MS: Final = 50.0
_LEAST_SAMPLES: Final = 6


@dataclass(frozen=True, kw_only=True)
class Sample:
    """The state of the server at one moment, and how long requests took since the sample before."""

    at_s: float
    memory_mb: float
    descriptors: int
    latencies_ms: tuple[float, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One measure at the start and at the end, and the most that it may be at the end."""

    what: str
    start: float
    end: float
    limit: float

    @property
    def passed(self) -> bool:
        return self.end <= self.limit


def warm_up_of(seconds: float) -> float:
    """Ten minutes, or a quarter of a shorter test."""
    return min(WARM_UP_S, seconds / 4)


def judge(samples: Sequence[Sample], warm_up_s: float) -> list[Finding]:
    """Compare the end with the start; raises ValueError for too few samples after the warm-up."""
    warm = [sample for sample in samples if sample.at_s >= warm_up_s]
    if len(warm) < _LEAST_SAMPLES:
        raise ValueError(f"{len(warm)} samples after the warm-up are too few: {_LEAST_SAMPLES} are the least")
    third = len(warm) // 3
    first, last = warm[:third], warm[-third:]
    memory, memory_now = (median(sample.memory_mb for sample in part) for part in (first, last))
    open_then, open_now = (median(sample.descriptors for sample in part) for part in (first, last))
    latency, latency_now = _p95(first), _p95(last)
    return [
        Finding(what="memory, MB", start=memory, end=memory_now, limit=memory * (1 + MEMORY_GROWTH) + MEMORY_SLACK_MB),
        Finding(what="descriptors", start=open_then, end=open_now, limit=open_then + DESCRIPTOR_SLACK),
        Finding(
            what="p95 of a request, ms",
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
