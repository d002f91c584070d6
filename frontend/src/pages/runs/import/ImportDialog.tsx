import { Button, Loader, Modal, Progress } from "@mantine/core";
import { IconCircleCheck, IconCircleDashedCheck, IconCircleX } from "@tabler/icons-react";
import { Link, useNavigate } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { ImportedRun, SkippedFile } from "@/api/schema";
import { pluralize, shortId } from "@/ui/format/numbers";
import { sentence } from "@/ui/format/text";
import { paths } from "@/app/paths";
import { headline, percentRead, placeInFile } from "./importStream";
import classes from "./Import.module.css";
import type { Import } from "./useImport";

/** Results to list. Others are counted. */
const LISTED_LIMIT = 200;

/** The result of each file. Stays open until closed. */
export default function ImportDialog({ imports }: { imports: Import }): ReactElement {
  const { state, cancel, dismiss } = imports;
  const navigate = useNavigate();
  const busy = state.phase === "sending";
  const [firstRun] = state.runs;
  return (
    <Modal
      opened={state.phase !== "idle"}
      onClose={busy ? cancel : dismiss}
      closeOnClickOutside={!busy}
      title={busy ? `Importing ${pluralize(state.files, "file")}` : "Import"}
      size="lg"
      closeButtonProps={{ "aria-label": busy ? "Cancel the import" : "Close" }}
    >
      <div className={classes.summary} role="status">
        {busy && <Loader size={14} />}
        <b>{headline(state)}</b>
        {busy && <span className="muted ellipsis">{state.progress?.path}</span>}
      </div>
      {state.progress && busy && <Progress value={percentRead(state)} aria-label="Import" />}
      {state.error && (
        <p className="failed" role="alert">
          {state.error}
        </p>
      )}
      <ul className={classes.results}>
        {state.skippedFiles.slice(0, LISTED_LIMIT).map((file, index) => (
          <SkippedFileRow key={index} file={file} />
        ))}
        {state.runs.slice(0, LISTED_LIMIT).map((run) => (
          <ImportedRunRow key={run.id} run={run} onOpen={dismiss} />
        ))}
      </ul>
      {state.unreadMembers.length > 0 && (
        <details className={classes.unread}>
          <summary>{pluralize(state.unreadMembers.length, "field")} of the files in no run</summary>
          {state.unreadMembers.map(({ member, values, path }) => (
            <p key={member}>
              <code>{member}</code>{" "}
              <span className="muted">
                {pluralize(values, "value")}, first in {path}
              </span>
            </p>
          ))}
        </details>
      )}
      {state.runs.length > LISTED_LIMIT && (
        <p className="muted">The first {LISTED_LIMIT} are listed here. All are in the list of runs.</p>
      )}
      <div className={classes.foot}>
        {busy ? (
          <Button variant="default" onClick={cancel}>
            Cancel
          </Button>
        ) : (
          <>
            {state.runs.length === 1 && firstRun && (
              <Button
                onClick={() => {
                  dismiss();
                  void navigate(paths.run(firstRun.id));
                }}
              >
                Open the run
              </Button>
            )}
            <Button variant="default" onClick={dismiss}>
              Close
            </Button>
          </>
        )}
      </div>
    </Modal>
  );
}

function ImportedRunRow({ run, onOpen }: { run: ImportedRun; onOpen: () => void }): ReactElement {
  return (
    <li>
      {run.created ? (
        <IconCircleCheck size={15} className="exact" aria-label="imported" />
      ) : (
        <IconCircleDashedCheck size={15} className="live" aria-label="already here" />
      )}
      <div>
        <Link {...paths.run(run.id)} onClick={onOpen} className={`ellipsis ${classes.name}`}>
          {run.name}
        </Link>
        <RelatedRun run={run} onOpen={onOpen} />
      </div>
      <span className="muted num">
        {run.format} · {pluralize(run.steps, "step")}
        {!run.created && " · already here"}
      </span>
    </li>
  );
}

/** The stored run with the same id that a recording continues or contradicts. */
function RelatedRun({ run, onOpen }: { run: ImportedRun; onOpen: () => void }): ReactElement | null {
  if (run.supersedes !== null) {
    return (
      <p>
        revision {run.revision} of{" "}
        <Link {...paths.run(run.supersedes)} onClick={onOpen}>
          {shortId(run.external_id)}
        </Link>
      </p>
    );
  }
  if (run.conflicts_with === null) return null;
  return (
    <p>
      kept beside{" "}
      <Link {...paths.run(run.conflicts_with)} onClick={onOpen}>
        the stored run
      </Link>{" "}
      with the same id, because their contents differ
    </p>
  );
}

function SkippedFileRow({ file }: { file: SkippedFile }): ReactElement {
  return (
    <li>
      <IconCircleX size={15} className="failed" aria-label="skipped" />
      <div>
        <b>{file.path}</b>
        <p>{sentence(file.reason)}</p>
      </div>
      {placeInFile(file.where) && <code className="muted">{file.where}</code>}
    </li>
  );
}
