"""Runners: programs on users' machines that start agents again for replays."""
