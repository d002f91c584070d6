"""Which steps are model calls: those that two tracers record, and those that only an agent's span records."""
