"""Outputs of calls as they were: what their JSON loses is recorded as a form, by which a rerun restores them."""
