import { useComputedColorScheme } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { useEffect, useRef, type PointerEvent, type ReactElement } from "react";
import { actionMark, isFailed, markOf } from "@/domain/steps/labels";
import type { Planned } from "../stepPlans";
import classes from "./Steps.module.css";
import type { Node } from "./tree";

interface Props {
  rows: Node[];
  selected: number | null;
  fork: number | null;
  planned: Planned | null;
  first: number;
  last: number;
  onJump: (index: number) => void;
}
const WIDTH = 18;
const BAND = 8;

/** The whole run beside the list: errors and the fork stand out, press or drag to go there. The keys `e` and `g` do the same. */
export function Minimap(props: Props): ReactElement {
  const { rows, selected, fork, planned, first, last } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const { ref, height } = useElementSize();
  const scheme = useComputedColorScheme("light");

  useEffect(() => {
    if (canvas.current && height > 0) draw(canvas.current, { rows, fork, planned }, height);
  }, [rows, fork, planned, height, scheme]);

  const jump = (event: PointerEvent<HTMLDivElement>) => {
    if (event.type === "pointermove" && event.buttons === 0) return;
    const box = event.currentTarget.getBoundingClientRect();
    const share = Math.max(0, Math.min(1, (event.clientY - box.top) / Math.min(box.height, rows.length * BAND)));
    props.onJump(Math.round(share * (rows.length - 1)));
  };
  // A short run fills only the top: its bands do not grow beyond a readable height.
  const filled = Math.min(height, rows.length * BAND);
  // The selection is no part of the drawing: to move it costs nothing.
  const chosen = rows.findIndex((row) => row.step.sequence_no === selected);
  const place = (index: number) => (filled * index) / Math.max(1, rows.length);
  return (
    <div ref={ref} className={classes.minimap} aria-hidden onPointerDown={jump} onPointerMove={jump}>
      <canvas ref={canvas} />
      {chosen >= 0 && <i className={classes.chosen} style={{ top: place(chosen) }} />}
      <i className={classes.window} style={{ top: place(first), height: place(last - first + 1) }} />
    </div>
  );
}

/** One band a row, or one a pixel where there are more rows than pixels; what matters is drawn last. */
function draw(canvas: HTMLCanvasElement, world: Pick<Props, "rows" | "fork" | "planned">, height: number): void {
  const { rows, planned } = world;
  const scale = window.devicePixelRatio || 1;
  canvas.width = WIDTH * scale;
  canvas.height = height * scale;
  const context = canvas.getContext("2d");
  if (!context) return;
  context.scale(scale, scale);
  const style = getComputedStyle(canvas);
  const colors = new Map<string, string>();
  const color = (name: string): string => {
    const known = colors.get(name) ?? (style.getPropertyValue(`--map-${name}`).trim() || style.color);
    colors.set(name, known);
    return known;
  };
  const band = Math.min(BAND, height / rows.length);
  const thick = Math.max(1, band - (band > 3 ? 1 : 0));
  const paint = (index: number, fill: string, left: number, width: number, tall = thick) => {
    context.fillStyle = fill;
    context.fillRect(left, Math.min(height - tall, index * band), width, tall);
  };
  const stride = Math.max(1, Math.floor(rows.length / (height * 2)));
  for (let index = 0; index < rows.length; index += stride) {
    const row = rows[index];
    if (!row) continue;
    const plan = planned?.get(row.step.sequence_no);
    const takenOver = planned !== null && world.fork !== null && row.step.sequence_no < world.fork;
    const left = 3 + Math.min(row.depth, 4) * 2;
    paint(
      index,
      color(plan ? actionMark[plan.action] : takenOver ? "exact" : markOf(row.step)),
      left,
      WIDTH - left - 3,
    );
  }
  rows.forEach((row, index) => {
    if (isFailed(row.step.status)) paint(index, color("failed"), 1, WIDTH - 2, Math.max(2, thick));
    if (row.step.sequence_no === world.fork) paint(index, color("accent"), 0, WIDTH, 2);
  });
}
