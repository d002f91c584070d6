"""Figures of each server, ratios to the best peer and to the plain floor, and the bars that they are compared with."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

FORKPOINT: Final = "Forkpoint"
FLOOR: Final = "plain floor"


@dataclass(frozen=True, kw_only=True, slots=True)
class Measurement:
    """One server in one block, `seconds` from the first request until the last span could be queried.

    `lost` spans were refused for good, or cannot be queried although they were acknowledged.
    """

    name: str
    spans: int
    seconds: float
    cpu_s: float
    input_mb: float
    stored_mb: float
    ack_s: float = 0.0
    ack_ms: tuple[float, ...] = ()
    peak_mb: float = 0.0
    lost: int = 0
    postponed: int = 0
    load: float = 0.0

    @property
    def spans_per_s(self) -> float:
        return self.spans / self.seconds if self.seconds else 0.0

    @property
    def cpu_us(self) -> float:
        """CPU microseconds per span."""
        return 1e6 * self.cpu_s / self.spans if self.spans else 0.0

    @property
    def stored_share(self) -> float:
        return self.stored_mb / self.input_mb

    @property
    def ack_p50_ms(self) -> float:
        return self._ack_percentile(0.5)

    @property
    def ack_p99_ms(self) -> float:
        return self._ack_percentile(0.99)

    def _ack_percentile(self, share: float) -> float:
        ordered = sorted(self.ack_ms)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0


Block = Mapping[str, Measurement]


@dataclass(frozen=True, kw_only=True, slots=True)
class Bar:
    """A target of the design; the value is the median over blocks in which it could be computed."""

    text: str
    values: tuple[float, ...]
    limit: float
    is_maximum: bool = False

    @property
    def value(self) -> float | None:
        return median(self.values) if self.values else None

    @property
    def is_met(self) -> bool | None:
        if self.value is None:
            return None
        return self.value <= self.limit if self.is_maximum else self.value >= self.limit


@dataclass(frozen=True, kw_only=True, slots=True)
class Targets:
    """Limits of one workload."""

    best_peer: float
    floor: float
    cpu_us: float


TARGETS: Final = {
    "small": Targets(best_peer=10, floor=0.35, cpu_us=200),
    "long": Targets(best_peer=8, floor=1.5, cpu_us=700),
}
_ACK_P99_MS: Final = 1000
_MEMORY_MB: Final = 500


def bars(workload: str, blocks: Sequence[Block]) -> list[Bar]:
    """Compare the blocks with the targets of a workload."""
    targets = TARGETS[workload]
    times_peer = Bar(
        text="spans/s, times the best peer", values=_each(blocks, _peer_ratio_of_speed), limit=targets.best_peer
    )
    times_floor = Bar(
        text="spans/s, times the plain floor", values=_each(blocks, _floor_ratio_of_speed), limit=targets.floor
    )
    cpu = Bar(
        text="CPU µs per span",
        values=_each(blocks, lambda block: block[FORKPOINT].cpu_us),
        limit=targets.cpu_us,
        is_maximum=True,
    )
    latency = Bar(
        text="acknowledgement p99, ms",
        values=_each(blocks, lambda block: block[FORKPOINT].ack_p99_ms),
        limit=_ACK_P99_MS,
        is_maximum=True,
    )
    memory = Bar(
        text="peak memory, MB",
        values=_each(blocks, lambda block: block[FORKPOINT].peak_mb),
        limit=_MEMORY_MB,
        is_maximum=True,
    )
    return [times_peer, times_floor, cpu, latency, memory]


def cpu_ratios(blocks: Sequence[Block]) -> dict[str, tuple[float, ...]]:
    """Return how many times the CPU of Forkpoint the cheapest peer and the floor spend per span.

    On a machine with other work these vary less than ratios of spans/s.
    """
    return {
        "CPU per span of the best peer / of Forkpoint": _each(blocks, _peer_ratio_of_cpu),
        "CPU per span of the plain floor / of Forkpoint": _each(blocks, _floor_ratio_of_cpu),
    }


def _each(blocks: Sequence[Block], figure: Callable[[Block], float | None]) -> tuple[float, ...]:
    values = (figure(block) for block in blocks if FORKPOINT in block)
    return tuple(value for value in values if value is not None)


def _peers(block: Block) -> Iterable[Measurement]:
    return (measured for name, measured in block.items() if name not in (FORKPOINT, FLOOR) and measured.spans)


def _peer_ratio_of_speed(block: Block) -> float | None:
    best = max((peer.spans_per_s for peer in _peers(block)), default=None)
    return block[FORKPOINT].spans_per_s / best if best else None


def _floor_ratio_of_speed(block: Block) -> float | None:
    return block[FORKPOINT].spans_per_s / block[FLOOR].spans_per_s if FLOOR in block else None


def _peer_ratio_of_cpu(block: Block) -> float | None:
    cheapest = min((peer.cpu_us for peer in _peers(block)), default=None)
    return cheapest / block[FORKPOINT].cpu_us if cheapest else None


def _floor_ratio_of_cpu(block: Block) -> float | None:
    return block[FLOOR].cpu_us / block[FORKPOINT].cpu_us if FLOOR in block else None
