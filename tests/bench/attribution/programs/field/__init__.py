"""FIELD: programs in the manner of production agents, by an author who had not read the method.

Written on 23 November 2026, after `later`. The author had read the harness of track P (shapes, runtimes, truth, probe
runner), two small modules of older sets, and some lines of the benchmark page with figures of older sets; and had run
no attribution on these programs. Each program has 32 cases at full size, so there are 448, and eight of each program
have no cause.

| program | agent |
|---|---|
| support hub | triage hands over to sub-agents by a tool call; three turns; models reword their answers |
| guarded advice | a validator sends drafts back and overlooks a fault at a rate of 20 %; redaction in code |
| handbook answers | queries rewritten from the chat, hits merged and re-ranked, citations numbered by code |
| ferry browser | search results, long pages in parts |
| sales analyst | SQL from a schema, corrected after an error of the database; figures formatted by code |
| ticket counter | pages with cursors, renamed tools, other descriptions, failed pages |
| patch coder | actions in tags, test output cut in the middle, patches until the tests pass |
| journey planner | a plan in JSON, executors with shared notes, a new plan after a failure, sums in code |
| review digest | a summary per review in three languages, merged in a tree, a threshold |
| invoice intake | fields as JSON; dates, amounts and units in code; an error goes back to the model |
| kitchen companion | a window of four messages and a summary of the others; models reword their answers |
| two languages | a glossary in code before the agent, local dates and amounts behind it |
| moderation panel | five voters, each of which votes differently at a rate of 8 %; a judge |
| morning bulletin | feeds merged, sorted, freed of doubles, cut and numbered by code |

Of the two programs with chance, the truth is about the usual answers. The recordings of a case with a cause show them;
those of a case without a cause differ by chance alone.
"""

from typing import Final

from tests.bench.attribution.programs.field.guardrail import GUARDRAIL
from tests.bench.attribution.programs.field.makers import MAKERS
from tests.bench.attribution.programs.field.panels import PANELS
from tests.bench.attribution.programs.field.papers import PAPERS
from tests.bench.attribution.programs.field.reading_rooms import READING_ROOMS
from tests.bench.attribution.programs.field.support import SUPPORT
from tests.bench.attribution.programs.field.tables import TABLES
from tests.bench.attribution.programs.field.talks import TALKS
from tests.bench.attribution.programs.shapes import Program

FIELD: Final[tuple[Program, ...]] = (
    *SUPPORT,
    *GUARDRAIL,
    *READING_ROOMS,
    *TABLES,
    *MAKERS,
    *PAPERS,
    *TALKS,
    *PANELS,
)
