"""Cases of ingestion, with the bars of the design. CPU and stored bytes are those of a process of their own.

Takes minutes: 2,000 small and 20 long runs as OTLP, and an embedded server under load.
"""

from functools import partial
from typing import Final

from tests.bench.case import Case
from tests.bench.ingest import arrival, overload, server_load

_SMALL, _LONG = ("small", 2_000), ("long", 20)
_SHORT_LIST: Final = "2,000 OTLP runs of 6 spans"
_LONG_LIST: Final = "20 OTLP runs of 200 turns"
INGEST_CASES: Final = (
    Case(f"ingest, {_SHORT_LIST}: CPU", 200, "at_most", "us/span", lambda: arrival.measure(*_SMALL)["cpu_us"], True),
    Case(f"ingest, {_LONG_LIST}: CPU", 700, "at_most", "us/span", lambda: arrival.measure(*_LONG)["cpu_us"], True),
    Case(
        f"ingest, {_SHORT_LIST}: speed of the plain floor",
        0.35,
        "at_least",
        "x",
        lambda: arrival.measure(*_SMALL)["of_floor"],
        True,
    ),
    Case(
        f"ingest, {_LONG_LIST}: speed of the plain floor",
        1.5,
        "at_least",
        "x",
        lambda: arrival.measure(*_LONG)["of_floor"],
        True,
    ),
    Case(
        f"ingest, {_SHORT_LIST}: stored share",
        100,
        "at_most",
        "%",
        lambda: arrival.measure(*_SMALL)["stored_percent"],
        True,
    ),
    Case(
        f"ingest, {_LONG_LIST}: stored share",
        None,
        "at_most",
        "%",
        lambda: arrival.measure(*_LONG)["stored_percent"],
        True,
    ),
    Case(
        "ingest, 4 clients: acknowledgement, p99",
        1_000,
        "at_most",
        "ms",
        lambda: server_load.measure_small().p99_ms,
        True,
    ),
    *(
        case
        for name in overload.KINDS
        for case in (
            Case(
                f"ingest, overload by {name}: slowest response",
                5_000,
                "at_most",
                "ms",
                partial(overload.slowest_ms, name),
                True,
            ),
            Case(
                f"ingest, overload by {name}: stored, or 429 or 503 with Retry-After",
                100,
                "at_least",
                "%",
                partial(overload.proper_percent, name),
                True,
            ),
        )
    ),
    Case(
        "ingest, half load: acknowledgement to list, p95",
        1_000,
        "at_most",
        "ms",
        lambda: server_load.measure_small().visible_p95_ms,
        True,
    ),
    Case("ingest, long runs: memory", 500, "at_most", "MB", server_load.memory_of_long_runs_mb, True),
)
