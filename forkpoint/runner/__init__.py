"""`forkpoint runner`: starts an agent on this machine whenever a replay asks for it."""
