import type { ReactElement } from "react";
import type { StepDetail, StepSummary } from "@/api/schema";
import { LabelGlyph } from "@/features/labels/LabelGlyph";
import { actionMark, markMeaning, markWord, reasonSentence } from "@/domain/steps/labels";
import { sentence } from "@/ui/format/text";
import { actionWord, type StepPlan } from "../stepPlans";
import { factName, factWords, hookFacts } from "./facts";
import classes from "./Step.module.css";

/** How the output was obtained and why. In a fork, also the planned action. */
export function StepLabel(props: {
  step: StepSummary;
  detail: StepDetail["detail"] | undefined;
  plan: StepPlan | null;
}): ReactElement | null {
  const { step, detail, plan } = props;
  const facts = Object.entries(detail ?? {}).flatMap(
    ([name, value]): [string, string][] => hookFacts(name, value) ?? [[factName(name), factWords(value)]],
  );
  if (step.label === "live" && !plan && facts.length === 0) return null;
  return (
    <div className={classes.label}>
      {step.label !== "live" && (
        <p>
          <span className={`chip ${step.label}`}>
            <LabelGlyph mark={step.label} silent /> {markWord[step.label]}
          </span>{" "}
          {step.reason ? reasonSentence(step.reason) : markMeaning[step.label]}
        </p>
      )}
      {facts.length > 0 && (
        <dl className={classes.kv}>
          {facts.map(([name, value], index) => (
            <div key={index}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      )}
      {plan && (
        <p>
          <span className={`chip ${actionMark[plan.action]}`}>
            <LabelGlyph mark={actionMark[plan.action]} silent /> in the fork: {actionWord[plan.action]}
          </span>{" "}
          {plan.note ? sentence(plan.note) : plan.reason && reasonSentence(plan.reason)}
          {plan.differs.length > 0 && <span className="muted"> Differs: {plan.differs.join(", ")}.</span>}
          {plan.because.length > 0 && <span className="muted"> Because of step {plan.because.join(", ")}.</span>}
        </p>
      )}
    </div>
  );
}
