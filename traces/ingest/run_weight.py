"""Weight of a recording: the bytes that are looked at when it is stored. Pure.

Objects that steps share take no memory, but they are checked, cut and hashed for each step: a configuration of 1 MB in
each of 20,000 steps is 20 GB. Entries of histories are looked at once.
"""

import marshal
import pickle
from itertools import islice
from typing import Final

from traces.core.recorded_run import RecordedRun
from traces.ingest.redaction import values_of

# Values that are marshalled at a time: few, because they may be large.
_BATCH: Final = 20


def weigh(run: RecordedRun, most: int) -> int:
    """Return the weight of a run in bytes, roughly; no further than just above `most`."""
    values, weight = values_of(run), 0
    while weight <= most and (batch := list(islice(values, _BATCH))):
        try:
            weight += len(marshal.dumps(batch, 2))
        except ValueError:  # too deep, or not plain JSON
            weight += len(pickle.dumps(batch, pickle.HIGHEST_PROTOCOL))
    return weight
