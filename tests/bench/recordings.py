"""Large recordings: an order desk that works off one customer after another."""

from tests.recordings import SYSTEM, answers, asks, model_step, says, tool_step, user
from traces.json_types import JSONObject, JSONValue
from traces.recording import RecordedRun, RecordedStep
from traces.vocabulary import StepType

STEPS_PER_CUSTOMER = 3


def desk(customers: int, external_id: str, *, changed_every: int = 0) -> RecordedRun:
    """Three steps for each customer; every `changed_every`th customer gets another answer from the tool."""
    steps: list[RecordedStep] = []
    for number in range(customers):
        changed = changed_every and number % changed_every == 0
        steps += _served(number, "delayed" if changed else "shipped")
    return RecordedRun(
        external_id=external_id, name="A day at the desk", app="bench", format="bench", steps=tuple(steps)
    )


def _served(number: int, status: str) -> tuple[RecordedStep, ...]:
    order, call_id = f"A-{number:06}", f"call-{number}"
    asked: list[JSONValue] = [SYSTEM, user(f"Where is my order {order}? I am waiting since week {number % 53}.")]
    call = asks(call_id, order)
    result: JSONObject = {"order_id": order, "status": status, "carrier": f"Carrier {number % 17}"}
    told: list[JSONValue] = [*asked, call, answers(call_id, f'{{"order_id":"{order}","status":"{status}"}}')]
    return (
        model_step(f"ask-{number}", asked, call),
        tool_step(f"look-{number}", call_id, order, result),
        model_step(f"tell-{number}", told, says(f"Your order {order} is {status}.")),
    )


_WORDS = ("parcel", "refund", "carrier", "policy", "customer", "invoice", "address", "delivery", "warranty", "return")


def search_text(number: int) -> str:
    """A search without digits, for numbers must be equal: every number gives another one."""
    places = [number // 10**place % 10 for place in range(5)]
    return "find what is said of the " + " and the ".join(_WORDS[place] for place in places)


def searches(count: int, external_id: str) -> RecordedRun:
    """One tool, called over and over with one free text."""
    steps = tuple(
        RecordedStep(
            key=f"search-{number}", type=StepType.TOOL, name="search", tool_name="search",
            input={"query": search_text(number)}, output={"found": number},
        )
        for number in range(count)
    )  # fmt: skip
    return RecordedRun(external_id=external_id, name="Many searches", app="bench", format="bench", steps=steps)


def questions(count: int, external_id: str) -> RecordedRun:
    """So many questions to a model that have nothing to do with each other."""
    steps = [
        model_step(f"q-{number}", [SYSTEM, user(f"Where is my order {number}?")], says(f"Order {number} is shipped."))
        for number in range(count)
    ]
    return RecordedRun(external_id=external_id, name="Questions", app="bench", format="bench", steps=tuple(steps))
