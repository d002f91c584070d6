"""The command line: `forkpoint`."""


def main() -> None:
    """Run the command that the arguments name, and leave with its exit code."""
    from cockpit.cli.main import run

    run()
