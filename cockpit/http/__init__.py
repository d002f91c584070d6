"""The HTTP interface: authentication, errors, middleware, JSON, OpenAPI."""
