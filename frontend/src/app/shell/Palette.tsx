import { Modal, VisuallyHidden } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { IconSearch } from "@tabler/icons-react";
import { useEffect, useId, useState, type KeyboardEvent, type ReactElement } from "react";
import { runsQuery } from "@/api/runs/runs";
import { pluralize } from "@/ui/format/numbers";
import { Keys } from "@/ui/keyboard/Kbd";
import { paths } from "@/app/paths";
import { useGroups } from "@/ui/keyboard/shortcuts";
import { entriesOf, find, runEntry, type Entry } from "./commands";
import classes from "./Palette.module.css";
import { PALETTE_FIELD } from "./usePaletteQuery";

/** Runs to show for a query. The list of runs shows the rest. */
const RUNS = 7;

interface Props {
  opened: boolean;
  query: string;
  onQuery: (query: string) => void;
  onClose: () => void;
}

/** Search pages, actions of the current screen, and runs. */
export default function Palette({ opened, ...props }: Props): ReactElement {
  return (
    <Modal.Root
      opened={opened}
      onClose={props.onClose}
      yOffset="12dvh"
      centered={false}
      size={620}
      transitionProps={{ duration: 80 }}
    >
      <Modal.Overlay />
      <Modal.Content aria-label="Command palette">
        <Modal.Body p={0}>
          <Finder {...props} />
        </Modal.Body>
      </Modal.Content>
    </Modal.Root>
  );
}

function Finder({ query, onQuery, onClose }: Omit<Props, "opened">): ReactElement {
  const [cursor, setCursor] = useState(0);
  const id = useId();
  const groups = useEntries(query);
  const entries = groups.flatMap((group) => group.entries);
  const active = Math.min(cursor, entries.length - 1);
  const choose = (entry: Entry | undefined) => {
    if (!entry) return;
    onClose();
    entry.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined && event.key !== "Enter") return;
    event.preventDefault();
    if (step === undefined) choose(entries[active]);
    else setCursor((active + step + entries.length) % Math.max(1, entries.length));
  };
  useEffect(() => {
    document.getElementById(`${id}${active}`)?.scrollIntoView({ block: "nearest" });
  }, [id, active]);
  return (
    <>
      <div className={classes.field}>
        <IconSearch size={16} stroke={1.8} aria-hidden />
        <input
          data-autofocus
          {...PALETTE_FIELD}
          className={classes.input}
          role="combobox"
          aria-label="Search pages, actions and runs"
          aria-expanded
          aria-controls={`${id}list`}
          aria-activedescendant={active >= 0 ? `${id}${active}` : undefined}
          placeholder="Search pages, actions and runs"
          value={query}
          onChange={(event) => {
            onQuery(event.currentTarget.value);
            setCursor(0);
          }}
          onKeyDown={onKeyDown}
        />
      </div>
      <VisuallyHidden role="status">{pluralize(entries.length, "result")}</VisuallyHidden>
      <div id={`${id}list`} role="listbox" aria-label="Results" className={classes.list}>
        {groups.map((group) => (
          <div key={group.name} role="group" aria-label={group.name}>
            <h2 aria-hidden>{group.name}</h2>
            {group.entries.map((entry) => {
              const index = entries.indexOf(entry);
              return (
                <div
                  key={entry.id}
                  id={`${id}${index}`}
                  role="option"
                  aria-selected={index === active}
                  className={classes.entry}
                  onClick={() => choose(entry)}
                  onPointerMove={() => setCursor(index)}
                >
                  <span className={classes.label} dir="auto">
                    {entry.label}
                  </span>
                  <span className={classes.note}>{entry.note}</span>
                  {entry.keys && <Keys keys={entry.keys} />}
                </div>
              );
            })}
          </div>
        ))}
        {entries.length === 0 && <p className={classes.none}>No matches. Try the name of a run, or “diff”.</p>}
      </div>
    </>
  );
}

function useEntries(query: string): { name: string; entries: Entry[] }[] {
  const shortcutGroups = useGroups();
  const navigate = useNavigate();
  const [debouncedQuery] = useDebouncedValue(query.trim(), 120);
  const { data } = useInfiniteQuery(runsQuery(debouncedQuery ? { q: debouncedQuery } : {}));
  const runs = (data?.pages[0]?.runs ?? [])
    .slice(0, RUNS)
    .map((run) => runEntry(run, ({ id }) => void navigate(paths.run(id))));
  const groups = [
    { name: "Actions", entries: find(entriesOf(shortcutGroups), query) },
    { name: debouncedQuery ? "Runs" : "Newest runs", entries: runs },
  ];
  return groups.filter((group) => group.entries.length > 0);
}
