"""Ingest of OTLP beside other trace stores: the same requests to each, on this machine, in one run."""
