import { IconArrowLeft, IconArrowRight } from "@tabler/icons-react";
import { useState, type ReactElement } from "react";
import type { EdgeView, StepDetail } from "@/api/schema";
import { StepIcon } from "@/features/steps/StepIcon";
import { edgeWords } from "../edgeKinds";
import classes from "./Step.module.css";

const VISIBLE_LIMIT = 8;

/** Sources of this input and consumers of this output, as links. */
export function Provenance({
  step,
  onSelect,
}: {
  step: StepDetail;
  onSelect: (sequenceNo: number) => void;
}): ReactElement | null {
  if (step.consumed.length + step.produced_for.length === 0) return null;
  return (
    <div className={classes.provenance}>
      <Side
        title="Comes from"
        edges={step.consumed}
        icon={<IconArrowLeft size={13} aria-hidden />}
        onSelect={onSelect}
      />
      <Side
        title="Goes to"
        edges={step.produced_for}
        icon={<IconArrowRight size={13} aria-hidden />}
        onSelect={onSelect}
      />
    </div>
  );
}

function Side(props: {
  title: string;
  edges: EdgeView[];
  icon: ReactElement;
  onSelect: (sequenceNo: number) => void;
}): ReactElement {
  const [showAll, setShowAll] = useState(false);
  const steps = [...new Set(props.edges.map(({ step }) => step))];
  const visible = showAll ? steps : steps.slice(0, VISIBLE_LIMIT);
  return (
    <section className={classes.part}>
      <h2>{props.title}</h2>
      {props.edges.length === 0 && <span className="muted">Nothing recorded.</span>}
      {visible.map((step) => (
        <StepButton
          key={step}
          step={step}
          edges={props.edges.filter((edge) => edge.step === step)}
          icon={props.icon}
          onSelect={props.onSelect}
        />
      ))}
      {steps.length > visible.length && (
        <button type="button" className={classes.fold} onClick={() => setShowAll(true)}>
          {steps.length - visible.length} more
        </button>
      )}
    </section>
  );
}

/** One step at the other end, with all that is known of how it is connected. */
function StepButton(props: {
  step: number;
  edges: readonly EdgeView[];
  icon: ReactElement;
  onSelect: (sequenceNo: number) => void;
}): ReactElement {
  const { step, edges } = props;
  const [first] = edges;
  return (
    <button type="button" className={classes.edge} onClick={() => props.onSelect(step)}>
      {props.icon}
      {first && <StepIcon type={first.type} size={13} />}
      <b className="num">{step}</b>
      <span className="ellipsis">{first && (first.name || first.type)}</span>
      <span className={`muted ellipsis ${classes.evidence}`} title={edges.map(({ evidence }) => evidence).join("\n")}>
        {[...new Set(edges.map(({ kind }) => edgeWords[kind]))].join(", ")}
      </span>
    </button>
  );
}
