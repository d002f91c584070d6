"""Statistics of verdicts: intervals of rates, and the agreement of judges. Pure."""
