"""Everything that was done with runs: one list of replays, diffs, proofs, experiments, bisections and calibrations."""
