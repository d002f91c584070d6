import { Button } from "@mantine/core";
import { IconGavel } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState, type ReactElement } from "react";
import { judgementsQuery } from "@/api/runs/judgements";
import { runQuery } from "@/api/runs/runs";
import { JudgeForm } from "./JudgeForm";
import { JudgementRow } from "./JudgementRow";
import classes from "./Judgements.module.css";
import { useRefusal } from "./RunJudgements";
import { useJudging } from "./useJudgements";
import { ofStep } from "./wording";

/** What was judged of one step, and the form to judge it. */
export function StepJudgements({ run, step }: { run: string; step: number }): ReactElement {
  const [judging, setJudging] = useState(false);
  const { data } = useQuery(judgementsQuery(run));
  const { data: whole } = useQuery(runQuery(run));
  const refusal = useRefusal(whole?.sealed ?? true);
  const { add, remove } = useJudging(run);
  const own = ofStep(data?.judgements ?? [], step);
  if (own.length === 0 && !judging) {
    return (
      <div>
        <Button
          variant="subtle"
          color="gray"
          size="compact-sm"
          leftSection={<IconGavel size={14} />}
          onClick={() => setJudging(true)}
        >
          Judge this step
        </Button>
      </div>
    );
  }
  return (
    <section className={classes.step} aria-label="Judgements of the step">
      {own.length > 0 && (
        <ul className={classes.list}>
          {own.map((judgement) => (
            <JudgementRow key={judgement.id} judgement={judgement} onDelete={remove.mutate} />
          ))}
        </ul>
      )}
      {judging ? (
        <JudgeForm
          step={step}
          refusal={refusal}
          pending={add.isPending}
          onJudge={(body) => add.mutate(body, { onSuccess: () => setJudging(false) })}
        />
      ) : (
        <div>
          <Button variant="subtle" color="gray" size="compact-sm" ml={-8} onClick={() => setJudging(true)}>
            Judge this step
          </Button>
        </div>
      )}
    </section>
  );
}
