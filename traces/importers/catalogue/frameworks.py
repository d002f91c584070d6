"""Formats of frameworks and of evaluations."""

from typing import Final

from traces.core.json_walk import first_item
from traces.importers import detection
from traces.importers.formats.benchmarks import (
    agent_data,
    agentless,
    appworld,
    browsergym,
    graded_answers,
    lm_eval,
    mast,
    mint,
    moatless,
    osworld,
    r2e_gym,
    toolbench,
    xlam,
)
from traces.importers.formats.evaluations import agentbench, bfcl, helm, openai_evals, promptfoo, tau
from traces.importers.formats.frameworks import langchain, langgraph
from traces.importers.formats.histories import (
    adk,
    adk_evals,
    agno,
    assistants,
    autogen_event_log,
    browser_use,
    letta,
    llamaindex_events,
    pydantic_ai,
    semantic_kernel,
    strands,
    voice_calls,
)
from traces.importers.formats.inspect import logs
from traces.importers.formats.workflows import dify, flowise, n8n
from traces.importers.importer import Importer, lines_are_runs
from traces.importers.otlp.span_trees import trail

FRAMEWORKS: Final = (
    Importer(
        name=logs.FORMAT,
        title="Inspect logs",
        sniff=lambda sample: detection.SURE if logs.is_inspect_file(sample) else 0.0,
        parse=logs.parse,
        by_line=lines_are_runs,
    ),
    Importer(
        name=langgraph.FORMAT,
        title="LangGraph state and checkpoints",
        sniff=langgraph.sniff,
        parse_together=langgraph.parse,
    ),
    Importer(
        name=langchain.FORMAT,
        title="LangChain messages",
        sniff=detection.sniff_by_value(langchain.is_conversation, detection.LIKELY + 0.1),
        parse=langchain.parse,
    ),
    Importer(
        name=pydantic_ai.FORMAT,
        title="Pydantic AI messages",
        sniff=detection.sniff_by_value(pydantic_ai.is_history),
        parse=pydantic_ai.parse,
    ),
    Importer(
        name=adk.FORMAT,
        title="Agent Development Kit sessions",
        sniff=detection.sniff_by_value(adk_evals.is_file),
        parse=adk_evals.parse,
    ),
    Importer(
        name=xlam.FORMAT,
        title="xLAM's function calls",
        sniff=detection.sniff_by_value(xlam.is_data),
        parse=xlam.parse,
        by_line=lines_are_runs,
    ),
    Importer(
        name=r2e_gym.FORMAT,
        title="R2E-Gym trajectories",
        sniff=detection.sniff_by_value(r2e_gym.is_trajectory),
        parse=r2e_gym.parse,
        by_line=lines_are_runs,
    ),
    Importer(
        name=agent_data.FORMAT,
        title="trajectories of the Agent Data Protocol",
        sniff=detection.sniff_by_value(agent_data.is_trajectory),
        parse=agent_data.parse,
        by_line=lines_are_runs,
    ),
    Importer(
        name=voice_calls.FORMAT,
        title="calls of voice agents",
        sniff=detection.sniff_by_value(voice_calls.is_call),
        parse=voice_calls.parse,
        by_line=lines_are_runs,
    ),
    Importer(
        name=browser_use.FORMAT,
        title="browser-use histories",
        sniff=detection.sniff_by_value(browser_use.is_history),
        parse=browser_use.parse,
        by_line=lines_are_runs,
    ),
    Importer(
        name=assistants.FORMAT,
        title="OpenAI Assistants threads",
        sniff=detection.sniff_by_value(assistants.is_thread),
        parse_together=assistants.parse,
    ),
    Importer(
        name=letta.FORMAT,
        title="Letta agents and messages",
        sniff=detection.sniff_by_value(letta.is_file),
        parse=letta.parse,
    ),
    Importer(
        name=strands.FORMAT,
        title="Strands sessions",
        sniff=detection.sniff_by_value(strands.is_session),
        parse_together=strands.parse,
    ),
    Importer(
        name=semantic_kernel.FORMAT,
        title="Semantic Kernel histories",
        sniff=detection.sniff_by_value(semantic_kernel.is_history, detection.LIKELY + 0.1),
        parse=semantic_kernel.parse,
    ),
    Importer(
        name=promptfoo.FORMAT,
        title="promptfoo results",
        sniff=detection.sniff_by_value(promptfoo.is_output),
        parse=promptfoo.parse,
    ),
    Importer(
        name=tau.FORMAT,
        title="tau-bench and tau2-bench results",
        sniff=detection.sniff_by_value(tau.is_result),
        parse=tau.parse,
        by_line=lines_are_runs,
    ),
    Importer(
        name=agentbench.FORMAT,
        title="AgentBench results",
        sniff=detection.sniff_by_value(agentbench.is_sample),
        parse=agentbench.parse,
        by_line=lines_are_runs,
    ),
    Importer(
        name=openai_evals.FORMAT,
        title="OpenAI Evals logs",
        sniff=detection.sniff_by_value(openai_evals.is_line),
        parse=openai_evals.parse,
    ),
    Importer(
        name=helm.FORMAT,
        title="HELM scenarios",
        sniff=detection.sniff_by_value(helm.is_file),
        parse_together=helm.parse,
    ),
    Importer(
        name=bfcl.FORMAT,
        title="BFCL results",
        sniff=detection.sniff_by_value(bfcl.is_result),
        parse_together=bfcl.parse,
    ),
    Importer(
        name=browsergym.FORMAT,
        title="BrowserGym trajectories",
        sniff=detection.sniff_by_value(browsergym.is_trajectory),
        parse=browsergym.parse,
        by_line=lines_are_runs,
    ),
    Importer(
        name=osworld.FORMAT,
        title="OSWorld trajectories",
        sniff=detection.sniff_by_value(osworld.is_step),
        parse=osworld.parse,
    ),
    Importer(
        name=lm_eval.FORMAT,
        title="samples of LM Evaluation Harness",
        sniff=detection.sniff_by_value(lambda value: lm_eval.is_sample(first_item(value))),
        parse=lm_eval.parse,
        by_line=lines_are_runs,
    ),
    Importer(
        name=mast.FORMAT,
        title="MAST traces",
        sniff=detection.sniff_by_value(mast.is_trace),
        parse=mast.parse,
        by_line=lines_are_runs,
    ),
    Importer(
        name=mint.FORMAT,
        title="MINT results",
        sniff=detection.sniff_by_value(mint.is_result),
        parse=mint.parse,
        by_line=lines_are_runs,
    ),
    Importer(
        name=toolbench.FORMAT,
        title="ToolBench answers",
        sniff=detection.sniff_by_value(toolbench.is_answer),
        parse=toolbench.parse,
        by_line=lines_are_runs,
    ),
    Importer(
        name=appworld.FORMAT,
        title="AppWorld's logs of model calls",
        sniff=detection.sniff_by_value(appworld.is_call),
        parse=appworld.parse,
    ),
    Importer(
        name=moatless.FORMAT,
        title="Moatless trajectories",
        sniff=detection.sniff_by_value(moatless.is_trajectory),
        parse=moatless.parse,
        by_line=lines_are_runs,
    ),
    Importer(
        name=agentless.FORMAT,
        title="Agentless results",
        sniff=detection.sniff_by_value(lambda value: agentless.is_result(first_item(value))),
        parse=agentless.parse,
        by_line=lines_are_runs,
    ),
    Importer(
        name=trail.FORMAT,
        title="TRAIL traces",
        sniff=detection.sniff_by_value(trail.is_trace),
        parse_together=trail.parse,
    ),
    Importer(
        name=graded_answers.FORMAT,
        title="test runs of DeepEval and rows of Ragas",
        sniff=detection.sniff_by_value(graded_answers.is_evaluation),
        parse=graded_answers.parse,
    ),
    Importer(
        name=dify.FORMAT,
        title="Dify workflow runs and messages",
        sniff=detection.sniff_by_value(dify.is_export),
        parse_together=dify.parse,
    ),
    Importer(
        name=n8n.FORMAT,
        title="n8n executions",
        sniff=detection.sniff_by_value(n8n.is_execution),
        parse=n8n.parse,
        by_line=lines_are_runs,
    ),
    Importer(
        name=flowise.FORMAT,
        title="Flowise agentflows",
        sniff=detection.sniff_by_value(flowise.is_flow),
        parse=flowise.parse,
        by_line=lines_are_runs,
    ),
    Importer(
        name=agno.FORMAT,
        title="Agno sessions",
        sniff=detection.sniff_by_value(agno.is_session),
        parse=agno.parse,
        by_line=lines_are_runs,
    ),
    Importer(
        name=llamaindex_events.FORMAT,
        title="events of LlamaIndex agents",
        sniff=detection.sniff_by_value(llamaindex_events.is_event),
        parse=llamaindex_events.parse,
    ),
    Importer(
        name=autogen_event_log.FORMAT,
        title="AutoGen's event log",
        sniff=detection.sniff_by_value(autogen_event_log.is_event),
        parse=autogen_event_log.parse,
    ),
)
