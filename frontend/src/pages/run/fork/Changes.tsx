import { Button, Tooltip } from "@mantine/core";
import { useState, type ReactElement } from "react";
import type { PlanRefusal } from "@/api/schema";
import { removeEntry, type Draft } from "@/domain/overrides/draft";
import { OverrideChips } from "@/features/overrides/OverrideChips";
import classes from "./Fork.module.css";

interface Props {
  draft: Draft;
  refusals: PlanRefusal[];
  /** The steps of other forks of the run that have changes. */
  otherForks: readonly number[];
  onChange: (draft: Draft) => void;
  onSelect: (sequenceNo: number) => void;
  onOpenFork: (step: number) => void;
}

/** The changes of the fork. Discarded ones can be restored in the same place, where nothing covers the button below. */
export function Changes({ draft, refusals, otherForks, onChange, onSelect, onOpenFork }: Props): ReactElement | null {
  const [undoable, setUndoable] = useState<Draft["overrides"] | null>(null);
  if (draft.overrides.length === 0)
    return undoable ? (
      <div className={classes.changes}>
        <span className={`muted ${classes.discarded}`} role="status">
          Changes discarded.
        </span>
        <Button variant="subtle" autoFocus onClick={() => onChange({ ...draft, overrides: undoable })}>
          Undo
        </Button>
      </div>
    ) : otherForks.length > 0 ? (
      <OtherForks steps={otherForks} onOpenFork={onOpenFork} />
    ) : null;
  if (undoable) setUndoable(null);
  const discard = () => {
    setUndoable(draft.overrides);
    onChange({ ...draft, overrides: [] });
  };
  return (
    // Below the form, whose fields the first change would move.
    <div className={classes.changes}>
      <OverrideChips
        draft={draft}
        refusals={refusals}
        onRemove={(index) => onChange(removeEntry(draft, index))}
        onSelect={onSelect}
      />
      <Tooltip label="Changes stay in this tab, also after a replay, until you discard them" multiline maw={240}>
        <Button variant="subtle" onClick={discard}>
          Discard
        </Button>
      </Tooltip>
    </div>
  );
}

/** Where the changes are that a reader may miss here. */
function OtherForks({ steps, onOpenFork }: { steps: readonly number[]; onOpenFork: (step: number) => void }) {
  return (
    <div className={classes.changes}>
      <span className={`muted grow ${classes.discarded}`}>A new fork. You have changes in another:</span>
      {steps.map((step) => (
        <Button key={step} variant="subtle" onClick={() => onOpenFork(step)}>
          Fork from step {step}
        </Button>
      ))}
    </div>
  );
}
