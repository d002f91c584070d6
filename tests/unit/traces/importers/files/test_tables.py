"""Tables as CSV: which files are some, and what their rows contain."""

from datetime import UTC, datetime

import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import StepType
from traces.importers.files.source import Source

EVENT = b"""uuid,event,properties,timestamp\r
e-1,$ai_generation,"{""$ai_trace_id"": ""t-1"", ""$ai_model"": ""gpt-4o-mini"", ""$ai_input"": [{""role"": ""user"",
 ""content"": ""Is Dune in stock?""}], ""$ai_input_tokens"": 9}",2026-10-01T10:00:01Z\r
"""


def test_cells_with_json_are_parsed() -> None:
    data = b'\xef\xbb\xbfid;note;tags\r\n1;"two\r\nlines";"[""a""]"\r\n2;;'
    rows = [(record.value, record.location) for record in Source(name="x", data=data).records()]
    assert rows == [({"id": "1", "note": "two\r\nlines", "tags": ["a"]}, "line 3"), ({"id": "2"}, "line 4")]


@pytest.mark.parametrize(
    "data",
    [
        b"Dear diary, ...\nToday, rain.\n",
        b'INFO starting, ok\n{"event": "x", "timestamp_ms": 1}\n',
        b'{"a": 1, "b": 2}\n{"a": 1, "b": 2}\n',
        b"id,name\n",
        b"id,id\n1,2\n",
    ],
)
def test_other_texts_are_no_tables(data: bytes) -> None:
    assert not Source(name="x", data=data).is_table


# The interface exports nested properties as columns of their own.
FLAT_EVENT = b"""event,createdAt,properties.$ai_trace_id,properties.$ai_model,properties.$ai_input.0.role,\
properties.$ai_input.0.content,properties.$ai_input_tokens
$ai_generation,2026-10-01T10:00:01Z,t-1,gpt-4o-mini,user,Is Dune in stock?,9
"""


@pytest.mark.parametrize("data", [EVENT, FLAT_EVENT])
def test_events_of_posthog_as_table(data: bytes) -> None:
    (run,), problems = fixtures.detect_and_read("posthog", data, "events.csv")
    assert run.started_at == datetime(2026, 10, 1, 10, 0, 1, tzinfo=UTC)
    assert (run.external_id, run.steps[-1].model, run.steps[-1].tokens_in) == ("t-1", "gpt-4o-mini", 9)
    assert (fixtures.request_contents(run.steps[-1]), problems) == (["Is Dune in stock?"], [])


def test_sorted_columns_of_posthog_are_messages_in_order() -> None:
    numbers = sorted(range(11), key=str)
    names = [f"properties.$ai_input.{number}.{part}" for number in numbers for part in ("role", "content")]
    cells = [cell for number in numbers for cell in ("user", f"Line {number}")]
    rows = (["event", "properties.$ai_trace_id", *names], ["$ai_generation", "t-1", *cells])
    (run,), _ = fixtures.detect_and_read("posthog", "\n".join(map(",".join, [*rows, []])).encode(), "events.csv")
    assert fixtures.request_contents(run.steps[-1]) == [f"Line {number}" for number in range(11)]


def test_rows_of_ragas_in_python_form() -> None:
    new = b"user_input,retrieved_contexts,response,reference,faithfulness\nHere?,\"['shelf 7', 'a']\",Yes.,3,0.5\n"
    old = b"question,contexts,answer,ground_truth,faithfulness\nHere?,\"['shelf 7', 'a']\",Yes.,3,0.5\n"
    for data in (new, old):
        ((run,), problems) = fixtures.detect_and_read("graded-answers", data)
        (search,) = fixtures.steps(run, StepType.RETRIEVAL)
        assert search.output == {"documents": [{"id": "1", "content": "shelf 7"}, {"id": "2", "content": "a"}]}
        assert [(score.name, score.value) for score in run.judgements] == [("faithfulness", 0.5)]
        assert (run.metadata["reference"], problems) == ("3", [])


# Arrays of numpy have no commas.
FRAME = b""",context.trace_id,context.span_id,name,start_time,span_kind,attributes.llm.input_messages,\
attributes.llm.token_count.prompt,events,eval.tone.score
0,ab,01,chat,2026-03-01 10:00:00+00:00,LLM,"[{'message.role': 'user', 'message.content': ""Is it Dune's?""}
 {'message.role': 'assistant', 'message.tool_calls': array([{'tool_call.function.name': 'find'}], dtype=object)}]",\
9.0,"[{'name': 'note', 'timestamp': datetime.datetime(2026, 3, 1, 10, 0, tzinfo=datetime.timezone.utc), 'attributes': \
{'shelf': 'B-7', 'rest': nan}}]",0.5
"""


def test_data_frame_of_spans_has_cells_in_python_form() -> None:
    ((run,), problems) = fixtures.detect_and_read("otlp", FRAME, "frame.csv")
    (step,) = run.steps
    assert fixtures.request_contents(step) == ["Is it Dune's?", None]
    assert (step.tokens_in, [score.value for score in run.judgements], problems) == (9, [0.5], [])
    assert step.attributes["events"] == [
        {"name": "note", "time": "2026-03-01T10:00:00+00:00", "attributes": {"shelf": "B-7", "rest": None}}
    ]


def test_rows_can_be_messages() -> None:
    ((run,), problems) = fixtures.detect_and_read("chat", b'role,content\nuser,"Is Dune here, too?"\nassistant,Yes.\n')
    assert (run.name, fixtures.answer_contents(run), problems) == ("Is Dune here, too?", ["Yes."], [])


def test_index_with_the_name_of_a_column() -> None:
    data = b"id,name,id,name\na,Dune,a,Ubik\n"
    assert [record.value for record in Source(name="x", data=data).records()] == [
        {"id": "a", "name": "Dune", "name.4": "Ubik"}
    ]
