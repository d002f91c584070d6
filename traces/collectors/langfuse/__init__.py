"""Ingestion endpoints of Langfuse clients."""
