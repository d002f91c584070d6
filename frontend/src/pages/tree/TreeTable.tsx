import { Checkbox } from "@mantine/core";
import { Link, useNavigate } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { TreeRun } from "@/api/schema";
import { timeAgo, count, duration, money, fullTime, tokens } from "@/ui/format/numbers";
import { CheckSummary } from "@/features/checks/CheckSummary";
import { LabelBar } from "@/features/labels/LabelBar";
import { useRowSelection } from "@/ui/keyboard/useRowSelection";
import { score } from "@/domain/diffs/score";
import { OutcomeWord, RunOutcome } from "@/features/runs/RunOutcome";
import { RunLink } from "@/features/share/RunLink";
import { paths } from "@/app/paths";
import { useShortcuts } from "@/ui/keyboard/shortcuts";
import { ORIGIN, treeTitle } from "./tree";
import list from "@/ui/ListPage.module.css";
import classes from "./Tree.module.css";

interface Props {
  runs: readonly TreeRun[];
  currentRun: string | null;
  /** The runs chosen for a diff. Null: runs cannot be chosen or opened. */
  selection: readonly string[] | null;
  onChoose?: (id: string) => void;
}

const FIGURES = ["ARS", "Output", "Tools", "Checks", "Tokens", "Cost", "Latency"];

/** One row per run, forks below their source. */
export function TreeTable({ runs, currentRun, selection, onChoose }: Props): ReactElement {
  const navigate = useNavigate();
  const { selectedIndex, body } = useRowSelection("Runs of the tree", runs.length, (index) => {
    const run = runs[index];
    if (run && selection !== null) void navigate(paths.run(run.id));
  });
  const run = runs[selectedIndex];
  useShortcuts("Runs of the tree", [
    ...(run && onChoose ? [{ keys: "x", action: "Choose the run for a diff", run: () => onChoose(run.id) }] : []),
  ]);
  return (
    <div className={classes.scroll} tabIndex={0} role="group" aria-label="Runs, scrollable">
      <table className={`${list.table} ${classes.table}`}>
        <thead>
          <tr>
            {selection && (
              <th scope="col">
                <span className={classes.hidden}>Choose</span>
              </th>
            )}
            <th scope="col">Run</th>
            <th scope="col">Labels</th>
            {FIGURES.map((title) => (
              <th key={title} scope="col" className={list.figure}>
                {title}
              </th>
            ))}
            {selection && <th scope="col">Open</th>}
          </tr>
        </thead>
        <tbody ref={body}>
          {runs.map((run, index) => (
            <tr key={run.id} data-selected={index === selectedIndex}>
              {selection && (
                <td>
                  <Checkbox
                    checked={selection.includes(run.id)}
                    disabled={!run.sealed}
                    onChange={() => onChoose?.(run.id)}
                    aria-label={`Choose ${treeTitle(run)} for a diff`}
                  />
                </td>
              )}
              <Name run={run} isCurrent={run.id === currentRun} />
              <td className={list.bar}>
                <LabelBar counts={run.labels} />
              </td>
              <Figures run={run} />
              {selection && (
                <td>
                  <Links run={run} />
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Name({ run, isCurrent }: { run: TreeRun; isCurrent: boolean }): ReactElement {
  const fork = run.fork_sequence_no === null ? "" : `from step ${run.fork_sequence_no} · `;
  return (
    <th scope="row">
      <div className={classes.name} style={{ paddingInlineStart: `${Math.min(run.depth, 8) * 18}px` }}>
        {run.depth > 0 && <span className={classes.elbow} aria-hidden />}
        <RunOutcome run={run} />
        <div>
          <RunLink run={run.id} className={list.name}>
            {treeTitle(run)}
          </RunLink>
          {isCurrent && <span className="chip accent">this run</span>}
          <span className={list.sub} title={fullTime(run.created_at)}>
            <OutcomeWord run={run} /> · {fork}
            {ORIGIN[run.origin]} · {count(run.steps)} steps · {timeAgo(run.created_at)}
          </span>
        </div>
      </div>
    </th>
  );
}

function Figures({ run }: { run: TreeRun }): ReactElement {
  return (
    <>
      <td className={list.figure}>{run.ars === null ? "–" : score(run.ars)}</td>
      <td className={list.figure}>{run.output_similarity === null ? "–" : score(run.output_similarity)}</td>
      <td className={list.figure}>{run.tool_accuracy === null ? "–" : score(run.tool_accuracy)}</td>
      <td className={list.figure}>
        <CheckSummary checks={run.checks} />
      </td>
      <td className={list.figure}>{tokens(run.tokens_in + run.tokens_out)}</td>
      <td className={list.figure}>{money(run.cost_usd)}</td>
      <td className={list.figure}>{duration(run.latency_ms)}</td>
    </>
  );
}

function Links({ run }: { run: TreeRun }): ReactElement {
  const runLabel = `of ${treeTitle(run)}`;
  return (
    <span className={classes.links}>
      {run.diff && (
        <Link {...paths.diff(run.diff)} aria-label={`Diff ${runLabel} against its source`}>
          diff
        </Link>
      )}
      {run.session && (
        <Link {...paths.replay(run.session)} aria-label={`Replay ${runLabel}`}>
          replay
        </Link>
      )}
      {run.origin === "experiment" && run.origin_id && (
        <Link {...paths.experiment(run.origin_id)} aria-label={`Experiment ${runLabel}`}>
          experiment
        </Link>
      )}
      {run.origin === "bisection" && run.origin_id && (
        <Link {...paths.bisection(run.origin_id)} aria-label={`Bisection ${runLabel}`}>
          bisection
        </Link>
      )}
    </span>
  );
}
