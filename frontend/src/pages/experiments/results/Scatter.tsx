import { SegmentedControl } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useState, type ReactElement } from "react";
import {
  CartesianGrid,
  Legend,
  ResponsiveContainer,
  Scatter as Points,
  ScatterChart,
  Tooltip,
  XAxis,
  YAxis,
} from "recharts";
import type { ExperimentRowView } from "@/api/schema";
import { duration, money, tokens } from "@/ui/format/numbers";
import { score } from "@/domain/diffs/score";
import { paths } from "@/app/paths";
import { bestMeasure, cellName, measureOf, measureTitle, type Measure } from "../measures";
import classes from "../Experiments.module.css";

// Shape and colour together, never colour alone.
const SHAPES = ["circle", "square", "triangle", "diamond", "star", "cross", "wye"] as const;
const COLOURS = ["--accent", "--exact", "--simulated", "--cached", "--failed", "--live"] as const;
const format: Record<Measure, (value: number) => string> = { cost: money, tokens, latency: duration };
const measures = (Object.keys(measureTitle) as Measure[]).map((value) => ({ value, label: measureTitle[value] }));

interface Point {
  x: number;
  y: number;
  row: ExperimentRowView;
}

/** Cost of each row against its similarity to the source. The table contains the same figures. */
export default function Scatter({ rows }: { rows: readonly ExperimentRowView[] }): ReactElement {
  const [pickedMeasure, setPickedMeasure] = useState<Measure | null>(null);
  const measure = pickedMeasure ?? bestMeasure(rows);
  const navigate = useNavigate();
  const cells = byCell(rows, measure);
  return (
    <>
      <div className="bar">
        <h2 className="grow">{measureTitle[measure]} against similarity</h2>
        <SegmentedControl
          size="xs"
          value={measure}
          onChange={setPickedMeasure}
          data={measures}
          aria-label="Horizontal axis"
        />
      </div>
      {cells.length === 0 ? (
        <p className="muted">Finished rows with known figures appear here.</p>
      ) : (
        <ResponsiveContainer width="100%" height={230} className={classes.plot ?? ""}>
          <ScatterChart margin={{ top: 10, right: 14, bottom: 4, left: 0 }} accessibilityLayer={false}>
            <CartesianGrid stroke="var(--line)" />
            <XAxis
              type="number"
              dataKey="x"
              name={measureTitle[measure]}
              tickFormatter={format[measure]}
              stroke="var(--muted)"
              fontSize={11}
              domain={["auto", "auto"]}
              padding={{ left: 12, right: 12 }}
            />
            <YAxis type="number" dataKey="y" domain={[0, 1]} width={34} stroke="var(--muted)" fontSize={11} />
            <Tooltip
              cursor={false}
              isAnimationActive={false}
              content={({ payload }) => <Hint point={payload[0]?.payload as Point | undefined} measure={measure} />}
            />
            {cells.length > 1 && <Legend wrapperStyle={{ fontSize: 11.5 }} itemSorter={null} />}
            {cells.map(({ name, points }, index) => (
              <Points
                key={name}
                name={name}
                data={points}
                isAnimationActive={false}
                shape={SHAPES[index % SHAPES.length]}
                legendType={SHAPES[index % SHAPES.length]}
                fill={`var(${COLOURS[index % COLOURS.length] ?? "--accent"})`}
                cursor="pointer"
                onClick={(_, index) => {
                  const row = points[index]?.row;
                  if (row) void navigate(row.diff ? paths.diff(row.diff) : paths.replay(row.session));
                }}
              />
            ))}
          </ScatterChart>
        </ResponsiveContainer>
      )}
    </>
  );
}

function Hint({ point, measure }: { point: Point | undefined; measure: Measure }): ReactElement | null {
  if (!point) return null;
  return (
    <div className={`panel ${classes.hint}`}>
      <b>{cellName(point.row.settings)}</b>, sample {point.row.sample}
      <div className="muted num">
        similarity {score(point.y)} · {format[measure](point.x)}
      </div>
    </div>
  );
}

function byCell(rows: readonly ExperimentRowView[], measure: Measure): { name: string; points: Point[] }[] {
  const cells = new Map<string, Point[]>();
  for (const row of rows) {
    const x = measureOf(row, measure);
    if (x === null || row.output_similarity === null) continue;
    const name = cellName(row.settings);
    cells.set(name, [...(cells.get(name) ?? []), { x, y: row.output_similarity, row }]);
  }
  return [...cells].map(([name, points]) => ({ name, points }));
}
