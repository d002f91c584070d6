import { Button } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState, type ReactElement, type ReactNode } from "react";
import { auditQuery } from "@/api/retention";
import type { AuditEntryView } from "@/api/schema";
import { paths } from "@/app/paths";
import { fullTime, shortId, timeAgo } from "@/ui/format/numbers";
import { shortenMarkers } from "@/ui/format/markers";
import { LoadedList } from "@/ui/ListPage";
import list from "@/ui/ListPage.module.css";
import { auditWords, pageOf } from "./audit";
import classes from "./Retention.module.css";
import { PanelHead } from "@/ui/Page";

const FIRST = 12;

/** Who did what to which object. */
export function AuditPanel(): ReactElement {
  const audit = useInfiniteQuery(auditQuery);
  return (
    <section className="panel" aria-labelledby="audit">
      <PanelHead>
        <h2 id="audit">Audit log</h2>
        <span className="muted">
          Imports, exports, replays, diffs, shares, reviews of tools, settings, and deletions. It contains no payloads.
        </span>
      </PanelHead>
      <LoadedList listing={audit}>
        {({ pages }) => (
          <Entries entries={pages.flatMap(({ entries }) => entries)}>
            {audit.hasNextPage && (
              <Button variant="subtle" loading={audit.isFetchingNextPage} onClick={() => void audit.fetchNextPage()}>
                Show older
              </Button>
            )}
          </Entries>
        )}
      </LoadedList>
    </section>
  );
}

/** The newest entries, and on demand the others that are loaded; `children` load older ones. */
function Entries({ entries, children }: { entries: readonly AuditEntryView[]; children: ReactNode }): ReactElement {
  const [isOpen, setOpen] = useState(false);
  if (entries.length === 0) return <p className={classes.none}>There are no entries yet.</p>;
  return (
    <>
      <table className={`${list.table} ${list.stacking}`}>
        <thead>
          <tr>
            <th scope="col">What</th>
            <th scope="col">Subject</th>
            <th scope="col">By</th>
            <th scope="col" className={list.figure}>
              When
            </th>
          </tr>
        </thead>
        <tbody>
          {(isOpen ? entries : entries.slice(0, FIRST)).map((entry) => (
            <tr key={entry.id}>
              <th scope="row">{auditWords(entry)}</th>
              <td data-label="Subject" className={list.wide}>
                <Subject entry={entry} />
              </td>
              <td data-label="By">{entry.by || "the server"}</td>
              <td data-label="When" className={list.figure} title={fullTime(entry.at)}>
                {timeAgo(entry.at)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {entries.length > FIRST && (!isOpen || children) && (
        <p className={classes.more}>
          {isOpen ? (
            children
          ) : (
            <Button variant="subtle" onClick={() => setOpen(true)}>
              Show {entries.length - FIRST} more
            </Button>
          )}
        </p>
      )}
    </>
  );
}

function Subject({ entry }: { entry: AuditEntryView }): ReactElement {
  const target = pageOf(entry);
  if (target === null) return <span>{entry.subject}</span>;
  return (
    <>
      <span className="muted">{target.page}</span>{" "}
      <Link {...paths[target.page](target.id)} title={target.id}>
        {shortenMarkers(entry.run_name) || shortId(target.id)}
      </Link>
    </>
  );
}
