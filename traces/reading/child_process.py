"""The process that reads files: from one file that was handed to it, to values on its output. Pure.

It ends when its input does: so it never outlives the server that started it.
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

# Nearly all that is made here is kept until it is sent: with the usual numbers a fifth of the time goes into looking.
_COLLECTED: Final = (50_000, 20, 100)


def main() -> None:
    gc.set_threshold(*_COLLECTED)
    job: Job = pickle.load(sys.stdin.buffer)  # noqa: S301  # written by the server that started this process
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    Thread(target=_end_with_input, daemon=True).start()
    limits = reading_limits.Limits(job.budget)
    with os.fdopen(job.descriptor, "rb") as together:
        try:
            _send(job, together, limits, output)
        except MemoryError:
            os._exit(NO_MEMORY)
        except BrokenPipeError:  # nobody reads on
            pass
    os._exit(0)  # the thread still waits for the input's end


def _send(job: Job, together: IO[bytes], limits: reading_limits.Limits, output: IO[bytes]) -> None:
    files = [
        NamedFile(name=name, file=io.BufferedReader(Section(together, start, size))) for name, start, size in job.files
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
