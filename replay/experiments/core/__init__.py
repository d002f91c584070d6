"""Matrix, aggregation and schemas of experiments. Pure."""
