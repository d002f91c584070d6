"""The websocket that runners dial."""
