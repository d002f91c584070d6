import { Loader, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconSearch } from "@tabler/icons-react";
import { useEffect, useId, useState, type KeyboardEvent, type ReactElement } from "react";
import { EmptyState } from "@/ui/EmptyState";
import { ErrorState } from "@/ui/ErrorState";
import { RunOption } from "./RunOption";
import { useRunGroups } from "./useRunGroups";
import classes from "./RunPicker.module.css";

interface Props {
  label: string;
  /** The run on the other side, which cannot be chosen. The runs most like it come first. */
  otherRun: string | undefined;
  onChoose: (run: string) => void;
}

/** Search for a run by name, app or id; choose with the arrow keys and Enter, or with the pointer. */
export function RunPicker({ label, otherRun, onChoose }: Props): ReactElement {
  const [query, setQuery] = useState("");
  const [debouncedQuery] = useDebouncedValue(query.trim(), 150);
  const { groups, error, refetch } = useRunGroups(debouncedQuery, otherRun);
  const [activeId, setActiveId] = useState<string | null>(null);
  const listId = useId();
  const optionId = (run: string) => `${listId}-${run}`;
  const ids = groups?.flatMap(({ runs }) => runs.map(({ id }) => id)) ?? [];
  const active = activeId !== null && ids.includes(activeId) ? activeId : null;
  const activeOption = active === null ? undefined : optionId(active);
  useEffect(() => {
    if (activeOption) document.getElementById(activeOption)?.scrollIntoView({ block: "nearest" });
  }, [activeOption]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" && active !== null) onChoose(active);
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") setActiveId(neighbour(ids, active, event.key));
    else return;
    event.preventDefault();
  };
  return (
    <>
      <TextInput
        role="combobox"
        aria-label={`Search runs for the ${label.toLowerCase()}`}
        aria-autocomplete="list"
        aria-expanded={ids.length > 0}
        aria-controls={listId}
        aria-activedescendant={activeOption}
        autoComplete="off"
        placeholder="Search runs by name, app or id"
        leftSection={<IconSearch size={14} />}
        value={query}
        onChange={(event) => setQuery(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      {error && <ErrorState error={error} onRetry={refetch} />}
      {!groups && !error && (
        <div className={classes.loading}>
          <Loader size="sm" />
        </div>
      )}
      {groups?.length === 0 && (
        <EmptyState title="No matching runs">Try another search, or import a recording on the runs page.</EmptyState>
      )}
      <div role="listbox" id={listId} aria-label={`Runs for the ${label.toLowerCase()}`} className={classes.list}>
        {groups?.map(({ title, runs }) => (
          <div key={title} role="group" aria-label={title}>
            <div className={classes.group} aria-hidden>
              {title}
            </div>
            {runs.map((run) => (
              <RunOption
                key={run.id}
                id={optionId(run.id)}
                run={run}
                isActive={run.id === active}
                onChoose={() => onChoose(run.id)}
              />
            ))}
          </div>
        ))}
      </div>
    </>
  );
}

/** The next or previous id, from the last to the first and back. */
function neighbour(ids: readonly string[], active: string | null, key: "ArrowDown" | "ArrowUp"): string | null {
  const index = active === null ? -1 : ids.indexOf(active);
  if (key === "ArrowDown") return ids[index + 1] ?? ids[0] ?? null;
  return ids[index - 1] ?? ids.at(-1) ?? null;
}
