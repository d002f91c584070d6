import { Button } from "@mantine/core";
import type { ReactElement } from "react";
import type { ToolView } from "@/api/schema";
import { SuggestionReason } from "./Suggestion";
import classes from "./Review.module.css";
import { Dialog } from "@/ui/Dialog";

interface Props {
  /** The tools to mark as safe that are not suggested as safe. */
  tools: readonly [ToolView, ...ToolView[]];
  onConfirm: () => void;
  onClose: () => void;
}

/** Confirm tools that may have side effects before replays may run them. */
export function ConfirmSafe({ tools, onConfirm, onClose }: Props): ReactElement {
  const name = tools.length === 1 ? tools[0].name : `${tools.length} tools that may have side effects`;
  return (
    <Dialog onClose={onClose} title={`Mark ${name} as safe?`}>
      <p className={classes.question}>
        Replays whose policy allows tools will run {tools.length === 1 ? "it" : "them"} for real.
      </p>
      <ul className={classes.list}>
        {tools.map((tool) => (
          <li key={tool.name}>
            <span className={classes.toolName}>{tool.name}</span>
            <SuggestionReason suggestion={tool.suggestion} />
          </li>
        ))}
      </ul>
      <div className={classes.answers}>
        <Button variant="default" onClick={onClose} data-autofocus>
          Cancel
        </Button>
        <Button
          onClick={() => {
            onConfirm();
            onClose();
          }}
        >
          Mark as safe
        </Button>
      </div>
    </Dialog>
  );
}
