import { Button, Loader } from "@mantine/core";
import { IconCircleCheck } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState, type ReactElement } from "react";
import { useLive } from "@/api/live";
import { newestLiveRunQuery } from "@/api/runs/runs";
import { paths } from "@/app/paths";
import { pluralize } from "@/ui/format/numbers";
import classes from "./Connect.module.css";

/** Waits for the first run that agents send while this is open. */
export function Arrival(): ReactElement {
  const client = useQueryClient();
  const [openedAt] = useState(() => Date.now());
  const newest = useQuery(newestLiveRunQuery).data;
  useLive({ runs: 1 }, () => void client.invalidateQueries({ queryKey: newestLiveRunQuery.queryKey }));
  const run = newest && Date.parse(newest.created_at) > openedAt ? newest : null;
  return (
    <div className={classes.arrival} role="status">
      {run ? (
        <>
          <IconCircleCheck size={20} className="exact" aria-hidden />
          <span className={classes.text}>
            <strong>{run.name}</strong> of {run.app} has arrived: {pluralize(run.steps, "step")} so far.
          </span>
          <Button renderRoot={(props) => <Link {...paths.run(run.id)} {...props} />}>Open the run</Button>
        </>
      ) : (
        <>
          <Loader size={16} aria-hidden />
          <span className={classes.text}>
            Waiting for the first step… <span className="muted">This page updates by itself.</span>
          </span>
        </>
      )}
    </div>
  );
}
