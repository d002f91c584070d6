"""Comments on steps of runs and on places in reports, in threads of one level."""
