"""Main program of the file reader process: read one inherited file, write pickled events to standard output. Pure.

The process ends when its input closes, so that it cannot outlive its server.
"""

import gc
import io
import os
import pickle
import sys
from threading import Thread
from typing import IO, Final

from traces.reading import file_reader
from traces.reading import limits as reading_limits
from traces.reading.job import NO_MEMORY, Job
from traces.reading.progress import NamedFile
from traces.reading.sections import Section

# Nearly all objects live until they are sent. With the default thresholds, collection takes a fifth of the time.
_GC_THRESHOLDS: Final = (50_000, 20, 100)


def main() -> None:
    gc.freeze()
    gc.set_threshold(*_GC_THRESHOLDS)
    gc.enable()
    job: Job = pickle.load(sys.stdin.buffer)  # noqa: S301 - written by the server that started this process
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    Thread(target=_end_with_input, daemon=True).start()
    limits = reading_limits.Limits(job.budget)
    with os.fdopen(job.descriptor, "rb") as shared_file:
        try:
            _send(job, shared_file, limits, output)
        except MemoryError:
            os._exit(NO_MEMORY)
        except BrokenPipeError:  # the server stopped reading
            pass
    # Not a normal exit: the thread is still waiting for the end of the input.
    os._exit(0)


def _send(job: Job, shared_file: IO[bytes], limits: reading_limits.Limits, output: IO[bytes]) -> None:
    files = [
        NamedFile(name=name, file=io.BufferedReader(Section(shared_file, start, size)))
        for name, start, size in job.files
    ]
    for event in file_reader.read_files(files, job.format, allow=limits.allow):
        pickle.dump(event, output, pickle.HIGHEST_PROTOCOL)
        output.flush()


def _end_with_input() -> None:
    while os.read(0, 1):
        pass
    os._exit(0)


if __name__ == "__main__":
    main()
