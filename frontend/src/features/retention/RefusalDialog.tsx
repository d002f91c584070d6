import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { CitationView, DeletionResult } from "@/api/schema";
import { paths } from "@/app/paths";
import { canOverride, citationPage, consequences, refusalWords, type ActionRun } from "@/domain/retention/refusals";
import { pluralize, shortId } from "@/ui/format/numbers";
import classes from "./Retention.module.css";
import { Dialog } from "@/ui/Dialog";

// More citations than these are only counted.
const MAX_CITATIONS = 6;

interface Props {
  runs: readonly ActionRun[];
  result: DeletionResult;
  isAdmin: boolean;
  isPending: boolean;
  onDeleteAnyway: (runs: readonly ActionRun[]) => void;
  onClose: () => void;
}

/** Runs that were not deleted: what protects each, and for admins the deletion of cited runs. */
export default function RefusalDialog({
  runs,
  result,
  isAdmin,
  isPending,
  onDeleteAnyway,
  onClose,
}: Props): ReactElement {
  const { refusals, deletions } = result;
  const overridable = refusals.filter(canOverride);
  const citedRuns = runs.filter(({ id }) => overridable.some((refusal) => refusal.id === id));
  const effects = consequences(overridable.flatMap(({ citations }) => citations));
  return (
    <Dialog
      onClose={onClose}
      size="lg"
      title={refusals.length === 1 ? "The run was not deleted" : `${refusals.length} runs were not deleted`}
    >
      <div className={classes.dialog}>
        {deletions.length > 0 && <p className="muted">{pluralize(deletions.length, "other run")} deleted.</p>}
        <ul className={classes.refusals}>
          {refusals.map((refusal) => (
            <li key={refusal.id}>
              {runs.length > 1 && <b>{runs.find(({ id }) => id === refusal.id)?.name ?? shortId(refusal.id)}</b>}
              <span>{refusalWords(refusal)}</span>
              {refusal.citations.length > 0 && <Citations citations={refusal.citations} onOpen={onClose} />}
            </li>
          ))}
        </ul>
        {citedRuns.length > 0 &&
          (isAdmin ? (
            <div>
              <p>If you delete {citedRuns.length === 1 ? "it" : "them"} anyway:</p>
              <ul className={classes.effects}>
                {effects.map((effect) => (
                  <li key={effect}>{effect}</li>
                ))}
              </ul>
            </div>
          ) : (
            <p className="muted">An admin can delete a cited run.</p>
          ))}
        <div className={classes.answers}>
          <Button variant="default" onClick={onClose} data-autofocus>
            {citedRuns.length > 0 && isAdmin ? `Keep ${citedRuns.length === 1 ? "the run" : "the runs"}` : "Close"}
          </Button>
          {citedRuns.length > 0 && isAdmin && (
            <Button color="red" variant="outline" loading={isPending} onClick={() => onDeleteAnyway(citedRuns)}>
              Delete {citedRuns.length === 1 ? "the cited run" : pluralize(citedRuns.length, "cited run")}
            </Button>
          )}
        </div>
      </div>
    </Dialog>
  );
}

interface CitationsProps {
  citations: readonly CitationView[];
  onOpen?: () => void;
}

/** What cites a run, each with a link to its page. */
function Citations({ citations, onOpen }: CitationsProps): ReactElement {
  const rest = citations.length - MAX_CITATIONS;
  return (
    <ul className={classes.citations}>
      {citations.slice(0, MAX_CITATIONS).map((citation) => (
        <li key={`${citation.kind} ${citation.id}`}>
          <span className="muted">{citation.kind}</span> <CitationLink citation={citation} onOpen={onOpen} />
        </li>
      ))}
      {rest > 0 && <li className="muted">and {rest} more</li>}
    </ul>
  );
}

function CitationLink({
  citation,
  onOpen,
}: {
  citation: CitationView;
  onOpen: (() => void) | undefined;
}): ReactElement {
  const text = citation.name || shortId(citation.id);
  const link = linkOf(citation);
  return link ? (
    <Link {...link} onClick={onOpen}>
      {text}
    </Link>
  ) : (
    <span>{text}</span>
  );
}

function linkOf(citation: CitationView) {
  switch (citationPage(citation)) {
    case "run":
      return paths.run(citation.id);
    case "diff":
      return paths.diff(citation.id);
    case "experiment":
      return paths.experiment(citation.id);
    case "bisection":
      return paths.bisection(citation.id);
    case "replay":
      return paths.replay(citation.id);
    default:
      return null;
  }
}
