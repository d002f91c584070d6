"""Parts of every process: home folder, logs, and recovery of abandoned work."""
