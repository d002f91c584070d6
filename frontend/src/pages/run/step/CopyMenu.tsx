import { ActionIcon, Menu, Tooltip } from "@mantine/core";
import { useClipboard } from "@mantine/hooks";
import {
  IconBraces,
  IconBrandPython,
  IconCheck,
  IconCopy,
  IconLink,
  IconMessages,
  IconTerminal2,
} from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState, type ReactElement, type ReactNode } from "react";
import { snippetsQuery } from "@/api/runs/runs";
import type { JsonValue, StepDetail } from "@/api/schema";
import { isObject } from "@/ui/format/json";
import classes from "./Step.module.css";

interface Props {
  step: StepDetail | undefined;
  /** Links show no snippets: they name the server's providers. */
  withSnippets: boolean;
}

/** What a step can be copied as. */
export function CopyMenu({ step, withSnippets }: Props): ReactElement {
  const clipboard = useClipboard({ timeout: 2000 });
  const [opened, setOpened] = useState(false);
  const messages = step?.type === "model" ? messagesOf(step.input) : null;
  const hasCall = withSnippets && (step?.type === "model" || step?.type === "tool");
  return (
    <Menu
      opened={opened}
      onChange={setOpened}
      position="bottom-end"
      shadow="md"
      width="min(16.25rem, calc(100vw - 20px))"
    >
      <Tooltip label={clipboard.copied ? "Copied" : "Copy"}>
        <Menu.Target>
          <ActionIcon aria-label={clipboard.copied ? "Copied" : "Copy"}>
            {clipboard.copied ? <IconCheck size={16} className="exact" /> : <IconCopy size={16} />}
          </ActionIcon>
        </Menu.Target>
      </Tooltip>
      <Menu.Dropdown aria-label="Copy the step as">
        <Item icon={<IconLink size={14} />} onCopy={() => clipboard.copy(window.location.href)}>
          Link
        </Item>
        {step && (
          <Item icon={<IconBraces size={14} />} onCopy={() => clipboard.copy(asJson(content(step)))}>
            JSON
          </Item>
        )}
        {messages && (
          <Item icon={<IconMessages size={14} />} onCopy={() => clipboard.copy(asJson(messages))}>
            Messages as JSON
          </Item>
        )}
        {step && hasCall && opened && <SnippetItems step={step} onCopy={clipboard.copy} />}
      </Menu.Dropdown>
    </Menu>
  );
}

/** The call of a model or tool step as a program. */
function SnippetItems({ step, onCopy }: { step: StepDetail; onCopy: (text: string) => void }): ReactElement {
  const { data, error } = useQuery(snippetsQuery(step.id));
  const problem = data?.problem ?? error?.message;
  const { curl, python } = data ?? {};
  return (
    <>
      <Menu.Divider />
      {step.type === "model" && (
        <Item icon={<IconTerminal2 size={14} />} onCopy={curl ? () => onCopy(curl) : undefined}>
          Request as curl
        </Item>
      )}
      <Item icon={<IconBrandPython size={14} />} onCopy={python ? () => onCopy(python) : undefined}>
        {step.type === "model" ? "Request as Python" : "Call as Python"}
      </Item>
      {problem && <Menu.Label className={classes.problem}>{problem}</Menu.Label>}
    </>
  );
}

function Item(props: { icon: ReactNode; onCopy: (() => void) | undefined; children: ReactNode }): ReactElement {
  const { icon, onCopy, children } = props;
  return (
    <Menu.Item leftSection={icon} disabled={!onCopy} onClick={onCopy}>
      {children}
    </Menu.Item>
  );
}

function messagesOf(input: JsonValue): JsonValue | null {
  return isObject(input) && Array.isArray(input["messages"]) ? input["messages"] : null;
}

/** The step without its place among the others. */
function content({ consumed: _, produced_for: __, ...step }: StepDetail): unknown {
  return step;
}

function asJson(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
