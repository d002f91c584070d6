import { ActionIcon } from "@mantine/core";
import { useClipboard } from "@mantine/hooks";
import { IconCheck, IconCopy } from "@tabler/icons-react";
import type { ReactElement } from "react";
import { runnerCommand } from "./command";
import classes from "./RunnerStart.module.css";

interface Props {
  app: string;
  /** Tools that the runner may really run. */
  allowedTools?: readonly string[];
}

/** The command that starts a runner, ready to copy. */
export function RunnerStart({ app, allowedTools = [] }: Props): ReactElement {
  const clipboard = useClipboard({ timeout: 2000 });
  const command = runnerCommand(app, window.location.origin, allowedTools);
  const label = clipboard.copied ? "Copied" : "Copy the command";
  return (
    <div className={classes.line}>
      <pre
        tabIndex={0}
        aria-label={`Command that starts a runner${allowedTools.length > 0 ? " and allows tools" : ""}`}
      >
        {command}
      </pre>
      <ActionIcon variant="default" aria-label={label} title={label} onClick={() => clipboard.copy(command)}>
        {clipboard.copied ? <IconCheck size={15} /> : <IconCopy size={15} />}
      </ActionIcon>
    </div>
  );
}
