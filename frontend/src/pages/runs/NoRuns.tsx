import { Button } from "@mantine/core";
import { IconSearch, IconUpload } from "@tabler/icons-react";
import { lazy, Suspense, type ReactElement } from "react";
import { loadPart } from "@/api/connection/loadPart";
import { EmptyState } from "@/ui/EmptyState";
import classes from "./RunsPage.module.css";

const ConnectGuide = lazy(() => loadPart(() => import("@/features/connect/ConnectGuide")));

export function NoRuns(props: { hasFilters: boolean; onClear: () => void; onPick: () => void }): ReactElement {
  if (props.hasFilters) {
    return (
      <EmptyState
        icon={<IconSearch size={28} stroke={1.5} />}
        title="No matching runs"
        action={
          <Button variant="default" onClick={props.onClear}>
            Clear the search and all filters
          </Button>
        }
      >
        Try fewer words or filters. The search finds whole words in names, ids, models, tags and payloads; the last word
        may be incomplete.
      </EmptyState>
    );
  }
  return (
    <div className={classes.connect}>
      <section className={`panel ${classes.guide}`} aria-labelledby="connect">
        <h2 id="connect">No runs yet: connect an agent</h2>
        <Suspense>
          <ConnectGuide />
        </Suspense>
      </section>
      <section className={`panel ${classes.guide}`} aria-labelledby="import">
        <h2 id="import">Or import files</h2>
        <p className="muted">
          Drop trace files anywhere on this page: OpenTelemetry, Langfuse, LangSmith, chat transcripts, Kurral, Prela or
          a Forkpoint bundle. The format is detected.
        </p>
        <div>
          <Button variant="default" leftSection={<IconUpload size={15} />} onClick={props.onPick}>
            Choose files
          </Button>
        </div>
      </section>
    </div>
  );
}
