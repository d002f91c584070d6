import { useComputedColorScheme } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { useEffect, useRef, type PointerEvent, type ReactElement } from "react";
import { plannedMark, type Mark } from "@/domain/steps/labels";
import { mapColors, mapContext } from "../steps/mapCanvas";
import { actionOf, type StepPlans } from "../stepPlans";
import type { Node } from "../steps/tree";
import { timeOf } from "./bars";
import { clamp, spanOf, type TimeRange } from "./scale";
import classes from "./Timeline.module.css";
import type { Zoom } from "./useZoom";

const HEIGHT = 22;
const BAND = { top: 7, height: 8 };
/** Later marks are drawn over earlier ones. */
const ORDER: readonly Mark[] = ["live", "exact", "cached", "simulated", "failed"];

interface Props {
  rows: readonly Node[];
  fork: number | null;
  plans: StepPlans | null;
  view: Zoom;
}

/** The whole run above the timeline, with the visible range. Drag to move it; the arrow keys do the same. */
export function RangeMap(props: Props): ReactElement {
  const { rows, fork, plans, view } = props;
  const { whole, range } = view;
  const canvas = useRef<HTMLCanvasElement>(null);
  const { ref, width } = useElementSize();
  const scheme = useComputedColorScheme("light");
  useEffect(() => {
    if (canvas.current && width > 0) draw(canvas.current, { rows, fork, plans }, whole, width);
  }, [rows, fork, plans, whole, width, scheme]);
  const percent = (time: number) => ((time - whole.start) / spanOf(whole)) * 100;
  const center = (event: PointerEvent<HTMLDivElement>) => {
    if (event.type === "pointermove" && event.buttons === 0) return;
    const box = event.currentTarget.getBoundingClientRect();
    const time = whole.start + ((event.clientX - box.left) / box.width) * spanOf(whole);
    const half = spanOf(range) / 2;
    if (!view.isWhole) view.show(clamp({ start: time - half, end: time + half }, whole));
  };
  return (
    <div ref={ref} className={classes.map} aria-hidden onPointerDown={center} onPointerMove={center}>
      <canvas ref={canvas} height={HEIGHT} />
      {!view.isWhole && (
        <i style={{ left: `${percent(range.start)}%`, width: `${percent(range.end) - percent(range.start)}%` }} />
      )}
    </div>
  );
}

/** One rectangle per step without children, by mark, so that errors stay visible among a hundred thousand steps. */
function draw(
  canvas: HTMLCanvasElement,
  { rows, fork, plans }: Omit<Props, "view">,
  whole: TimeRange,
  width: number,
): void {
  const context = mapContext(canvas, width, HEIGHT);
  if (!context) return;
  const colorOf = mapColors(canvas);
  const paths = new Map<Mark, Path2D>(ORDER.map((mark) => [mark, new Path2D()]));
  for (const { step, children } of rows) {
    const time = timeOf(step);
    if (!time || children.length > 0) continue;
    const left = ((time.start - whole.start) / spanOf(whole)) * width;
    const length = ((time.end - time.start) / spanOf(whole)) * width;
    const mark = plannedMark(step, actionOf(step.sequence_no, plans, fork));
    // A gap of half a pixel tells neighbours apart.
    paths.get(mark)?.rect(left, BAND.top, Math.max(1, length - 0.5), BAND.height);
  }
  for (const [mark, path] of paths) {
    context.fillStyle = colorOf(mark);
    context.fill(path);
  }
}
