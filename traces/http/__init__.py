"""Shared REST helpers of all apps: bodies, paging, idempotency keys, throttling."""
