"""The capture SDK: records an agent's runs to files that `forkpoint import` reads.

It needs the standard library alone, never raises into the agent and never makes it wait.
"""

from forkpoint.recorder import Recorder, recorder

__all__ = ["Recorder", "recorder"]
