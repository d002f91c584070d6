"""What every process needs: its home folder, its logs, and recovery of abandoned work."""
