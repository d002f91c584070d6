import { useQuery } from "@tanstack/react-query";
import { useMemo, useState, type PointerEvent, type ReactElement } from "react";
import { stepsQuery } from "@/api/runs/runs";
import { count, money, pluralize, tokens } from "@/ui/format/numbers";
import { pointAt, stairs, usageCurve, type UsageCurve, type UsagePoint } from "./curve";
import classes from "./UsageCurves.module.css";

const NO_USAGE: UsagePoint = { step: 1, tokens: 0, cost: 0 };
const BOX = { width: 400, height: 40 };

/** Tokens and cost along the run, added up call by call. */
export function UsageCurves({ run, lastStep }: { run: string; lastStep: number }): ReactElement | null {
  const { data } = useQuery(stepsQuery(run));
  const curve = useMemo(() => (data ? usageCurve(data) : null), [data]);
  const [pointerStep, setPointerStep] = useState<number | null>(null);
  if (!curve) return <p className={classes.note}>Loading…</p>;
  const last = curve.points.at(-1);
  if (!last) return null;
  const sum = pointerStep === null ? last : (pointAt(curve.points, pointerStep) ?? NO_USAGE);
  const place = pointerStep === null ? "" : `up to step ${count(pointerStep)}`;
  const follow = (event: PointerEvent<HTMLElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    const share = Math.max(0, Math.min(1, (event.clientX - box.left) / box.width));
    setPointerStep(Math.round(1 + share * (lastStep - 1)));
  };
  const hasCost = curve.unknownCosts < curve.calls;
  return (
    <div className={classes.curves} onPointerLeave={() => setPointerStep(null)}>
      {curve.unknownTokens < curve.calls && (
        <Curve
          title="Tokens"
          value={tokens(sum.tokens)}
          place={place}
          values={curve.points.map(({ step, tokens: value }) => ({ step, value }))}
          top={last.tokens}
          lastStep={lastStep}
          pointerStep={pointerStep}
          onPointer={follow}
        />
      )}
      {hasCost && (
        <Curve
          title="Cost"
          value={`${money(sum.cost)}${curve.unknownCosts > 0 ? " + ?" : ""}`}
          place={place}
          values={curve.points.map(({ step, cost: value }) => ({ step, value }))}
          top={last.cost}
          lastStep={lastStep}
          pointerStep={pointerStep}
          onPointer={follow}
        />
      )}
      {gaps(curve).map((sentence) => (
        <p key={sentence} className={classes.note}>
          {sentence}
        </p>
      ))}
    </div>
  );
}

/** What the curves leave out. */
function gaps({ calls, unknownCosts, unknownTokens }: UsageCurve): string[] {
  const sentences: string[] = [];
  if (unknownCosts === calls) sentences.push("The cost of these calls is unknown.");
  else if (unknownCosts > 0) {
    sentences.push(
      `The cost of ${count(unknownCosts)} of ${pluralize(calls, "call")} is unknown and not in the curve.`,
    );
  }
  if (unknownTokens > 0)
    sentences.push(`No tokens were recorded for ${count(unknownTokens)} of ${pluralize(calls, "call")}.`);
  return sentences;
}

function Curve(props: {
  title: string;
  value: string;
  place: string;
  values: readonly { step: number; value: number }[];
  top: number;
  lastStep: number;
  pointerStep: number | null;
  onPointer: (event: PointerEvent<HTMLElement>) => void;
}): ReactElement {
  const outline = stairs(props.values, { ...BOX, first: 1, last: props.lastStep, top: props.top });
  const share = props.pointerStep === null ? null : (props.pointerStep - 1) / Math.max(1, props.lastStep - 1);
  return (
    <figure className={classes.figure}>
      <figcaption className="num">
        <span className="muted">{props.title}</span> <b>{props.value}</b> <span className="muted">{props.place}</span>
      </figcaption>
      <div className={classes.plot} onPointerMove={props.onPointer}>
        <svg
          viewBox={`0 0 ${BOX.width} ${BOX.height}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${props.title} along the run, up to ${props.value} at step ${count(props.lastStep)}`}
        >
          <path className={classes.area} d={`${outline}V${BOX.height}Z`} />
          <path className={classes.line} d={outline} />
        </svg>
        {share !== null && <i style={{ left: `${share * 100}%` }} />}
      </div>
      <div className={`${classes.ends} num`} aria-hidden>
        <span>step 1</span>
        <span>{count(props.lastStep)}</span>
      </div>
    </figure>
  );
}
