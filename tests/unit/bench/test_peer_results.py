"""Ratios of the comparison with other trace stores, computed from figures of servers that are not installed."""

import pytest

from tests.bench.peers.results import FLOOR, FORKPOINT, Bar, Block, Measurement, bars, cpu_ratios


def measurement(
    name: str, seconds: float, *, cpu_s: float = 1.0, spans: int = 1000, peak_mb: float = 100
) -> Measurement:
    latencies = tuple(float(number) for number in range(1, 101))
    return Measurement(
        name=name,
        spans=spans,
        seconds=seconds,
        cpu_s=cpu_s,
        input_mb=10,
        stored_mb=5,
        ack_ms=latencies,
        peak_mb=peak_mb,
    )


def block(*measurements: Measurement) -> Block:
    return {measured.name: measured for measured in measurements}


def bar(text: str, blocks: list[Block], workload: str = "small") -> Bar:
    return next(bar for bar in bars(workload, blocks) if bar.text.startswith(text))


def test_speed_is_compared_with_best_peer() -> None:
    blocks = [block(measurement(FORKPOINT, 1), measurement("slow", 100), measurement("fast", 12))]
    times_peer = bar("spans/s, times the best peer", blocks)
    assert times_peer.value == pytest.approx(12)
    assert times_peer.is_met


def test_each_block_is_compared_with_its_own_peers() -> None:
    quiet = block(measurement(FORKPOINT, 1), measurement("peer", 9))
    busy = block(measurement(FORKPOINT, 10), measurement("peer", 90))
    third = block(measurement(FORKPOINT, 1), measurement("peer", 30))
    times_peer = bar("spans/s, times the best peer", [quiet, busy, third])
    assert times_peer.values == pytest.approx((9, 9, 30))
    assert times_peer.value == pytest.approx(9)
    assert times_peer.is_met is False


def test_floor_is_no_peer() -> None:
    blocks = [block(measurement(FORKPOINT, 2), measurement("peer", 40), measurement(FLOOR, 1))]
    assert bar("spans/s, times the best peer", blocks).value == pytest.approx(20)
    assert bar("spans/s, times the plain floor", blocks).value == pytest.approx(0.5)


def test_peer_that_stored_nothing_is_not_compared() -> None:
    blocks = [block(measurement(FORKPOINT, 1), measurement("broken", 1, spans=0), measurement("peer", 4))]
    assert bar("spans/s, times the best peer", blocks).value == pytest.approx(4)


def test_no_peer_gives_no_verdict() -> None:
    blocks = [block(measurement(FORKPOINT, 1))]
    assert bar("spans/s, times the best peer", blocks).is_met is None
    assert not cpu_ratios(blocks)["CPU per span of the best peer / of Forkpoint"]


def test_cpu_is_compared_with_cheapest_peer() -> None:
    blocks = [
        block(
            measurement(FORKPOINT, 1, cpu_s=0.5),
            measurement("fast", 2, cpu_s=8),
            measurement("cheap", 9, cpu_s=3),
            measurement(FLOOR, 1, cpu_s=0.1),
        )
    ]
    ratios = cpu_ratios(blocks)
    assert ratios["CPU per span of the best peer / of Forkpoint"] == pytest.approx((6,))
    assert ratios["CPU per span of the plain floor / of Forkpoint"] == pytest.approx((0.2,))


@pytest.mark.parametrize(
    ("cpu_s", "workload", "is_met"), [(0.2, "small", True), (0.3, "small", False), (0.3, "long", True)]
)
def test_workloads_have_own_limits_of_cpu(cpu_s: float, workload: str, is_met: bool) -> None:
    assert bar("CPU", [block(measurement(FORKPOINT, 1, cpu_s=cpu_s))], workload).is_met is is_met


def test_memory_and_latency_have_maxima() -> None:
    blocks = [block(measurement(FORKPOINT, 1, peak_mb=501))]
    assert bar("peak memory", blocks).is_met is False
    assert bar("acknowledgement", blocks).is_met


def test_percentiles_of_acknowledgements() -> None:
    measured = measurement(FORKPOINT, 1)
    assert (measured.ack_p50_ms, measured.ack_p99_ms) == (51, 100)
    assert measured.stored_share == 0.5
