"""The recording gateway: agents in any language send their model calls through it to the provider."""
