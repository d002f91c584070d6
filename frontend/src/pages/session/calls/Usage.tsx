import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { usageQuery } from "@/api/tools/hooks";
import type { SessionView } from "@/api/schema";
import { UsageTable } from "@/features/runs/UsageTable";
import classes from "./Attempts.module.css";

/** Usage of the new run by turn. */
export function Usage({ session }: { session: SessionView }): ReactElement | null {
  const { data } = useQuery({
    ...usageQuery(session.run ?? "", session.resolved_steps),
    enabled: session.run !== null,
  });
  if (!data || data.total.calls === 0) return null;
  return (
    <section className="panel" aria-labelledby="usage">
      <header className={classes.head}>
        <h2 id="usage">Tokens and cost</h2>
      </header>
      <UsageTable usage={data} />
    </section>
  );
}
