"""Places worth a look in one run: kinds, positions, and cases without a place."""

from collections.abc import Sequence
from pathlib import Path
from time import process_time

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.inspection.core.checkable_values import tokens
from replay.inspection.core.failures import reported_error
from replay.inspection.core.inspect_run import inspect
from replay.inspection.core.places import Place, PlaceKind, StepContent
from replay.inspection.core.step_contents import closure, contents
from replay.resolution.side_effects import looks_like_write
from tests.bench.ingest.stages import call_clock
from tests.bench.places.failures import places, read, steps_of
from tests.support.replay_runs import Reply, ToolCall, Turn, order_desk
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus, StepType
from traces.payloads.splitter import split

ORDER: JSONObject = {"id": "W-4410", "total": 120, "items": ["lamp", "desk"]}


def places_of(run: RecordedRun, kind: PlaceKind) -> list[Place]:
    return [place for place in inspect(steps_of(run), is_write=looks_like_write) if place.kind is kind]


def desk(*turns: Turn, question: str = "Where is my order W-4410?") -> RecordedRun:
    return order_desk([(question, turns)])


def call(no: int, name: str, key: str, output: JSONValue = "same") -> StepContent:
    return StepContent(no=no, type=StepType.TOOL, name=name, signature=key, output=output)


def calls(keys: str) -> list[StepContent]:
    return [call(no, f"tool_{key}", key) for no, key in enumerate(keys, 1)]


def kinds(steps: Sequence[StepContent]) -> list[tuple[PlaceKind, int | None, tuple[int, ...]]]:
    return [(place.kind, place.step, place.related) for place in inspect(steps, is_write=looks_like_write)]


# ---- errors


def test_failed_step_names_its_producers() -> None:
    run = desk(ToolCall("get_order", {"id": "W-4410"}, "no such order", StepStatus.ERROR), Reply("I cannot find it."))
    [place] = places_of(run, PlaceKind.FAILED_STEP)
    steps = steps_of(run)
    tool = next(step for step in steps if step.type is StepType.TOOL)
    asking = next(step for step in steps if step.type is StepType.MODEL)
    assert (place.step, place.related, place.text) == (tool.no, (asking.no,), "no such order")


@pytest.mark.parametrize(
    ("result", "path"),
    [
        ("Error: order not found", ""),
        ("  Traceback (most recent call last): ...", ""),
        ("ValueError: bad id", ""),
        ("HTTP 503 from upstream", ""),
        ("exitcode: 1 (execution failed)", ""),
        ({"error": "not found"}, "/error"),
        ({"success": False, "id": 3}, "/success"),
        ({"status": "failed"}, "/status"),
        ({"reason": "over the limit", "status": "refused"}, "/status"),
        ({"status_code": 404}, "/status_code"),
        ({"isError": True, "content": []}, "/isError"),
        ({"content": [{"type": "text", "text": "Error: denied"}]}, "/content/0/text"),
        ('{"error": {"code": 7}}', ""),
    ],
)
def test_result_that_reports_error(result: JSONValue, path: str) -> None:
    report = reported_error(result)
    assert report is not None
    assert report[0] == path


@pytest.mark.parametrize(
    "result",
    [
        "No errors were found.",
        "The error rate is 3 %.",
        {"error": None, "value": 1},
        {"errors": [], "rows": 3},
        {"success": True},
        {"status": "delivered"},
        {"status_code": 200},
        {"exit_code": 0},
        ["Error handling, a book", "another"],
        "[1, 2",
        None,
    ],
)
def test_result_without_error(result: JSONValue) -> None:
    assert reported_error(result) is None


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ("Error: order not found", "Error: order not found"),
        ('{"reason": "over the limit", "status": "refused"}', "status: refused (over the limit)"),
    ],
)
def test_hidden_error_of_ended_step(result: str, text: str) -> None:
    run = desk(ToolCall("get_order", {"id": "W-4410"}, result), Reply("I cannot find it."))
    [place] = places_of(run, PlaceKind.HIDDEN_ERROR)
    assert place.text == text


# ---- repeats


def test_third_equal_call_is_repeated() -> None:
    assert kinds(calls("abacad")) == [(PlaceKind.REPEATED_CALL, 3, (1, 5))]
    assert kinds(calls("abac")) == []


def test_equal_rounds_are_a_loop() -> None:
    assert kinds(calls("xababab")) == [(PlaceKind.LOOP, 4, (2, 6))]
    assert kinds(calls("aaa")) == [(PlaceKind.LOOP, 2, (1, 3))]


def test_loop_of_other_calls_keeps_repeats() -> None:
    assert kinds(calls("abbbca")) == [(PlaceKind.LOOP, 3, (2, 4))]
    assert (PlaceKind.REPEATED_CALL, 6, (1, 8)) in kinds(calls("abbbcadad"[:8]))


# ---- claims


def test_claim_without_support() -> None:
    run = desk(ToolCall("get_order", {"id": "W-4410"}, ORDER), Reply("There are 37 lamps in the order W-4410."))
    [place] = places_of(run, PlaceKind.UNSUPPORTED_CLAIM)
    assert place.path == "/message/content"
    assert "states 37," in place.title
    assert "37 lamps" in place.text


@pytest.mark.parametrize(
    "answer",
    [
        "Your order W-4410 costs 120.00 euros.",
        "The order #w-4410 is on its way.",
        "Two of them cost 240 euros.",
        "It takes 5-7 business days, 100 %.",
        "1. First\n12. Twelfth",
        "Please name an order id, e.g. W-9999.",
        "An id looks like #W0000000.",
        "See https://shop.example/orders/99812.",
        "Your account ending in 7788 is charged.",
        "It came on March 14, 2025, at 09:30.",
    ],
)
def test_supported_value_is_no_claim(answer: str) -> None:
    order: JSONObject = {**ORDER, "account": "55667788", "date": "2025-03-14", "time": "09:30"}
    run = desk(ToolCall("get_order", {"id": "W-4410"}, order), Reply(answer))
    assert not places_of(run, PlaceKind.UNSUPPORTED_CLAIM)


def test_sum_of_listed_prices_is_supported() -> None:
    items: JSONValue = [{"price": 12.35}, {"price": 7.40}, {"price": 100.11}]
    supported_run = desk(
        ToolCall("get_order", {"id": "W-4410"}, {"items": items}), Reply("In all that is 119.86 euros.")
    )
    wrong = desk(ToolCall("get_order", {"id": "W-4410"}, {"items": items}), Reply("In all that is 121.86 euros."))
    assert not places_of(supported_run, PlaceKind.UNSUPPORTED_CLAIM)
    assert places_of(wrong, PlaceKind.UNSUPPORTED_CLAIM)


def test_sum_with_a_part_of_an_id_is_supported() -> None:
    vouchers = ToolCall("get_vouchers", {"id": "next"}, {"voucher_1060": "yours", "other": 327})
    run = order_desk([("How much?", [vouchers, Reply("Vouchers: 1060.")]), ("In all?", [Reply("That is 1387.")])])
    assert not places_of(run, PlaceKind.UNSUPPORTED_CLAIM)


@pytest.mark.parametrize(
    ("recorded", "stated", "is_supported"),
    [
        ("20:30:00", "8:30 PM", True),
        ("20:30:00", "08:30pm EST", True),
        ("00:15", "12:15 a.m.", True),
        ("12:05:00", "12:05 PM", True),
        ("2024-05-25T20:30:00Z", "8:30 PM", True),
        ("20:30:00", "8:30 AM", False),
        ("20:30:00", "8:45 PM", False),
    ],
)
def test_time_may_be_stated_in_twelve_hours(recorded: str, stated: str, *, is_supported: bool) -> None:
    flight = ToolCall("get_flight", {"id": "next"}, {"arrival": recorded})
    claims = places_of(desk(flight, Reply(f"It arrives at {stated}.")), PlaceKind.UNSUPPORTED_CLAIM)
    assert bool(claims) is not is_supported


@pytest.mark.parametrize(
    ("recorded", "stated", "is_supported"),
    [
        ("1234.50", "1'234.50", True),
        ("1234.50", "1.234,50 euros", True),
        ("1234.50", "1.243,50 euros", False),
        ("12.75 kg", "12.75kg", True),
        ("16GiB", "16 GiB", True),
        ("499", "USD499", True),
        ("250 ms", "350ms", False),
        ("a rate of 0.15", "15 %", True),
        ("a rate of 15%", "0.15", True),
        ("a rate of 0.15", "18 %", False),
        ("open until 22:00", "10 PM", True),
        ("open until 10pm", "22:00", True),
        ("open until 22:00", "11 PM", False),
        ("3/14/2026", "March 14", True),
        ("14.03.2026", "2026-03-14", True),
        ("3/14/2026", "2026-03-19", False),
        ("room A1042", "A-1042", True),
        ("room A-1042", "A1043", False),
        # Another id with the same digits is not the same value.
        ("credit_card_9502127", "W9502127", False),
    ],
)
def test_value_may_be_stated_in_another_notation(recorded: str, stated: str, *, is_supported: bool) -> None:
    note = ToolCall("read_note", {"id": "next"}, {"note": recorded})
    claims = places_of(desk(note, Reply(f"It says {stated}.")), PlaceKind.UNSUPPORTED_CLAIM)
    assert bool(claims) is not is_supported


def test_rounded_amount_is_supported() -> None:
    """Floats leave fractions that nobody states."""
    payment = ToolCall("pay_order", {"id": "W-4410"}, '{"amount": 14.060000000000002, "fee": 3.456}')
    assert not places_of(desk(payment, Reply("You paid 14.06 and 3.46.")), PlaceKind.UNSUPPORTED_CLAIM)
    assert places_of(desk(payment, Reply("You paid 14.07.")), PlaceKind.UNSUPPORTED_CLAIM)


def test_own_words_support_nothing() -> None:
    run = order_desk([("Hello", (Reply("You have 37 points."),)), ("Sure?", (Reply("Yes, 37 points."),))])
    [place] = places_of(run, PlaceKind.UNSUPPORTED_CLAIM)
    assert "states 37," in place.title


def test_write_with_unsupported_value() -> None:
    run = desk(
        ToolCall("get_order", {"id": "W-4410"}, ORDER),
        ToolCall("cancel_order", {"id": "W-4411", "reason": "The order W-4411 came late again"}, "ok"),
        Reply("Done."),
    )
    [claim] = places_of(run, PlaceKind.UNSUPPORTED_CLAIM)
    [write] = places_of(run, PlaceKind.WRITE_FROM_CLAIM)
    assert (write.path, write.related) == ("/id", (claim.step,))
    assert claim.path == "/message/tool_calls/0/arguments/id"


def test_reading_with_unsupported_value_is_no_write() -> None:
    run = desk(ToolCall("get_order", {"id": "W-4411"}, ORDER), Reply("Done."))
    assert not places_of(run, PlaceKind.WRITE_FROM_CLAIM)


@pytest.mark.parametrize(("tool", "writes"), [("cancel_order", True), ("get_order", False), ("sendMail", True)])
def test_tool_that_looks_like_write(tool: str, writes: bool) -> None:
    assert looks_like_write(tool) is writes


@given(st.text())
def test_tokens_of_any_text(text: str) -> None:
    for token, spelling in tokens(text):
        assert token
        assert spelling


# ---- contents


def test_missing_part_hides_only_itself() -> None:
    message: JSONObject = {"role": "user", "content": "Where is W-4410?"}
    parts = split({"messages": [message]})
    answer = split({"message": {"role": "assistant", "content": "It is W-4410, in box 77."}})
    stored_parts = {digest: orjson.loads(data) for digest, data in {**parts.parts, **answer.parts}.items()}
    row = {
        **dict.fromkeys(("tool_name", "error", "signature"), ""),
        **{"sequence_no": 1, "type": "model", "name": "m", "status": "ok"},
        **{"input_ref": parts.digest, "output_ref": answer.digest},
    }

    def read() -> list[StepContent]:
        refs = [parts.digest, answer.digest]
        return contents(
            [row], closure(refs, lambda digests: {ref: stored_parts[ref] for ref in digests if ref in stored_parts}), {}
        )

    whole = read()
    del stored_parts[parts.digest]
    part = read()
    assert whole[0].new_inputs
    assert not part[0].new_inputs
    assert (whole[0].is_unread, part[0].is_unread) == (False, True)
    assert part[0].output == whole[0].output


def test_inspection_takes_linear_time() -> None:
    # Ten times the steps would take a hundred times as many calls if each were compared with the others.
    assert _calls_of_inspection(3_000) < 12 * _calls_of_inspection(300)


def test_a_long_answer_takes_linear_time() -> None:
    # 0.4 s; searching the text for each of its values would take several.
    words = " ".join(f"w{no:06}" for no in range(60_000))
    answer: JSONObject = {"message": {"role": "assistant", "content": words}}
    began = process_time()
    [place] = inspect([StepContent(no=1, type=StepType.MODEL, name="m", output=answer)], is_write=looks_like_write)
    assert process_time() - began < 2
    assert place.title.startswith("m states w000001, w000002")


def _calls_of_inspection(count: int) -> float:
    """Return how many functions are called to inspect a run of so many steps."""
    steps: list[StepContent] = []
    for no in range(1, count + 1, 2):
        price = f"{no}.{no % 90 + 10}"
        answer: JSONObject = {"message": {"role": "assistant", "content": f"Order W-{no} costs {price} euros."}}
        question: JSONObject = {"role": "user", "content": f"What about the order W-{no} of {price} euros?"}
        steps.append(StepContent(no=no, type=StepType.MODEL, name="m", new_inputs=[question], output=answer))
        steps.append(call(no + 1, "get_order", f"s{no}", {"id": f"W-{no}", "total": no}))
    with call_clock() as clock:
        inspect(steps, is_write=looks_like_write)
        return clock()


def test_run_without_content_has_no_places() -> None:
    step = RecordedStep(key="a", type=StepType.MODEL, name="m")
    run = RecordedRun(external_id="r", name="r", app="a", format="f", steps=(step,))
    assert inspect(steps_of(run), is_write=looks_like_write) == []


def test_labels_of_failures_are_messages(tmp_path: Path) -> None:
    log = Path("tests/fixtures/importers/who_and_when.json")
    (tmp_path / log.name).write_bytes(log.read_bytes())
    [failure] = read(tmp_path)
    assert failure.label in failure.answers
    assert [place.kind for place in places(failure.run)] == [PlaceKind.FAILED_STEP]
