"""Transcripts: a run as a conversation, each message once, with the beginnings of its texts."""
