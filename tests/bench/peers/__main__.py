"""Ingest of OTLP beside Phoenix, MLflow and agent-timetravel.

`python -m tests.bench.peers [small|long] [--runs N] [--peer NAME]... [--blocks N]`. The peers are installed into
`.make/peers`. In every block each server starts with an empty database, alone, and gets the same requests from four
clients; the order rotates from block to block.
"""

import argparse
import sys

from tests.bench.ingest.workloads import workload
from tests.bench.peers.measuring import measure_blocks
from tests.bench.peers.report import show
from tests.bench.peers.results import bars
from tests.bench.peers.servers import PEERS
from tests.bench.peers.traffic import write_requests
from tests.services.processes import scratch_folder


def main(arguments: argparse.Namespace) -> int:
    peers = [peer for peer in PEERS if not arguments.peer or peer.name in arguments.peer]
    for peer in peers:
        peer.install()
    scratch = scratch_folder("fp-peers-")
    (scratch / "requests").mkdir()
    load = workload(arguments.workload, arguments.runs)
    batch = write_requests(load, scratch / "requests")
    blocks = measure_blocks(scratch, batch, peers, arguments.blocks)
    show(arguments.workload, load, batch, blocks)
    return 1 if any(bar.is_met is False for bar in bars(arguments.workload, blocks)) else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.peers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("workload", choices=("small", "long"), nargs="?", default="small")
    parser.add_argument("--runs", type=int, help="fewer runs than the 2,000 small or 20 long ones of the targets")
    parser.add_argument("--peer", action="append", choices=[peer.name for peer in PEERS], help="only this peer")
    parser.add_argument("--blocks", type=int, default=1, help="repetitions of the whole comparison")
    sys.exit(main(parser.parse_args()))
