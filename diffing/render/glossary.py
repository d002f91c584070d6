"""What the words of a report mean, for who reads one and nothing else."""

from typing import Final

WORDS: Final = (
    (
        "run, step",
        "One run of an agent, and one thing that it did: a model call, a tool call, a search, a rendered "
        "prompt, an answer. Steps are numbered within their run.",
    ),
    ("base, candidate", "The run that one knows, and the run that is compared with it."),
    (
        "replay, fork",
        "A run made from a recorded one, from a step on, with changes. What the changes cannot reach is "
        "the recording itself.",
    ),
    (
        "exact, cached, simulated",
        "How a replayed step got its answer: recorded for this very call; recorded for the "
        "same call in another run; or made anew: by a model, by the person who changed it, or as a placeholder. “live” "
        "is an original recording.",
    ),
    (
        "inferred, tested",
        "A link that follows from what the recordings hold; or one that a replay has tried, by "
        "changing this step alone.",
    ),
    (
        "confidence",
        "high: replays show it both ways, and chance is ruled out: by repeats, or because no answer that "
        "differs was drawn from a model when these two recorded runs were made. medium: one way only, several causes "
        "together, answers that were drawn once, chance only unlikely, or the only change that is left. low: only the "
        "recordings speak for it, or chance was not ruled out. noise: chance does as much.",
    ),
    (
        "enough, needed, share",
        "Enough: made alone on the base, the change gives the candidate’s outcome. Needed: without it the candidate’s "
        "outcome is gone. Share: how much of the difference is due to it, averaged over every order in which the "
        "changes can be made. Interaction: what two changes do together beyond what each does alone, from 1 (only "
        "together) to −1 (each does it without the other).",
    ),
    (
        "chance, p",
        "Models may answer the same request differently. p is how often chance alone would set the two sides "
        "apart as clearly as was seen; below 0.01 counts as ruled out.",
    ),
    (
        "ruled out",
        "inert: the step answered as before. unreached: nothing recorded leads from it to the answer. "
        "dominated: every way to the answer passes a step that answered as before.",
    ),
    (
        "ARS, tool accuracy",
        "Agent Regression Score, as the system Kurral defines it: 0.9 and more is excellent, 0.7 "
        "good, 0.5 moderate, less poor. Tool accuracy is the share of the base’s calls that were made again, less 0.1 "
        "for each new and each missing call.",
    ),
    (
        "rank-biased overlap, Kendall tau",
        "How alike two lists of documents are, the first places counting most; and "
        "whether the documents in both keep their order. 1 is the same.",
    ),
)
