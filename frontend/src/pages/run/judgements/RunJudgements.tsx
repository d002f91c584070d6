import { Button, Popover } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { notifications } from "@mantine/notifications";
import { IconChevronDown } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { accessQuery } from "@/api/access";
import { judgementsQuery } from "@/api/runs/judgements";
import type { RunDetail } from "@/api/schema";
import { outcomeDetail, outcomeTitle } from "@/domain/runs/outcome";
import { paths } from "@/app/paths";
import { SOURCES } from "@/domain/runs/judgements";
import { OutcomeWord, RunOutcome } from "@/features/runs/RunOutcome";
import { useShortcuts } from "@/ui/keyboard/shortcuts";
import { JudgeForm } from "./JudgeForm";
import { JudgementRow } from "./JudgementRow";
import classes from "./Judgements.module.css";
import { useJudgements } from "./useJudgements";

/** Why the run itself failed, in the words of its recording. */
function errorOf({ outcome, outcome_basis: basis, metadata: { error } }: RunDetail): string {
  return outcome === "failed" && basis === null && typeof error === "string" ? error : "";
}

/** The outcome of the run. Opens its judgements and the form to add one. */
export function RunJudgements({ run }: { run: RunDetail }): ReactElement {
  const [opened, { toggle, open, close }] = useDisclosure(false);
  const { data } = useQuery({ ...judgementsQuery(run.id), enabled: opened });
  const refusal = useRefusal(run.sealed);
  const { add, remove } = useJudgements(run.id);
  const verdict = (kind: "pass" | "fail") => {
    if (refusal) return notifications.show({ title: "Not judged", message: refusal });
    return add.mutate(
      { kind, name: "verdict", value: null, text: "", step: null },
      { onSuccess: ({ id }) => confirmVerdict(kind, () => remove.mutate(id)) },
    );
  };
  useShortcuts("Run", [
    { keys: "p", action: "Judge the run as passed", run: () => verdict("pass") },
    { keys: "x", action: "Judge the run as failed", run: () => verdict("fail") },
    { keys: "n", action: "Open the judgements", run: open },
  ]);
  return (
    <Popover
      opened={opened}
      onChange={(next) => (next ? open() : close())}
      position="bottom-start"
      shadow="md"
      width="min(26.25rem, calc(100vw - 20px))"
      trapFocus
      returnFocus
    >
      <Popover.Target>
        <button
          type="button"
          className={classes.trigger}
          aria-label={`Outcome: ${outcomeTitle(run)}`}
          aria-expanded={opened}
          onClick={toggle}
        >
          <RunOutcome run={run} />
          <OutcomeWord run={run} />
          <IconChevronDown size={13} aria-hidden />
        </button>
      </Popover.Target>
      <Popover.Dropdown className={classes.dropdown} aria-label="Judgements">
        <p className={classes.conclusion}>
          <OutcomeWord run={run} />
          {outcomeDetail(run) && <span className="muted">: {outcomeDetail(run)}</span>}
          {errorOf(run) && <span className="muted">: {errorOf(run)}</span>}
          {run.outcome_basis && <span className="muted"> · {SOURCES[run.outcome_basis]}</span>}
        </p>
        <ul className={classes.list}>
          {data?.judgements.map((judgement) => (
            <JudgementRow key={judgement.id} judgement={judgement} run={run.id} onDelete={remove.mutate} />
          ))}
        </ul>
        {data?.judgements.length === 0 && <span className="muted">This run has no judgements yet.</span>}
        <Link {...paths.outcomes({ app: run.app })} className={classes.rule}>
          What decides in {run.app}
        </Link>
        <JudgeForm step={null} refusal={refusal} pending={add.isPending} onJudge={add.mutate} />
      </Popover.Dropdown>
    </Popover>
  );
}

/** Why the caller cannot judge a run. Empty if they can. */
export function useRefusal(isSealed: boolean): string {
  const { data: access } = useQuery(accessQuery);
  if (!isSealed) return "The run is still being recorded. You can judge it after it ends.";
  return access?.role === "viewer" ? "Judging requires the debugger role." : "";
}

function confirmVerdict(kind: "pass" | "fail", undo: () => void): void {
  const id = notifications.show({
    title: kind === "pass" ? "Judged as passed" : "Judged as failed",
    message: (
      <Button
        variant="subtle"
        size="compact-xs"
        onClick={() => {
          notifications.hide(id);
          undo();
        }}
      >
        Undo
      </Button>
    ),
  });
}
