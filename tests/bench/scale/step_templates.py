"""Steps to copy into runs: their columns and payloads, made once and shared by all runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from tests.bench.scale.vocabulary import MODELS, TOOLS, Language
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import Label, StepStatus, StepType
from traces.ingest.step_rows import StepRow, values_of
from traces.payloads.compressed_parts import CompressedParts
from traces.payloads.splitter import Splitter
from traces.payloads.step_summaries import summarize

# One in so many calls of a tool fails.
_FAILURES: Final = 40
_NUMBER: Final = 4_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Template:
    """A step without its run: its columns, and what it adds to the run's totals."""

    columns: Sequence[Any]
    type: StepType
    tokens_in: int
    tokens_out: int
    cost: Decimal
    is_error: bool


class Templates:
    """Templates of model and tool calls; `parts` are the artifacts that they refer to."""

    def __init__(self, language: Language) -> None:
        self._language = language
        self._splitter = Splitter()
        self._tools: JSONValue = [
            {"name": name, "description": language.text(8, 16), "parameters": {"type": "object"}} for name in TOOLS
        ]
        self.models = [self._model() for _ in range(_NUMBER)]
        self.tools = [self._tool(number) for number in range(_NUMBER)]

    @property
    def parts(self) -> CompressedParts:
        return self._splitter.parts

    def agent(self, task: str) -> Template:
        """Return the root step of a run: its task is the run's own."""
        return self._template(StepType.AGENT, "agent", {"task": task}, {"answer": self._language.text(5, 20)})

    def _model(self) -> Template:
        language = self._language
        provider, model = MODELS[language.random.choices(range(len(MODELS)), (8, 4, 3, 2, 1))[0]]
        system: JSONObject = {"role": "system", "content": language.text(10, 20)}
        request: JSONObject = {
            "messages": [system, {"role": "user", "content": language.text(20, 80)}],
            "tools": self._tools,
        }
        answer: JSONObject = {"message": {"role": "assistant", "content": language.text(20, 80)}}
        tokens = language.random.randint(200, 4_000), language.random.randint(20, 600)
        return self._template(StepType.MODEL, "chat", request, answer, provider=provider, model=model, tokens=tokens)

    def _tool(self, number: int) -> Template:
        language = self._language
        name = language.pick(TOOLS)
        arguments: JSONObject = {"reference": f"A-{language.random.randint(1_000, 9_999)}", "note": language.text(2, 8)}
        is_error = number % _FAILURES == 0
        result: JSONValue = None if is_error else {"result": language.text(10, 60)}
        return self._template(StepType.TOOL, name, arguments, result, tool_name=name, is_error=is_error)

    def _template(
        self,
        type: StepType,
        name: str,
        input: JSONValue,
        output: JSONValue,
        *,
        provider: str = "",
        model: str = "",
        tool_name: str = "",
        tokens: tuple[int, int] | None = None,
        is_error: bool = False,
    ) -> Template:
        cost = Decimal(tokens[0] + 4 * tokens[1]) / 4_000_000 if tokens else None
        row = StepRow(
            sequence_no=0,
            type=type,
            name=name,
            status=StepStatus.ERROR if is_error else StepStatus.OK,
            label=Label.LIVE,
            duration_ms=float(self._language.random.randint(20, 4_000)),
            input_ref=self._splitter.split(input),
            output_ref="" if output is None else self._splitter.split(output),
            error=f"timeout: {self._language.text(3, 8)}" if is_error else "",
            summary=summarize(type=type, name=name, tool_name=tool_name, input=input, output=output),
            provider=provider,
            model=model,
            tool_name=tool_name,
            tokens_in=tokens[0] if tokens else None,
            tokens_out=tokens[1] if tokens else None,
            cost_usd=cost.quantize(Decimal("0.00000001")) if cost else None,
            unexplained=[],
        )
        tokens_in, tokens_out = tokens or (0, 0)
        return Template(
            columns=values_of(row),
            type=type,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            cost=cost or Decimal(0),
            is_error=is_error,
        )
