import { Loader } from "@mantine/core";
import type { ReactElement } from "react";
import { EmptyState } from "@/ui/EmptyState";

/** Placeholder for a report that is still being computed. It is replaced when the report arrives. */
export function ComparisonPending(): ReactElement {
  return (
    <div role="status">
      <EmptyState isPage icon={<Loader size="sm" aria-hidden />} title="Comparing the two runs">
        Aligning the steps, comparing their inputs and outputs, and looking for the cause. The report appears here when
        it is ready.
      </EmptyState>
    </div>
  );
}
