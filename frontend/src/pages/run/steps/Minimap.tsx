import { useComputedColorScheme } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { useEffect, useRef, type PointerEvent, type ReactElement } from "react";
import { isFailed, plannedMark } from "@/domain/steps/labels";
import { mapColors, mapContext } from "./mapCanvas";
import { actionOf, type StepPlans } from "../stepPlans";
import classes from "./Steps.module.css";
import type { Node } from "./tree";

interface Props {
  rows: Node[];
  selectedNumber: number | null;
  fork: number | null;
  plans: StepPlans | null;
  first: number;
  last: number;
  onJump: (index: number) => void;
}
const WIDTH = 18;
const BAND = 8;

/** The whole run next to the list, with errors and the fork highlighted. Click or drag to jump, like `e` and `g`. */
export function Minimap(props: Props): ReactElement {
  const { rows, selectedNumber, fork, plans, first, last } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const { ref, height } = useElementSize();
  const scheme = useComputedColorScheme("light");

  useEffect(() => {
    if (canvas.current && height > 0) draw(canvas.current, { rows, fork, plans }, height);
  }, [rows, fork, plans, height, scheme]);

  const jump = (event: PointerEvent<HTMLDivElement>) => {
    if (event.type === "pointermove" && event.buttons === 0) return;
    const box = event.currentTarget.getBoundingClientRect();
    const share = Math.max(0, Math.min(1, (event.clientY - box.top) / Math.min(box.height, rows.length * BAND)));
    props.onJump(Math.round(share * (rows.length - 1)));
  };
  // A short run fills only the top: bands have a maximum height.
  const usedHeight = Math.min(height, rows.length * BAND);
  // The selection is not part of the drawing, so that moving it is cheap.
  const selectedIndex = rows.findIndex((row) => row.step.sequence_no === selectedNumber);
  const place = (index: number) => (usedHeight * index) / Math.max(1, rows.length);
  return (
    <div ref={ref} className={classes.minimap} aria-hidden onPointerDown={jump} onPointerMove={jump}>
      <canvas ref={canvas} />
      {selectedIndex >= 0 && <i className={classes.chosen} style={{ top: place(selectedIndex) }} />}
      <i className={classes.window} style={{ top: place(first), height: place(last - first + 1) }} />
    </div>
  );
}

/** One band per row, or per pixel if there are more rows. Important rows are drawn last. */
function draw(canvas: HTMLCanvasElement, world: Pick<Props, "rows" | "fork" | "plans">, height: number): void {
  const { rows, plans } = world;
  const context = mapContext(canvas, WIDTH, height);
  if (!context) return;
  const colorOf = mapColors(canvas);
  const band = Math.min(BAND, height / rows.length);
  const thickness = Math.max(1, band - (band > 3 ? 1 : 0));
  const fillBand = (index: number, fill: string, left: number, width: number, tall = thickness) => {
    context.fillStyle = fill;
    context.fillRect(left, Math.min(height - tall, index * band), width, tall);
  };
  const stride = Math.max(1, Math.floor(rows.length / (height * 2)));
  for (let index = 0; index < rows.length; index += stride) {
    const row = rows[index];
    if (!row) continue;
    const action = actionOf(row.step.sequence_no, plans, world.fork);
    const left = 3 + Math.min(row.depth, 4) * 2;
    fillBand(index, colorOf(plannedMark(row.step, action)), left, WIDTH - left - 3);
  }
  rows.forEach((row, index) => {
    if (isFailed(row.step.status)) fillBand(index, colorOf("failed"), 1, WIDTH - 2, Math.max(2, thickness));
    if (row.step.sequence_no === world.fork) fillBand(index, colorOf("accent"), 0, WIDTH, 2);
  });
}
