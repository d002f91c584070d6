"""The websocket for live updates."""
