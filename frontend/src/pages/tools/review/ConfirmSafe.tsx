import { Button, Modal } from "@mantine/core";
import type { ReactElement } from "react";
import type { ToolView } from "@/api/schema";
import classes from "../ToolsPage.module.css";

interface Props {
  tool: ToolView;
  onConfirm: () => void;
  onClose: () => void;
}

/** Confirm a tool that looks like a side effect before replays may run it. */
export function ConfirmSafe({ tool, onConfirm, onClose }: Props): ReactElement {
  return (
    <Modal opened onClose={onClose} title={`Mark ${tool.name} as safe?`} closeButtonProps={{ "aria-label": "Close" }}>
      <p className={classes.question}>
        Its name or description {tool.suggestion.reason}. Replays whose policy allows tools will run it for real.
      </p>
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
    </Modal>
  );
}
