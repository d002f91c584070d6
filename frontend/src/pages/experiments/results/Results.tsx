import { SegmentedControl } from "@mantine/core";
import { useState, type ReactElement } from "react";
import type { ExperimentView } from "@/api/schema";
import { pluralize } from "@/ui/format/numbers";
import { cellName } from "../measures";
import { CellsTable } from "./CellsTable";
import { CellPanel } from "./heat/CellPanel";
import { HeatMap } from "./heat/HeatMap";
import { standing, standingWords } from "./heat/standing";
import { ResultsTable } from "./ResultsTable";
import classes from "../Experiments.module.css";

interface Props {
  view: ExperimentView;
  /** The rows chosen for a diff. */
  selection: readonly number[];
  /** Null: rows cannot be chosen, and link to nothing. */
  onChoose: ((row: number) => void) | null;
}

/** What an experiment found: the best combination, the heat map, and all figures. */
export function Results(props: Props): ReactElement {
  return (
    <>
      <Overview view={props.view} />
      <Tables {...props} />
    </>
  );
}

/** The best combination in one sentence, the heat map, and one cell of it in detail. */
function Overview({ view }: { view: ExperimentView }): ReactElement {
  const cells = view.aggregates;
  const hasChecks = view.request.checks.length > 0;
  const result = standing(cells, hasChecks);
  const best = result.kind === "best" ? result.cell.cell : null;
  const [pickedCell, setPickedCell] = useState<number | null>(null);
  const cell = cells.find(({ cell }) => cell === (pickedCell ?? best)) ?? cells[0];
  const { claim, remark } = standingWords(result, cellName(cells), cells.length);
  return (
    <>
      <p className={classes.lead}>
        {claim && (
          <b>
            {view.status === "running" && "So far: "}
            {view.status === "running" ? claim : claim.replace(/^as recorded/, "As recorded")}
          </b>
        )}{" "}
        <span className="muted">{remark}</span>
      </p>
      <div className={classes.overview}>
        <HeatMap
          cells={cells}
          samples={view.samples}
          hasChecks={hasChecks}
          isRecorded={(axisName, value) => isRecorded(view, axisName, value)}
          best={best}
          selection={cell?.cell ?? 0}
          onSelect={setPickedCell}
        />
        {cell && (
          <CellPanel
            name={cellName(cells)(cell)}
            cell={cell}
            rows={view.results.filter((row) => row.cell === cell.cell)}
            isBest={cell.cell === best}
          />
        )}
      </div>
    </>
  );
}

function isRecorded({ request }: ExperimentView, axisName: string, value: string): boolean {
  const axis = request.axes.find(({ name }) => name === axisName);
  return axis?.values.find(({ name }) => name === value)?.overrides.length === 0;
}

/** The figures in tables: by combination, which with one sample is the same as by replay. */
function Tables({ view, selection, onChoose }: Props): ReactElement {
  const hasSamples = view.samples > 1;
  const [tab, setTab] = useState<"combinations" | "replays">(hasSamples ? "combinations" : "replays");
  const hasChecks = view.request.checks.length > 0;
  const result = standing(view.aggregates, hasChecks);
  const nameOf = cellName(view.aggregates);
  return (
    <section className="panel" aria-label="Results">
      {hasSamples && (
        <div className={classes.tabs}>
          <SegmentedControl
            aria-label="Rows of the table"
            value={tab}
            onChange={setTab}
            data={[
              { value: "combinations", label: pluralize(view.cells, "combination") },
              { value: "replays", label: pluralize(view.rows, "replay") },
            ]}
          />
        </div>
      )}
      {tab === "combinations" ? (
        <CellsTable
          cells={view.aggregates}
          nameOf={nameOf}
          best={result.kind === "best" ? result.cell.cell : null}
          hasChecks={hasChecks}
        />
      ) : (
        <ResultsTable
          rows={view.results}
          nameOf={nameOf}
          hasChecks={hasChecks}
          selection={selection}
          onChoose={onChoose}
        />
      )}
    </section>
  );
}
