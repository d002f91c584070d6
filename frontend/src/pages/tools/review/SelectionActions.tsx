import { CloseButton } from "@mantine/core";
import type { ReactElement } from "react";
import type { ToolView } from "@/api/schema";
import { DecisionControl } from "./DecisionControl";
import classes from "./Review.module.css";

interface Props {
  tools: readonly [ToolView, ...ToolView[]];
  isAdmin: boolean;
  onDecide: (safe: boolean | null) => void;
  onClear: () => void;
}

/** One decision about all selected tools. Takes the place of the toolbar's other contents, so that no row moves. */
export function SelectionActions({ tools, isAdmin, onDecide, onClear }: Props): ReactElement {
  const [first] = tools;
  const isUnanimous = tools.every(({ safe }) => safe === first.safe);
  return (
    <div className={classes.selection}>
      <b className="num" role="status">
        {tools.length} selected
      </b>
      <DecisionControl
        name="Decision about the selected tools"
        safe={isUnanimous ? first.safe : undefined}
        isAdmin={isAdmin}
        onDecide={onDecide}
      />
      <CloseButton aria-label="Clear the selection" onClick={onClear} />
    </div>
  );
}
