import { Menu, UnstyledButton } from "@mantine/core";
import { IconCheck, IconChevronDown } from "@tabler/icons-react";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { RunDetail, RunRevision } from "@/api/schema";
import { paths } from "@/app/paths";
import { newerRevision, revisionNote, revisionWords } from "@/domain/runs/revisions";
import { NewerRevisionNotice } from "@/features/runs/NewerRevisionNotice";
import { fullTime, pluralize, timeAgo } from "@/ui/format/numbers";
import classes from "./RevisionMenu.module.css";
import { searchInRevision } from "../search";

const route = getRouteApi("/runs/$run");

/** The revision of the run. Opens the others. */
export function RevisionMenu({ run }: { run: RunDetail }): ReactElement | null {
  if (run.revisions.length === 0) return null;
  return (
    <Menu position="bottom-start" shadow="md" width="min(21.25rem, calc(100vw - 20px))">
      <Menu.Target>
        <UnstyledButton className={`chip ${classes.target}`}>
          {revisionWords(run)} <IconChevronDown size={12} aria-hidden />
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown className={classes.list} aria-label="Revisions of this run">
        {run.revisions.map((revision) => (
          <RevisionItem key={revision.id} run={run} revision={revision} />
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

function RevisionItem({ run, revision }: { run: RunDetail; revision: RunRevision }): ReactElement {
  const search = route.useSearch();
  const isOpen = revision.id === run.id;
  const note = revisionNote(revision, run.revisions);
  return (
    <Menu.Item
      aria-current={isOpen ? "page" : undefined}
      leftSection={<IconCheck size={14} aria-hidden visibility={isOpen ? "visible" : "hidden"} />}
      rightSection={
        <span className="muted" title={fullTime(revision.created_at)}>
          {timeAgo(revision.created_at)}
        </span>
      }
      renderRoot={(props) => <Link {...paths.run(revision.id, searchInRevision(search, revision.steps))} {...props} />}
    >
      Revision {revision.revision} <span className="muted num">· {pluralize(revision.steps, "step")}</span>
      {note && <div className={revision.supersedes === null ? "simulated" : "muted"}>{note}</div>}
    </Menu.Item>
  );
}

/** A link to the newest revision that continues the run. */
export function NewerRevisionBanner({ run }: { run: RunDetail }): ReactElement | null {
  const search = route.useSearch();
  const newer = newerRevision(run);
  if (!newer) return null;
  const link = paths.run(newer.id, searchInRevision(search, run.steps + newer.added_steps));
  return <NewerRevisionNotice newer={newer} subject="this run" link={link} />;
}
