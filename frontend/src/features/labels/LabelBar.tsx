import { Tooltip } from "@mantine/core";
import type { ReactElement } from "react";
import { count } from "@/ui/format/numbers";
import { markWord, type Mark } from "@/domain/steps/labels";
import classes from "./LabelBar.module.css";

const order = ["exact", "cached", "simulated", "failed", "live"] as const;

/** Shares of labels as a bar, described by its tooltip and accessible name. */
export function LabelBar({
  counts,
  height = 6,
}: {
  counts: Partial<Record<Mark, number>>;
  height?: number;
}): ReactElement {
  const present = order.filter((mark) => (counts[mark] ?? 0) > 0);
  const words = present.map((mark) => `${count(counts[mark] ?? 0)} ${markWord[mark]}`).join(", ") || "no steps";
  return (
    <Tooltip label={words}>
      <div className={classes.bar} style={{ height }} role="img" aria-label={words}>
        {present.map((mark) => (
          <i key={mark} className={classes[mark]} style={{ flex: counts[mark] }} />
        ))}
      </div>
    </Tooltip>
  );
}
