import { Button, TextInput } from "@mantine/core";
import { useClipboard } from "@mantine/hooks";
import { IconCheck, IconCopy } from "@tabler/icons-react";
import type { ReactElement } from "react";
import classes from "./SecretField.module.css";

/** A secret that is shown once, ready to copy. */
export function SecretField({ value }: { value: string }): ReactElement {
  const clipboard = useClipboard({ timeout: 2000 });
  return (
    <div className={classes.shown}>
      <TextInput
        label="Copy it now: it is not shown again"
        value={value}
        readOnly
        data-autofocus
        onFocus={(event) => event.currentTarget.select()}
        classNames={{ input: classes.value }}
      />
      <Button
        variant="default"
        onClick={() => clipboard.copy(value)}
        leftSection={clipboard.copied ? <IconCheck size={14} /> : <IconCopy size={14} />}
      >
        {clipboard.copied ? "Copied" : "Copy"}
      </Button>
    </div>
  );
}
