"""What becomes of processes that a program left behind, or that its starter left by being killed."""

import os
import subprocess
import sys
import uuid

import pytest

from forkpoint.confinement import left_processes
from forkpoint.confinement.left_processes import MARK, end_left_processes, start_guardian

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc shows environments")
# It ignores the first signal, in a session of its own.
CODE = "import signal, time; signal.signal(15, signal.SIG_IGN); print(flush=True); time.sleep(600)"


def start(mark: str) -> "subprocess.Popen[bytes]":
    words = [sys.executable, "-c", CODE]
    process = subprocess.Popen(words, env={MARK: mark}, start_new_session=True, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def test_processes_of_one_start_are_ended() -> None:
    runner = uuid.uuid4().hex
    with start(f"{runner}/1") as first, start(f"{runner}/2") as second:
        assert end_left_processes(uuid.uuid4().hex) == 0
        assert end_left_processes(f"{runner}/1") == 1
        assert (first.wait(), second.poll()) == (-9, None)
        # As if the process that started both had been killed.
        guardian = start_guardian(f"{runner}/", os.environ)
        assert guardian is not None
        guardian.communicate()
        assert second.wait() == -9


def test_no_mark_is_that_of_no_process() -> None:
    with start(uuid.uuid4().hex) as process:
        assert [*left_processes._processes("")] == []
        process.kill()
