import { Loader, Tooltip } from "@mantine/core";
import { IconAlertCircle, IconCircleCheck, IconCircleDashed, IconCircleDot, IconCircleX } from "@tabler/icons-react";
import type { ReactElement } from "react";
import type { Outcome } from "@/api/schema";
import {
  OUTCOMES,
  outcomeLook,
  outcomeTitle,
  outcomeWord,
  type OutcomeSource,
  type OutcomeLook,
} from "@/domain/runs/outcome";

/** The outcome of a run as an icon, a colour and a label. */
export function RunOutcome({ run, withWord = false }: { run: OutcomeSource; withWord?: boolean }): ReactElement {
  const title = outcomeTitle(run);
  return (
    <Tooltip label={title} multiline maw={360}>
      <span role="img" aria-label={title} style={{ display: "inline-flex", alignItems: "center", gap: 6 }}>
        {icon(outcomeLook(run))}
        {withWord && <OutcomeWord run={run} />}
      </span>
    </Tooltip>
  );
}

/** An outcome as an icon and a word, where its run is not at hand. */
export function OutcomeMark({ outcome }: { outcome: Outcome }): ReactElement {
  const look = outcome === "unknown" ? "ended" : outcome;
  return (
    <b style={{ display: "inline-flex", alignItems: "center", gap: 5, fontWeight: 600 }}>
      {icon(look)}
      <span className={colour(look)}>{OUTCOMES[outcome]}</span>
    </b>
  );
}

/** The outcome in its colour. Unjudged runs are grey. */
export function OutcomeWord({ run }: { run: OutcomeSource }): ReactElement {
  return <span className={colour(outcomeLook(run))}>{outcomeWord(run)}</span>;
}

function colour(look: OutcomeLook): string {
  if (look === "failed") return "failed";
  return look === "passed" ? "exact" : "muted";
}

function icon(look: OutcomeLook): ReactElement {
  switch (look) {
    case "running":
      return <Loader size={13} />;
    case "failed":
      return <IconCircleX size={16} className="failed" />;
    case "passed":
      return <IconCircleCheck size={16} className="exact" />;
    case "unverified":
      return <IconCircleDashed size={16} className="muted" />;
    case "errors":
      return <IconAlertCircle size={16} className="simulated" />;
    case "ended":
      return <IconCircleDot size={16} className="muted" />;
    default:
      return look satisfies never;
  }
}
