import { Button, Checkbox } from "@mantine/core";
import { IconChecks } from "@tabler/icons-react";
import { useState, type ReactElement } from "react";
import type { ToolView } from "@/api/schema";
import { pluralize } from "@/ui/format/numbers";
import { SuggestionReason } from "./Suggestion";
import classes from "./Review.module.css";
import { Dialog } from "@/ui/Dialog";

interface Props {
  /** Unreviewed tools that are suggested as safe. */
  tools: readonly ToolView[];
  isAdmin: boolean;
  onAccept: (tools: readonly ToolView[]) => void;
}

/** Accept all safe suggestions with one decision, after a look at their reasons. */
export function AcceptSuggestions({ tools, isAdmin, onAccept }: Props): ReactElement | null {
  const [isOpen, setIsOpen] = useState(false);
  if (tools.length === 0) return null;
  return (
    <>
      <Button
        leftSection={<IconChecks size={15} />}
        disabled={!isAdmin}
        title={isAdmin ? undefined : "Only admins can review tools"}
        onClick={() => setIsOpen(true)}
      >
        Accept {pluralize(tools.length, "safe suggestion")}
      </Button>
      {isOpen && <AcceptDialog tools={tools} onAccept={onAccept} onClose={() => setIsOpen(false)} />}
    </>
  );
}

function AcceptDialog(props: {
  tools: readonly ToolView[];
  onAccept: (tools: readonly ToolView[]) => void;
  onClose: () => void;
}): ReactElement {
  const [names, setNames] = useState<readonly string[]>(() => props.tools.map(({ name }) => name));
  const choices = props.tools.filter(({ name }) => names.includes(name));
  return (
    <Dialog onClose={props.onClose} size="lg" title={`Accept ${pluralize(props.tools.length, "safe suggestion")}?`}>
      <p className={classes.question}>
        Replays whose policy allows tools will run these for real. Suspected side effects and unknown tools are not in
        the list.
      </p>
      <ul className={classes.list}>
        {props.tools.map((tool) => (
          <li key={tool.name}>
            <Checkbox
              checked={names.includes(tool.name)}
              onChange={() => setNames(toggle(names, tool.name))}
              label={<span className={classes.toolName}>{tool.name}</span>}
            />
            <SuggestionReason suggestion={tool.suggestion} />
          </li>
        ))}
      </ul>
      <div className={classes.answers}>
        <Button variant="default" onClick={props.onClose}>
          Cancel
        </Button>
        <Button
          data-autofocus
          disabled={choices.length === 0}
          onClick={() => {
            props.onAccept(choices);
            props.onClose();
          }}
        >
          Mark {pluralize(choices.length, "tool")} as safe
        </Button>
      </div>
    </Dialog>
  );
}

function toggle(names: readonly string[], name: string): readonly string[] {
  return names.includes(name) ? names.filter((entry) => entry !== name) : [...names, name];
}
