"""Speed of importing OTLP: CPU time per span and stage, memory and stored bytes."""
