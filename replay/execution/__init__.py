"""One session, executed by one worker."""
