"""Figures of a process tree include those of its children."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench.peers.process_tree import cpu_s, demand_s, memory_mb, pids

pytestmark = pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="reads /proc")
_WORK = "sum(range(10_000_000)); data = bytearray(40_000_000); print(flush=True); input()"
_PARENT = f"""
import subprocess, sys
subprocess.run([sys.executable, "-c", "sum(range(10_000_000))"], check=True)
subprocess.run([sys.executable, "-c", {_WORK!r}], check=True)
"""


def test_tree_includes_running_and_ended_children() -> None:
    command = [sys.executable, "-c", _PARENT]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        parent, child = pids(process.pid)
        assert parent == process.pid
        assert memory_mb(process.pid) > memory_mb(child) > 40
        assert cpu_s(process.pid) > cpu_s(child) > 0
        assert demand_s(process.pid) > demand_s(child) > 0
        process.communicate(b"\n")
    assert cpu_s(process.pid) == 0
