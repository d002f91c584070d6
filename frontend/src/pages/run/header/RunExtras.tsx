import { Button, Menu, Popover, UnstyledButton } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { IconChevronDown, IconUpload } from "@tabler/icons-react";
import { useState, type ReactElement } from "react";
import { exportsQuery, exportToLangfuse, usageQuery } from "@/api/tools/hooks";
import type { ExportView, RunDetail } from "@/api/schema";
import { tokens } from "@/ui/format/numbers";
import { UsageTable } from "@/features/runs/UsageTable";
import { showFailure } from "@/ui/failure/failure";
import { UsageCurves } from "../usage/UsageCurves";
import classes from "../RunPage.module.css";

/** The total number of tokens. Opens the usage by turn and by model. */
export function Tokens({ run }: { run: RunDetail }): ReactElement {
  const [opened, setOpened] = useState(false);
  const { data } = useQuery({ ...usageQuery(run.id, run.steps), enabled: opened });
  return (
    <Popover opened={opened} onChange={setOpened} shadow="md" width="min(28.75rem, calc(100vw - 20px))" trapFocus>
      <Popover.Target>
        <UnstyledButton
          className={classes.tokens}
          title="Tokens and cost by turn and by model"
          onClick={() => setOpened((current) => !current)}
        >
          {tokens(run.tokens_in + run.tokens_out)} tokens
        </UnstyledButton>
      </Popover.Target>
      <Popover.Dropdown className={classes.usage} aria-label="Tokens and cost">
        {opened && <UsageCurves run={run.id} lastStep={run.steps} />}
        {data ? <UsageTable usage={data} /> : <p className="muted">Loading…</p>}
      </Popover.Dropdown>
    </Popover>
  );
}

/** Export the run to a configured Langfuse and show the progress. */
export function ExportButton({ run }: { run: RunDetail }): ReactElement | null {
  const client = useQueryClient();
  const { data } = useQuery(exportsQuery(run.id));
  const send = useMutation({
    mutationFn: (target: string) => exportToLangfuse(run.id, target),
    onSuccess: () => client.invalidateQueries({ queryKey: exportsQuery(run.id).queryKey }),
    onError: (error) => showFailure("The run was not exported", error),
  });
  if (!data || data.targets.length === 0) return null;
  const [last] = data.exports;
  return (
    <Menu position="bottom-end" shadow="md" width={300}>
      <Menu.Target>
        <Button
          variant="default"
          leftSection={<IconUpload size={14} />}
          rightSection={<IconChevronDown size={13} />}
          loading={send.isPending}
        >
          {last ? exportWords(last) : "Export"}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {data.targets.map((target) => (
          <Menu.Item key={target} disabled={!run.sealed} onClick={() => send.mutate(target)}>
            Send to Langfuse “{target}”
          </Menu.Item>
        ))}
        {last?.status === "done" && last.url && (
          <Menu.Item component="a" href={last.url} target="_blank" rel="noreferrer">
            Open the trace in Langfuse
          </Menu.Item>
        )}
        {last?.error && <Menu.Label className="failed">{last.error}</Menu.Label>}
      </Menu.Dropdown>
    </Menu>
  );
}

function exportWords(last: ExportView): string {
  switch (last.status) {
    case "pending":
    case "running":
      return `Exporting ${last.done_events}/${last.events}`;
    case "failed":
      return "Export failed";
    case "done":
      return "Exported";
    default:
      return last.status satisfies never;
  }
}
