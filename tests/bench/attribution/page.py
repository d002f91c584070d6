"""The page of the docs: what is measured, and the tables of one full run."""

from typing import Final

from tests.bench.attribution.results import Results, machine
from tests.bench.attribution.tables import tables
from tests.bench.attribution.track_a import SEED

_INTRODUCTION: Final = """# How right the causes are

Forkpoint says which change made two runs differ, and how sure it is. This page measures that. It is written by

    python -m tests.bench.attribution --size full --data FOLDER --page docs/benchmark.md

on {machine}, {at} UTC, seed {seed}.

`make test` runs a slice of it and fails when `high` is right in less than 95 % or `medium` in less than 75 % of the
cases, when anything is blamed although nothing had an effect, or when the aligner's F1 is under 0.98.

**Track A, known causes.** Six pipelines (an answer from documents, an order desk with tools, planner and workers,
map and reduce, a retry loop, a guarded offer) are recorded, changed in 1 to 12 places at once, and recorded again.
Their model is a program that obeys the rules in its prompt, so a changed sentence means something. What really made
the difference is found by running all combinations of the changes. The ladder never sees that: it replays the
recordings through the product's engine. *Top-1*: the first change that it names belongs to a smallest set that is
enough. *Kind*: single, joint, over-determined or none. *Hunk*: the right sentence, field or document inside the
change. *Entry step*: the first step at which the base's answer brings the base's outcome back. *Precision*: every
word of the finding is true, the kind and each set. Of more than six changes the product does not try every
combination: where it is wrong about the kind it named one true cause, and missed a second one that other changes undo.
The split *prior-friendly* has 60 % of its causes in prompts; in *adversarial* the first step that differs is a decoy.

**Track A, unaided.** The same recordings, but nobody says what was changed: the product finds the changes itself,
makes its own overrides of them and probes with what the two recordings hold. Some changes show in neither recording
(a row that a tool would have answered with, had the base asked for it); then the recordings cannot tell, and the
table says how often. No cause may be called chance, which the product says where it finds that nobody changed
anything.

**Track P, programs.** Agents whose own code stands between their calls, and is not recorded: a classifier's word, id,
field or first letters in a specialist's request; figures of several answers in one table; a planner's lines as tasks of
other agents, or as calls that the code makes; votes, sums, critics and forms that are asked for again. Talks with later
user turns, some of users who react to an answer; context windows that drop early messages; tools under other names,
with the same or other data; models that give the same decision in new words each time. Nobody says what was changed, no
tool is at hand, and each case is proved twice: with models that can be asked, and from the recordings alone. The truth
comes from running the whole program, code included, with every combination of the changes. *Top-1*: the first change
that is named, or listed where none is named, belongs to a cause. *Decided*: a change is named. *The diff alone*: the
first change that the diff lists. *Not recorded*: cases in which a change that matters acts on a step that only one of
the runs has; they count for the precision, and not for top-1. Of the programs *held out* only the figures of each group
were seen while the product was developed, so that the kind of their failures is known. *Unseen* programs were written
before the method was developed further, and measured before and after that. Since then their failures were looked at.
*Fresh* programs were written by someone who did not read the method, and measured once before (top-1 89.8 %, `high`
right in 96 of 98); their failures were looked at since. *Blind* programs were written later, by an author who had read
neither the method nor its results.

**Track B, chance.** The same with a model that breaks a rule of its prompt with the probability eps. A/A pairs are
two recordings that differ although only words were changed that mean nothing.

**Track C, real recordings.** Pairs of recordings of one task, of which one did the task and the other did not. *Same*:
repeats of one configuration that say so: the task, the configuration, and which try it was (in one of the two files,
three batches of one configuration first have to be given one name). No task has four and four recordings of a
configuration, so no repeats can tell; but where two tries differ in nothing that anybody set, it was chance, and the
product says so without a probe. *Undeclared* is what the diff says of the same pairs when all of that is left out: it
then takes the simulated user's first words for what they seem, another input, and never claims more than `low`. *Swap*:
two configurations, whose prompts these files do not hold; the product has to see that they are declared to be
different, and must not call that chance. Over tasks, repeating a configuration means to look up its recording of
another task; ten of them are too few to tell these configurations apart.

**Track D, labelled failures.** People's labels are no counterfactual causes, and the reference runs come from other
agents with other prompts: secondary, beside its floors. What a diff names first is then the other configuration, which
is true and says nothing about the step. The last two rows look for the first write that no success of the task made,
and before it for the first number that an assistant says although neither the run so far nor any success holds it.
They were written with these failures in view, three of the hits are one mistake made three times, and the intervals
overlap those of the floors: no proof that they would do better on others, so the product does not offer them.

**Track E, the aligner.** Transcripts are edited (insert, delete, swap, loop, other ids, another argument, a
paraphrase; up to six at once), and the aligner has to find every step again.

What a benchmark with a simulated model cannot say: real models interact in more ways than these rules, and real
agents keep state that no recording holds.
"""


def written(results: Results) -> str:
    """The page as Markdown."""
    head = _INTRODUCTION.format(machine=machine(), at=f"{results.at:%Y-%m-%d %H:%M}", seed=SEED)
    shown = "\n\n".join(f"## {table.title}\n\n{table.markdown()}" for table in tables(results))
    return f"{head}\n{shown}\n\n{_missed(results)}\n"


def _missed(results: Results) -> str:
    missed = [target.what for target in results.targets() if not target.reached]
    if not missed:
        return "Every target was reached."
    return "Missed: " + "; ".join(missed) + "."
