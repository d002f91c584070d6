import { SegmentedControl, Select } from "@mantine/core";
import { IconStar } from "@tabler/icons-react";
import { useMemo, useState, type CSSProperties, type ReactElement } from "react";
import type { CellView } from "@/api/schema";
import { parseModelName } from "@/domain/overrides/modelName";
import { money, pluralize } from "@/ui/format/numbers";
import { figureOf, measureTitle, remarks, scaleOf, scaleText, type HeatMeasure, type Scale } from "./figures";
import { grids, layOut, varyingAxes, type Grid, type Layout } from "./grid";
import { Interval } from "./Interval";
import classes from "./HeatMap.module.css";

interface Props {
  cells: readonly CellView[];
  samples: number;
  hasChecks: boolean;
  /** Whether a value of an axis changes nothing. */
  isRecorded: (axis: string, value: string) => boolean;
  /** The number of the best cell. */
  best: number | null;
  selection: number;
  onSelect: (cell: number) => void;
}

/** Every combination as a cell: the value in print, its interval as a line with a dot, and one hue by value. */
export function HeatMap(props: Props): ReactElement {
  const { cells, hasChecks } = props;
  const measures: HeatMeasure[] = [
    ...(hasChecks ? (["pass"] as const) : []),
    "similarity",
    "cost",
    "latency",
    "tokens",
  ];
  const [measure, setMeasure] = useState<HeatMeasure>(measures[0] ?? "similarity");
  const axes = useMemo(() => varyingAxes(cells), [cells]);
  const [names, setNames] = useState<{ rows?: string; columns?: string }>({});
  const layout = layOut(axes, names.rows, names.columns);
  const scale = scaleOf(cells, measure);
  return (
    <section className={`panel ${classes.panel}`} aria-label="Heat map">
      <header className={classes.head}>
        <h2>{measureTitle[measure]}</h2>
        <span className={`muted num grow ${classes.caption}`}>
          {pluralize(props.samples, "sample")} per cell, {measure === "pass" ? "95 % intervals" : "mean and range"}
        </span>
        {scale && <Legend measure={measure} scale={scale} />}
        <SegmentedControl
          aria-label="Figure"
          value={measure}
          onChange={setMeasure}
          data={measures.map((value) => ({ value, label: measureTitle[value] }))}
        />
      </header>
      {axes.length > 2 && (
        <div className={classes.axes}>
          <AxisSelect label="Rows" axes={axes} layout={layout} side="rows" onChange={setNames} />
          <AxisSelect label="Columns" axes={axes} layout={layout} side="columns" onChange={setNames} />
        </div>
      )}
      {grids(cells, layout).map((grid) => (
        <GridTable
          key={grid.rest.map(({ value }) => value).join("\n")}
          grid={grid}
          layout={layout}
          measure={measure}
          scale={scale}
          {...props}
        />
      ))}
    </section>
  );
}

function Legend({ measure, scale }: { measure: HeatMeasure; scale: Scale }): ReactElement {
  const [low, high] = scaleText(measure, scale);
  return (
    <span className={`${classes.legend} num`} aria-hidden>
      {low}
      <i />
      {high}
    </span>
  );
}

function AxisSelect(props: {
  label: string;
  axes: ReturnType<typeof varyingAxes>;
  layout: Layout;
  side: "rows" | "columns";
  onChange: (names: { rows?: string; columns?: string }) => void;
}): ReactElement {
  const { layout, side } = props;
  const oppositeSide = side === "rows" ? "columns" : "rows";
  const current = { rows: layout.rows?.name, columns: layout.columns?.name };
  return (
    <Select
      label={props.label}
      size="xs"
      allowDeselect={false}
      data={props.axes.map(({ name }) => name)}
      value={current[side] ?? null}
      onChange={(name) => {
        if (name === null) return;
        // The axis of the other side changes places with this one.
        const replacement = name === current[oppositeSide] ? current[side] : current[oppositeSide];
        props.onChange({ [side]: name, ...(replacement !== undefined && { [oppositeSide]: replacement }) });
      }}
    />
  );
}

interface GridProps extends Props {
  grid: Grid;
  layout: Layout;
  measure: HeatMeasure;
  scale: Scale | null;
}

function GridTable(props: GridProps): ReactElement {
  const { grid, layout, measure } = props;
  const columns = layout.columns?.values ?? [];
  const restText = grid.rest.map(({ axis, value }) => `${axis}: ${value}`).join(", ");
  const axesText = [layout.rows?.name, layout.columns?.name].filter(Boolean).join(" and ");
  const title = [measureTitle[measure], axesText && `by ${axesText}`].filter(Boolean).join(" ");
  return (
    <>
      {restText && <h3 className={classes.rest}>{restText}</h3>}
      <div
        role="table"
        aria-label={restText ? `${title}, ${restText}` : title}
        className={classes.grid}
        style={{ "--columns": Math.max(1, columns.length) } as CSSProperties}
        data-rows={layout.rows !== null}
      >
        {layout.columns && (
          <div role="row" className={`${classes.row} ${classes.titles}`}>
            {layout.rows && (
              <span role="columnheader" className={classes.corner}>
                <span>{layout.rows.name}</span>
                <span>{layout.columns.name}</span>
              </span>
            )}
            {columns.map((value) => (
              <span key={value} role="columnheader" className={classes.columnTitle}>
                <AxisValue axis={layout.columns?.name} value={value} />
              </span>
            ))}
          </div>
        )}
        {grid.rows.map((row) => (
          <div key={row.value} role="row" className={classes.row}>
            {layout.rows && (
              <span role="rowheader" className={classes.rowTitle}>
                <AxisValue axis={layout.rows.name} value={row.value} />
                {props.isRecorded(layout.rows.name, row.value) && <small>no change</small>}
              </span>
            )}
            {row.cells.map((cell, index) => (
              <div key={columns[index] ?? ""} role="cell" className={classes.place} data-column={columns[index]}>
                {cell ? <Cell cell={cell} {...props} /> : null}
              </div>
            ))}
          </div>
        ))}
      </div>
    </>
  );
}

/** A value of an axis; a model with its provider below it. */
function AxisValue({ axis, value }: { axis: string | undefined; value: string }): ReactElement {
  const { provider, model } = parseModelName(value);
  if (axis !== "model" || !provider) return <>{value}</>;
  return (
    <>
      {model}
      <small>{provider}</small>
    </>
  );
}

function Cell({
  cell,
  measure,
  scale,
  hasChecks,
  best,
  selection,
  onSelect,
}: GridProps & { cell: CellView }): ReactElement {
  const figure = figureOf(cell, measure, scale);
  const isBest = cell.cell === best;
  const notes = remarks(cell);
  return (
    <button
      type="button"
      className={classes.cell}
      aria-pressed={cell.cell === selection}
      data-best={isBest}
      data-empty={figure.position === null}
      style={{ "--value": figure.position?.value ?? 0 } as CSSProperties}
      onClick={() => onSelect(cell.cell)}
    >
      <span className={classes.value}>
        <b>{figure.text}</b>
        {isBest && (
          <span className={classes.best}>
            <IconStar size={13} aria-hidden /> Best
          </span>
        )}
      </span>
      {figure.position && <Interval {...figure.position} />}
      <small className="num">
        <span>{figure.interval}</span>
        <span>{measure === "cost" ? hasChecks && figureOf(cell, "pass", null).text : costText(cell)}</span>
      </small>
      {notes.length > 0 && <small>{notes.join(" · ")}</small>}
    </button>
  );
}

function costText({ cost_usd, finished }: CellView): string {
  if (cost_usd) return money(cost_usd.mean);
  return finished > 0 ? "cost unknown" : "";
}
