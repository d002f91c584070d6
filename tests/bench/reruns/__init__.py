"""Recording an agent and running it again, beside timefork and tracefork."""
