"""What share links show: runs, trees, replays and reports of all apps, and nothing else."""
