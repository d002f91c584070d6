"""Instrumentations of client libraries: one module each, loaded when its library is imported."""

import importlib
from types import ModuleType
from typing import Final

from forkpoint.capture.import_hook import hook

# The module and function here that patch a module of a library.
_PATCHES: Final = {
    "openai._base_client": "openai:patch",
    "anthropic._base_client": "anthropic:patch",
    "anthropic.lib.tools._beta_functions": "function_tools.anthropic:patch_tools",
    "claude_agent_sdk": "function_tools.claude_agent_sdk:patch_servers",
    "langchain_core.tools.base": "langchain:patch_tools",
    "langchain_core.retrievers": "langchain:patch_retrievers",
    "langchain_core.language_models.chat_models": "langchain:patch_models",
    "langgraph.pregel.main": "langchain:patch_graphs",
    "agents": "openai_agents:patch_tracing",
    "agents.tool": "openai_agents:declare_tools",
    "agents.handoffs": "openai_agents:declare_handoffs",
    "agents.run_internal.tool_execution": "openai_agents:patch_tools",
    "agents.run_internal.turn_resolution": "openai_agents:patch_handoffs",
    "google.genai._api_client": "google_genai:patch_client",
    "google.genai._extra_utils": "google_genai:patch_functions",
    "litellm": "litellm:patch",
    "mcp.client.session": "mcp:patch",
    "pydantic_ai.agent": "pydantic_ai:patch_agents",
    "pydantic_ai.tool_manager": "pydantic_ai:patch_tools",
    "smolagents.agents": "smolagents:patch_agents",
    "smolagents.tools": "smolagents:patch_tools",
    "autogen_core.tools._base": "autogen:patch_tools",
    "crewai.crew": "crewai:patch_crews",
    "crewai.agent.core": "crewai:patch_agents",
    "crewai.tools.base_tool": "crewai:patch_tools",
    "crewai.tools.structured_tool": "crewai:patch_structured_tools",
    "llama_index.core.tools.function_tool": "function_tools.llama_index:patch_tools",
    "google.adk.tools.function_tool": "function_tools.google_adk:patch_tools",
    "google.adk.tools.agent_tool": "function_tools.google_adk:patch_agent_tools",
    "strands.tools.decorator": "function_tools.strands:patch_tools",
    "strands.tools.tools": "function_tools.strands:patch_module_tools",
    "strands.tools.structured_output.structured_output_tool": "function_tools.strands:patch_outputs",
    "strands.agent._agent_as_tool": "function_tools.strands:patch_agent_tools",
    "agno.tools.function": "function_tools.agno:patch_tools",
    "haystack.tools.tool": "function_tools.haystack:patch_tools",
    "semantic_kernel.functions.kernel_function_from_method": "function_tools.semantic_kernel:patch_functions",
    "semantic_kernel.connectors.ai.function_calling_utils": "function_tools.semantic_kernel:declare_functions",
    "agent_framework._tools": "function_tools.agent_framework:patch_tools",
    "dspy.adapters.types.tool": "function_tools.dspy:patch_tools",
    "mirascope.llm.tools.tools": "function_tools.mirascope:patch_tools",
}


def install() -> None:
    """Record the calls of known libraries, imported already or later."""
    for name in _PATCHES:
        hook.register(name, _patch)


def _patch(library: ModuleType) -> None:
    module, _, function = _PATCHES[library.__name__].partition(":")
    getattr(importlib.import_module(f"forkpoint.instrumentations.{module}"), function)(library)
