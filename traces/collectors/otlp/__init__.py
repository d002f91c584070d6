"""OpenTelemetry's protocol, over HTTP and over gRPC: traces and logs are recorded, metrics accepted and not stored."""
