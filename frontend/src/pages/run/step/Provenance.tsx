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
  const visible = showAll ? props.edges : props.edges.slice(0, VISIBLE_LIMIT);
  return (
    <section className={classes.part}>
      <h2>{props.title}</h2>
      {props.edges.length === 0 && <span className="muted">Nothing recorded.</span>}
      {visible.map((edge, index) => (
        <button key={index} type="button" className={classes.edge} onClick={() => props.onSelect(edge.step)}>
          {props.icon}
          <StepIcon type={edge.type} size={13} />
          <b className="num">{edge.step}</b>
          <span className="ellipsis">{edge.name || edge.type}</span>
          <span className={`muted ellipsis ${classes.evidence}`} title={edge.evidence}>
            {edgeWords[edge.kind]}
          </span>
        </button>
      ))}
      {props.edges.length > visible.length && (
        <button type="button" className={classes.fold} onClick={() => setShowAll(true)}>
          {props.edges.length - visible.length} more
        </button>
      )}
    </section>
  );
}
