import { Skeleton } from "@mantine/core";
import type { ReactElement } from "react";
import type { RunDetail } from "@/api/schema";
import { RunHeader } from "./header/RunHeader";
import classes from "./RunPage.module.css";

/** The layout of the page while its steps load. */
export function RunSkeleton({ run }: { run: RunDetail | undefined }): ReactElement {
  return (
    <div className={classes.page} role="status" aria-busy aria-label="Loading the run">
      {run ? <RunHeader run={run} /> : <Skeleton className={classes.unknown} width="min(21.25rem, 100%)" />}
      <div className={classes.loading}>
        <div className="panel">
          {Array.from({ length: 14 }, (_, index) => (
            <Skeleton key={index} height={12} width={`${80 - ((index * 23) % 45)}%`} ml={index === 0 ? 0 : 14} />
          ))}
        </div>
        <div className="panel">
          <Skeleton height={70} />
          <Skeleton height={120} />
        </div>
      </div>
    </div>
  );
}
