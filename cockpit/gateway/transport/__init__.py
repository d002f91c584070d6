"""How requests reach the gateway and go on: the ASGI side towards agents, and the client towards providers."""
