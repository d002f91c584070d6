import { Tooltip } from "@mantine/core";
import { IconCheck, IconX } from "@tabler/icons-react";
import type { ReactElement } from "react";
import type { CheckResult } from "@/api/schema";

/** How many checks of a run passed; the tooltip names those that failed. */
export function CheckSummary({ checks }: { checks: readonly CheckResult[] | null }): ReactElement {
  if (!checks || checks.length === 0) return <>–</>;
  const failed = checks.filter(({ passed }) => !passed);
  const text = `${checks.length - failed.length}/${checks.length}`;
  if (failed.length === 0) {
    return (
      <span className="exact">
        <IconCheck size={13} aria-label="passed" /> {text}
      </span>
    );
  }
  return (
    <Tooltip multiline maw={360} label={failed.map(({ name, detail }) => `${name}: ${detail}`).join("; ")}>
      <span className="failed" tabIndex={0}>
        <IconX size={13} aria-label="failed" /> {text}
      </span>
    </Tooltip>
  );
}
