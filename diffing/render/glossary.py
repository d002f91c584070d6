"""Glossary of a report: its terms, for a reader without other documentation. Pure."""

from typing import Final

TERMS: Final = (
    (
        "run, step",
        "A run is one execution of an agent. A step is one action in it: a model call, a tool call, a search, a "
        "rendered prompt, an answer. Steps are numbered within their run.",
    ),
    ("base, candidate", "The known run, and the run that is compared with it."),
    (
        "replay, fork",
        "A run made from a recorded one with changes, from a step on. Steps that the changes cannot reach are the "
        "recorded ones.",
    ),
    (
        "exact, cached, simulated",
        "How a replayed step got its output: recorded for this very call; recorded for the same call in another run; "
        "or made during the replay, by a model, by the person who changed it, or as a placeholder. "
        "Recorded (`live` in JSON) is an original recording.",
    ),
    (
        "inferred, tested",
        "A link that follows from the recordings, or a link that a replay has tested by changing this step alone.",
    ),
    (
        "confidence",
        "high: replays show the cause both ways, and chance is ruled out: by repeats, or because no differing answer "
        "was sampled from a model when these two runs were recorded. medium: one way only, several causes together, "
        "answers that were sampled once, chance only unlikely, or the only remaining change. low: only the recordings "
        "support it, or chance is not ruled out. noise: chance explains the difference as well.",
    ),
    (
        "sufficient, necessary, share",
        "Sufficient: made alone on the base, the change gives the candidate’s outcome. Necessary: without it, the "
        "candidate loses its outcome. Share: the part of the difference that is due to the change, averaged over all "
        "orders of making the changes. Interaction: the effect of two changes together beyond their separate effects, "
        "from 1 (only together) to −1 (each does it without the other).",
    ),
    (
        "chance, p",
        "Models may answer the same request differently. p is how often chance alone would separate the two sides as "
        "clearly as observed; below 0.01 counts as ruled out.",
    ),
    (
        "ruled out",
        "inert: the step gave the same output. unreached: no recorded data flow leads from it to the answer. "
        "dominated: every path to the answer passes a step that gave the same output.",
    ),
    (
        "ARS, tool accuracy",
        "Agent Regression Score, as the system Kurral defines it: from 0.9 excellent, from 0.7 good, from 0.5 "
        "moderate, below that poor. Tool accuracy is the share of the base’s calls that were made again, less 0.1 for "
        "each new and each missing call.",
    ),
    (
        "rank-biased overlap, Kendall tau",
        "The similarity of two lists of documents, where the first places count most, and the agreement on the order "
        "of common documents. 1 is the same.",
    ),
)
