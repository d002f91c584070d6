"""Why a backup cannot be made or restored."""


class BackupError(Exception):
    """The state of this machine or store prevents it; the message says what to do."""


class UnusableBackup(BackupError):
    """The file is no backup, is damaged, or does not fit this store."""
