"""Chats, and the APIs of model providers. Pure."""
