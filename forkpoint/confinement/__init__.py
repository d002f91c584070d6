"""What the processes of an agent may reach, and when they end."""
