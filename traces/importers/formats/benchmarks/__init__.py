"""Results of benchmarks whose files have forms of their own: web and desktop agents, tool use, questions."""
