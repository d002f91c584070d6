"""LangChain and LangGraph: graphs as agents, tools, searches, and models whose client is not instrumented.

The request of a model is recorded by the client below it, exactly as it is sent. Contexts of LangChain's own threads
and tasks are copies, so what a tool or a graph calls finds its place.
"""

import copy
import importlib
import re
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

from forkpoint.answers import Answer
from forkpoint.arguments import Arguments, WrongArguments, require_properties
from forkpoint.capture.model_calls import outer_call, start_model_call
from forkpoint.capture.patching import declare_after, wrap
from forkpoint.capture.steps import is_inside, iterate, iterate_async, make_step, put_argument, record_calls
from forkpoint.outputs.effects import ObjectState
from forkpoint.recorder import recorder

# The names of a search's settings among the options of a vector store's retriever.
_OPTIONS: Final = {"top_k": "k", "filters": "filter"}
_ARTIFACT: Final = "artifact"
# Of messages that no provider has named.
_DRAWN_ID: Final = re.compile(r"(lc_run-|run-)?-?[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}")
# Of updates in a streamed state of a graph within a graph.
_DEEPEST_STATE: Final = 8


def patch_tools(module: ModuleType) -> None:
    for name in ("run", "arun"):
        wrap(
            module.BaseTool,
            name,
            lambda call: record_calls(call, _describe_tool, _read_tool, _answer_tool, _rearrange_tool),
        )
    declare_after(module.BaseTool, "__init__", lambda _, tool, **__: [tool.name])


def _describe_tool(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tool = args[0]
    arguments = args[1] if len(args) > 1 else kwargs.get("tool_input")
    if is_inside("tool", tool.name):
        # `arun` of a tool without a coroutine calls `run`.
        return None
    if isinstance(arguments, dict):
        # The others, such as `runtime` and `state`, are injected and unknown to the model.
        parameters = _parameters(tool)
        arguments = {name: value for name, value in arguments.items() if name in parameters}
    step = recorder.tool(tool.name, arguments, call_id=kwargs.get("tool_call_id") or "")
    if _has_artifact(tool):
        # The artifact is for the agent's own code: an effect of the call, and not a part of its output.
        step.state = ObjectState({})
    return step


def _has_artifact(tool: Any) -> bool:
    return bool(tool.response_format == "content_and_artifact")


def _artifacts() -> dict[str, Any]:
    """Return where the artifact of the tool call that is open is kept; nothing else is there."""
    owner: dict[str, Any] = getattr(getattr(recorder.current.get(), "state", None), "owner", {})
    return owner


def _parameters(tool: Any) -> Any:
    """Return the parameters that the model sees, by name."""
    schema = tool.tool_call_schema
    return schema.get("properties", {}) if isinstance(schema, dict) else schema.model_fields


def _read_tool(result: Any) -> Any:
    """Return the content of a tool message, or what a tool returned outside a conversation."""
    _artifacts()[_ARTIFACT] = getattr(result, "artifact", None)
    return result.content if hasattr(result, "tool_call_id") else result


def _answer_tool(run: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], answer: Answer) -> Any:
    """Run a copy of the tool that returns the recorded output: LangChain makes the message and handles an error."""
    tool = copy.copy(args[0])
    artifacts = _artifacts()
    if _has_artifact(tool) and _ARTIFACT not in artifacts and not answer.error:
        # It was no data, or nothing recorded what the tool returned.
        answer.report_loss()

    def result(*_: Any, **__: Any) -> Any:
        output = _result(answer)
        return (output, artifacts.get(_ARTIFACT)) if _has_artifact(tool) else output

    async def async_result(*_: Any, **__: Any) -> Any:
        return result()

    # Pydantic accepts no functions as fields.
    object.__setattr__(tool, "_run", result)
    object.__setattr__(tool, "_arun", async_result)
    return run(tool, *args[1:], **kwargs)


def _result(answer: Answer) -> Any:
    """Return what a tool returned. One that interrupted its graph does so again, by the library's own function."""
    try:
        return answer.result()
    except Exception as error:
        if "GraphInterrupt" in {kind.__name__ for kind in type(error).__mro__} and error.args and error.args[0]:
            _interrupt(error.args[0][0])
        raise


def _interrupt(interrupt: Any) -> None:
    """Interrupt the graph. Earlier interrupts of the call have an answer by now, which is what the function returns."""
    schema = getattr(interrupt, "response_schema", None)
    options = {} if schema is None else {"response_schema": schema}
    while True:
        importlib.import_module("langgraph.types").interrupt(interrupt.value, **options)


def _rearrange_tool(args: tuple[Any, ...], kwargs: dict[str, Any], old: Any, new: Any) -> Arguments:
    """Replace what the model sent; what is injected stays."""
    arguments = args[1] if len(args) > 1 else kwargs.get("tool_input")
    if isinstance(arguments, dict):
        require_properties(new, {"properties": _parameters(args[0])})
        new = {**{name: value for name, value in arguments.items() if name not in old}, **new}
    return put_argument(args, kwargs, 1, "tool_input", new)


def patch_retrievers(module: ModuleType) -> None:
    for name in ("invoke", "ainvoke"):
        wrap(module.BaseRetriever, name, _record_search)


def _record_search(call: Callable[..., Any]) -> Any:
    return record_calls(call, _describe_search, _read_documents, _answer_search, _rearrange_search)


def _describe_search(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    retriever = args[0]
    query = args[1] if len(args) > 1 else kwargs.get("input")
    name = type(retriever).__name__
    options = getattr(retriever, "search_kwargs", None) or {}
    if is_inside("retrieval", name):
        return None
    return recorder.retrieval(name, query=query, top_k=options.get("k"), filters=options.get("filter"))


def _read_documents(documents: Any) -> Any:
    return [
        {"id": document.id or "", "content": document.page_content, "metadata": document.metadata}
        for document in documents
    ]


def _answer_search(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], answer: Answer) -> Any:
    document = importlib.import_module("langchain_core.documents").Document
    return [
        document(id=item.get("id") or None, page_content=item.get("content") or "", metadata=item.get("metadata") or {})
        for item in answer.result()
    ]


def _rearrange_search(args: tuple[Any, ...], kwargs: dict[str, Any], old: Any, new: Any) -> Arguments:
    """Replace the query; another number or filter needs a copy of the retriever."""
    retriever, *rest = args
    options = {
        _OPTIONS.get(name, name): value for name, value in new.items() if name != "query" and value != old.get(name)
    }
    if options:
        if not hasattr(retriever, "search_kwargs") or options.keys() - {*_OPTIONS.values()}:
            raise WrongArguments("only its query can change")
        retriever = retriever.model_copy(update={"search_kwargs": {**retriever.search_kwargs, **options}})
    return put_argument((retriever, *rest), kwargs, 1, "input", new.get("query"))


def patch_graphs(module: ModuleType) -> None:
    for name in ("invoke", "ainvoke"):
        wrap(module.Pregel, name, lambda call: record_calls(call, _describe_graph, _read_state))
    wrap(module.Pregel, "stream", _record_graph_stream)
    wrap(module.Pregel, "astream", _record_graph_astream)


def _describe_graph(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    step = recorder.agent(args[0].get_name(), input=args[1] if len(args) > 1 else kwargs.get("input"))
    step.subject = args[0]
    return step


def _read_state(value: Any, depth: int = 0) -> Any:
    """Return a state without the ids that LangChain draws for its messages: each execution has others."""
    if type(value) in {list, tuple} and depth < _DEEPEST_STATE:
        return type(value)(_read_state(item, depth + 1) for item in value)
    if type(value) is dict and depth < _DEEPEST_STATE:
        return {name: _read_state(item, depth + 1) for name, item in value.items()}
    is_message = isinstance(value, sys.modules["langchain_core.messages.base"].BaseMessage)
    return value.model_copy(update={"id": None}) if is_message and _DRAWN_ID.match(value.id or "") else value


def _describe_stream(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the step of a streamed graph; None if `invoke` reads the stream, which records the graph already."""
    is_recorded = getattr(recorder.enclosing_scope(), "subject", None) is args[0]
    return None if is_recorded else _describe_graph(args, kwargs)


def _record_graph_stream(stream: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        items = stream(self, *args, **kwargs)
        step = make_step(_describe_stream, (self, *args), kwargs)
        return items if step is None else iterate(step, items, _read_state)

    return wrapper


def _record_graph_astream(stream: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        items = stream(self, *args, **kwargs)
        step = make_step(_describe_stream, (self, *args), kwargs)
        return items if step is None else iterate_async(step, items, _read_state)

    return wrapper


def patch_models(module: ModuleType) -> None:
    wrap(module.BaseChatModel, "_generate_with_cache", _record_model)
    wrap(module.BaseChatModel, "_agenerate_with_cache", _record_async_model)


def _record_model(generate: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(self: Any, messages: Any, *args: Any, **kwargs: Any) -> Any:
        with outer_call() as call:
            try:
                result = generate(self, messages, *args, **kwargs)
            except BaseException as error:
                _record_unseen(call.is_recorded, self, messages, kwargs, error=error)
                raise
        _record_unseen(call.is_recorded, self, messages, kwargs, result=result)
        return result

    return wrapper


def _record_async_model(generate: Callable[..., Any]) -> Callable[..., Any]:
    async def wrapper(self: Any, messages: Any, *args: Any, **kwargs: Any) -> Any:
        with outer_call() as call:
            try:
                result = await generate(self, messages, *args, **kwargs)
            except BaseException as error:
                _record_unseen(call.is_recorded, self, messages, kwargs, error=error)
                raise
        _record_unseen(call.is_recorded, self, messages, kwargs, result=result)
        return result

    return wrapper


def _record_unseen(
    is_recorded: bool, model: Any, messages: Any, options: dict[str, Any], *, result: Any = None, error: Any = None
) -> None:
    """Record a call that no instrumented client made, as far as LangChain knows it."""
    if is_recorded:
        return
    with recorder.suppress_errors():
        facts = model._get_ls_params(**options)
        parameters = {key: value for key, value in options.items() if key not in {"run_manager", "stop"}}
        request = {"model": facts.get("ls_model_name"), "messages": messages, **parameters}
        provider, name = facts.get("ls_provider", ""), facts.get("ls_model_name", "")
        call = start_model_call(provider=provider, model=name, api="langchain.chat", request=request)
        if call is not None and error is not None:
            call.fail(error)
        elif call is not None:
            call.finish(result.generations[0].message)
