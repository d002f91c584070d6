import { Button } from "@mantine/core";
import { IconFlask } from "@tabler/icons-react";
import type { ReactElement } from "react";
import type { CheapestExperiment, Findings } from "@/api/schema";
import { useReport } from "../reportContext";
import { toDecidingProof } from "./draft";
import { useProof } from "./useProof";
import { experimentCost } from "./wording";
import classes from "./FindingsView.module.css";

/** The cheapest experiment that would decide the question, its cost, and a button to run it. */
export function CheapestExperimentPanel({
  findings,
  cheapest,
}: {
  findings: Findings;
  cheapest: CheapestExperiment;
}): ReactElement {
  const { hasLinks, report } = useReport();
  const start = useProof(report.id, toDecidingProof(findings, cheapest));
  return (
    <span className={classes.cheapest}>
      {cheapest.text}
      {cheapest.replays > 0 && <span className="muted"> {experimentCost(cheapest)}</span>}
      {hasLinks && cheapest.replays > 0 && (
        <Button
          size="compact-xs"
          variant="default"
          leftSection={<IconFlask size={12} aria-hidden />}
          loading={start.isPending}
          onClick={() => start.mutate()}
        >
          Run it
        </Button>
      )}
    </span>
  );
}
