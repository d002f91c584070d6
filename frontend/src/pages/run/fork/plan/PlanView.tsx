import { Loader, Tooltip, UnstyledButton } from "@mantine/core";
import { useLocalStorage } from "@mantine/hooks";
import { IconChevronDown, IconChevronRight } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { Determinism, Plan, PlanRefusal } from "@/api/schema";
import { LabelBar } from "@/features/labels/LabelBar";
import { LabelGlyph } from "@/features/labels/LabelGlyph";
import { actionMark, markWord, reasonSentence, type Mark } from "@/domain/steps/labels";
import { count, pluralize } from "@/ui/format/numbers";
import { paths } from "@/app/paths";
import classes from "../Fork.module.css";
import { BlockedStep, Note, Refusal, Warnings } from "@/features/overrides/Remarks";
import type { Fork } from "../useFork";
import { planPrice, planLines } from "./wording";
import { sentence } from "@/ui/format/text";

/** Blocked steps to list by name. Others are counted. */
const LISTED_LIMIT = 4;
const marks: readonly Mark[] = ["exact", "cached", "simulated", "failed", "live"];

interface Props {
  fork: Fork;
  /** Refusals that concern no single override. */
  orphans: PlanRefusal[];
  onSelect: (sequenceNo: number) => void;
}

/** What a replay would do with every step, and what it would cost, before anything runs. One line that unfolds. */
export function PlanView({ fork, orphans, onSelect }: Props): ReactElement {
  const { plan, error, stale } = fork;
  const [opened, setOpened] = useLocalStorage({ key: "fork-plan-open", defaultValue: false });
  const Chevron = opened ? IconChevronDown : IconChevronRight;
  const counts = plan && { ...plan.counts, failed: plan.actions.blocked ?? 0 };
  return (
    <section className={classes.plan} aria-label="Plan" aria-busy={stale} tabIndex={0}>
      <UnstyledButton className={classes.planHead} aria-expanded={opened} onClick={() => setOpened(!opened)}>
        <Chevron size={15} aria-hidden />
        <b>Plan</b>
        {counts && <LabelCounts counts={counts} />}
        {stale && <Loader size={11} role="img" aria-label="Planning" />}
        <span className="grow" />
        {plan && <span className="muted num">{planPrice(plan)}</span>}
      </UnstyledButton>
      {counts && <LabelBar counts={counts} />}
      {plan && opened && <PlanLines plan={plan} onSelect={onSelect} />}
      {plan && fork.draft.overrides.length === 0 && <UnrecordedSteps plan={plan} onSelect={onSelect} />}
      {error && <Refusal>{sentence(error.message)}</Refusal>}
      {plan && <Problems plan={plan} orphans={orphans} onSelect={onSelect} />}
    </section>
  );
}

/** "● 3 exact ◐ 1 cached": steps by the label that they would have. */
function LabelCounts({ counts }: { counts: Partial<Record<Mark, number>> }): ReactElement {
  const present = marks.filter((mark) => (counts[mark] ?? 0) > 0);
  return (
    <span className={classes.counts}>
      {present.map((mark) => (
        <span key={mark} className={`num ${mark}`}>
          <LabelGlyph mark={mark} silent /> {count(counts[mark] ?? 0)} {markWord[mark]}
        </span>
      ))}
    </span>
  );
}

function PlanLines({ plan, onSelect }: { plan: Plan; onSelect: (step: number) => void }): ReactElement {
  return (
    <>
      <ul className={classes.lines}>
        {planLines(plan).map(({ key, action, text, steps }) => (
          <li key={key} className={actionMark[action]}>
            <LabelGlyph mark={actionMark[action]} silent /> <span className="grow">{text}</span>
            {steps && <span className={`muted num ${classes.lineSteps}`}>{steps}</span>}
          </li>
        ))}
      </ul>
      {plan.assumed > 0 && <AssumedSteps plan={plan} onSelect={onSelect} />}
      <TypedMessages plan={plan} onSelect={onSelect} />
      <Kind type={plan.replay_type} determinism={plan.determinism} assumedCount={plan.assumed} />
      {plan.loop && <Note>{sentence(plan.loop)}</Note>}
    </>
  );
}

/** What needs a decision before the replay. Always in view. */
function Problems({
  plan,
  orphans,
  onSelect,
}: {
  plan: Plan;
  orphans: PlanRefusal[];
  onSelect: (step: number) => void;
}): ReactElement {
  const blockedSteps = plan.steps.filter((step) => step.action === "blocked");
  return (
    <>
      {orphans.map((refusal) => (
        <Refusal key={refusal.code + refusal.where + refusal.detail}>
          {sentence(refusal.detail)}
          {refusal.code === "tool_review_required" && <Link {...paths.tools()}> Review tools</Link>}
          {refusal.step !== null && <StepLink step={refusal.step} onSelect={onSelect} />}
        </Refusal>
      ))}
      {blockedSteps.slice(0, LISTED_LIMIT).map((step) => (
        <BlockedStep key={step.sequence_no}>
          <b>{step.name}</b> stays blocked: {step.note || reasonSentence(step.reason)}
          <StepLink step={step.sequence_no} onSelect={onSelect} />
        </BlockedStep>
      ))}
      {blockedSteps.length > LISTED_LIMIT && (
        <p className="muted">{pluralize(blockedSteps.length - LISTED_LIMIT, "more blocked step")}</p>
      )}
      <Warnings texts={plan.warnings} />
    </>
  );
}

/** Steps that are simulated although nothing changes them, not even a call that is made again. */
function UnrecordedSteps({ plan, onSelect }: { plan: Plan; onSelect: (step: number) => void }): ReactElement | null {
  const steps = plan.steps.filter(
    ({ reason, differs, because }) =>
      reason === "simulation_policy_fallback" && differs.length === 0 && because.length === 0,
  );
  if (steps.length === 0) return null;
  return (
    <Note>
      {steps.length === 1 ? "The output of 1 step is" : `The outputs of ${count(steps.length)} steps are`} not
      available. Even without changes, {steps.length === 1 ? "it gets a placeholder" : "they get placeholders"}:
      {steps.slice(0, LISTED_LIMIT).map((step) => (
        <StepLink key={step.sequence_no} step={step.sequence_no} onSelect={onSelect} />
      ))}
    </Note>
  );
}

/** Steps that the change may reach without a trace, and how to handle them. */
function AssumedSteps({ plan, onSelect }: { plan: Plan; onSelect: (step: number) => void }): ReactElement {
  const steps = plan.steps.filter((step) => step.reason === "assumed_unaffected").slice(0, LISTED_LIMIT);
  return (
    <Note>
      {pluralize(plan.assumed, "step")} assumed unaffected. Where the change does reach one, run the agent or set the
      value by hand:
      {steps.map((step) => (
        <StepLink key={step.sequence_no} step={step.sequence_no} onSelect={onSelect} />
      ))}
    </Note>
  );
}

/** Steps with user messages that follow a changed answer. */
function TypedMessages({ plan, onSelect }: { plan: Plan; onSelect: (step: number) => void }): ReactElement | null {
  const steps = plan.steps.filter((step) => step.typed.length > 0);
  if (steps.length === 0) return null;
  return (
    <Note>
      {pluralize(steps.length, "step")} with user messages that follow a changed answer. They stay as recorded, although
      the user might have replied differently:
      {steps.slice(0, LISTED_LIMIT).map((step) => (
        <StepLink key={step.sequence_no} step={step.sequence_no} onSelect={onSelect} />
      ))}
    </Note>
  );
}

function StepLink({ step, onSelect }: { step: number; onSelect: (step: number) => void }): ReactElement {
  return (
    <>
      {" "}
      <button type="button" className={classes.link} onClick={() => onSelect(step)}>
        step {step}
      </button>
    </>
  );
}

/** Kurral's replay type and determinism score, with their inputs. */
function Kind(props: { type: Plan["replay_type"]; determinism: Determinism; assumedCount: number }): ReactElement {
  const { type, determinism, assumedCount } = props;
  const factors = Object.entries(determinism.factors).map(([name, value]) => `${name} ${value.toFixed(2)}`);
  const changes = [...determinism.critical_changes, ...determinism.other_changes];
  const meaning = type === "A" ? "same configuration" : "changed configuration";
  return (
    <Tooltip
      label={
        <>
          {factors.length > 0
            ? `Mean of ${factors.join(", ")}. Below ${determinism.threshold}, the type is B.`
            : "There is no current configuration to compare with."}
          {changes.length > 0 && <div>Changed: {changes.join(", ")}.</div>}
        </>
      }
    >
      <div className={`${classes.kind} num`} tabIndex={0}>
        <span className="chip">replay {type}</span>
        <span className="muted ellipsis grow">{meaning}</span>
        <span className="muted">determinism</span>{" "}
        <b>{determinism.score === null ? "unknown" : determinism.score.toFixed(2)}</b>
        {assumedCount > 0 && <span className="chip simulated">{count(assumedCount)} assumed</span>}
      </div>
    </Tooltip>
  );
}
