"""The runner of the order desk: a program beside the server, which starts the agent for forks of its runs."""
