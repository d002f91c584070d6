"""Steps of spans in the attribute dialects of the tracers. Pure."""
