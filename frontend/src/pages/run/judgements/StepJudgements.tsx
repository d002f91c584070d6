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
import { useJudgements } from "./useJudgements";
import { judgementsOfStep } from "./wording";

/** Judgements of a step, and the form to add one. */
export function StepJudgements({ run, step }: { run: string; step: number }): ReactElement {
  const [isFormOpen, setFormOpen] = useState(false);
  const { data } = useQuery(judgementsQuery(run));
  const { data: runDetail } = useQuery(runQuery(run));
  const refusal = useRefusal(runDetail?.sealed ?? true);
  const { add, remove } = useJudgements(run);
  const stepJudgements = judgementsOfStep(data?.judgements ?? [], step);
  if (stepJudgements.length === 0 && !isFormOpen) {
    return (
      <div>
        <Button
          variant="default"
          size="compact-sm"
          leftSection={<IconGavel size={14} />}
          onClick={() => setFormOpen(true)}
        >
          Judge this step
        </Button>
      </div>
    );
  }
  return (
    <section className={classes.step} aria-label="Judgements of the step">
      {stepJudgements.length > 0 && (
        <ul className={classes.list}>
          {stepJudgements.map((judgement) => (
            <JudgementRow key={judgement.id} judgement={judgement} onDelete={remove.mutate} />
          ))}
        </ul>
      )}
      {isFormOpen ? (
        <JudgeForm
          step={step}
          refusal={refusal}
          pending={add.isPending}
          onJudge={(body) => add.mutate(body, { onSuccess: () => setFormOpen(false) })}
        />
      ) : (
        <div>
          <Button variant="default" size="compact-sm" onClick={() => setFormOpen(true)}>
            Judge this step
          </Button>
        </div>
      )}
    </section>
  );
}
