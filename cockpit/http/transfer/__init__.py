"""How requests and responses travel: slow clients, chunked bodies, compression."""
