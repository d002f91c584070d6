"""LangGraph: states, checkpoints and streams of graphs, whose nodes contain the steps. Pure."""
