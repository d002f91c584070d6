import { Loader, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useInfiniteQuery } from "@tanstack/react-query";
import { IconSearch } from "@tabler/icons-react";
import { useState, type ReactElement } from "react";
import { runsQuery } from "@/api/runs/runs";
import type { RunSummary } from "@/api/schema";
import { runTitle } from "@/domain/runs/title";
import { ForkName } from "@/features/runs/ForkName";
import { RunOutcome } from "@/features/runs/RunOutcome";
import { EmptyState } from "@/ui/EmptyState";
import { ErrorState } from "@/ui/ErrorState";
import { timeAgo, pluralize } from "@/ui/format/numbers";
import classes from "./RunPicker.module.css";

interface Props {
  label: string;
  /** The run on the other side, which cannot be chosen. */
  excludedRun: string | undefined;
  onChoose: (run: string) => void;
}

/** Search for a run by name, app or id. */
export function RunPicker({ label, excludedRun, onChoose }: Props): ReactElement {
  const [query, setQuery] = useState("");
  const [debouncedQuery] = useDebouncedValue(query.trim(), 150);
  const { data, error, refetch } = useInfiniteQuery(runsQuery(debouncedQuery ? { q: debouncedQuery } : {}));
  const runs = data?.pages[0]?.runs.filter((run) => run.id !== excludedRun);
  return (
    <>
      <TextInput
        aria-label={`Search runs for the ${label.toLowerCase()}`}
        placeholder="Search runs by name, app or id"
        leftSection={<IconSearch size={14} />}
        value={query}
        onChange={(event) => setQuery(event.currentTarget.value)}
      />
      {error && <ErrorState error={error} onRetry={() => void refetch()} />}
      {!runs && !error && <Loader size="sm" m="md" />}
      {runs?.length === 0 && (
        <EmptyState title="No matching runs">Try another search, or import a recording on the runs page.</EmptyState>
      )}
      <ul className={classes.list}>
        {runs?.map((run) => (
          <li key={run.id}>
            <Choice run={run} onChoose={onChoose} />
          </li>
        ))}
      </ul>
    </>
  );
}

function Choice({ run, onChoose }: { run: RunSummary; onChoose: (run: string) => void }): ReactElement {
  return (
    <button type="button" className={classes.run} onClick={() => onChoose(run.id)}>
      <span className={classes.title}>
        <RunOutcome run={run} withWord />
        {run.fork_sequence_no === null ? <b>{runTitle(run)}</b> : <ForkName fork={run} step={run.fork_sequence_no} />}
      </span>
      <span className="muted">
        {[
          run.fork_sequence_no !== null && `fork of ${run.name}`,
          run.app,
          pluralize(run.steps, "step"),
          timeAgo(run.started_at ?? run.created_at),
        ]
          .filter(Boolean)
          .join(" · ")}
        {run.errors > 0 && ` · ${pluralize(run.errors, "error")}`}
      </span>
    </button>
  );
}
