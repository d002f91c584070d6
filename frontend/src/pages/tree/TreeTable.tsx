import { Checkbox } from "@mantine/core";
import { Link, useNavigate } from "@tanstack/react-router";
import type { CSSProperties, ReactElement } from "react";
import type { TreeRun } from "@/api/schema";
import { duration, money, totalTokens } from "@/ui/format/numbers";
import { startTitle, startWords } from "@/domain/runs/startTime";
import { CheckSummary } from "@/features/checks/CheckSummary";
import { AnswerLine } from "@/features/runs/AnswerLine";
import { changeWords, forkPlace } from "@/domain/runs/title";
import { useRowSelection } from "@/ui/keyboard/useRowSelection";
import { score } from "@/domain/diffs/score";
import { RunOutcome } from "@/features/runs/RunOutcome";
import { RunLink } from "@/features/share/RunLink";
import { paths } from "@/app/paths";
import { useShortcuts } from "@/ui/keyboard/shortcuts";
import { StepLine } from "./StepLine";
import { branchesOf, lastStep, ORIGIN, treeTitle } from "./tree";
import list from "@/ui/ListPage.module.css";
import classes from "./Tree.module.css";

interface Props {
  runs: readonly TreeRun[];
  currentRun: string | null;
  /** The runs chosen for a diff. Null: runs cannot be chosen or opened. */
  selection: readonly string[] | null;
  onChoose?: (id: string) => void;
}

/** Levels that a name is indented at most. */
const MAX_INDENT = 8;
/** Hidden on tablets, where the other columns need the width. */
const FURTHER = `${list.figure} ${classes.further}`;

/** One row per run, forks below their source, each with its line over the steps. */
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
  const branches = branchesOf(runs);
  const end = lastStep(runs);
  const hasChecks = runs.some(({ checks }) => checks && checks.length > 0);
  const answers = new Map(runs.map(({ id, answer }) => [id, answer]));
  return (
    <div className={classes.scroll} tabIndex={0} role="group" aria-label="Runs, scrollable">
      <table className={`${list.table} ${list.stacking} ${classes.table}`}>
        <thead>
          <tr>
            {selection && (
              <th scope="col">
                <span className={classes.hidden}>Choose</span>
              </th>
            )}
            <th scope="col">Run</th>
            <th scope="col">Steps 1–{end - 1}</th>
            <th scope="col">Outcome</th>
            <th scope="col">Answer</th>
            <th scope="col" className={list.figure}>
              Similarity
            </th>
            {hasChecks && (
              <th scope="col" className={list.figure}>
                Checks
              </th>
            )}
            <th scope="col" className={FURTHER}>
              Tokens
            </th>
            <th scope="col" className={FURTHER}>
              Started
            </th>
            {selection && <th scope="col">Open</th>}
          </tr>
        </thead>
        <tbody ref={body}>
          {runs.map((run, index) => (
            <tr key={run.id} data-selected={index === selectedIndex}>
              {selection && (
                <td className={classes.choice}>
                  <Checkbox
                    checked={selection.includes(run.id)}
                    disabled={!run.sealed}
                    onChange={() => onChoose?.(run.id)}
                    aria-label={`Choose ${treeTitle(run)} for a diff`}
                  />
                </td>
              )}
              <Name run={run} branches={branches[index] ?? []} isCurrent={run.id === currentRun} />
              <td data-label="Steps" className={classes.steps}>
                <StepLine run={run} end={end} />
              </td>
              <td data-label="Outcome" className={classes.outcome}>
                <RunOutcome run={run} withWord />
              </td>
              <td data-label="Answer" className={classes.answer}>
                <AnswerLine
                  run={{ answer: run.answer, source_answer: answers.get(run.parent ?? "") ?? null }}
                  isBelowSource
                />
              </td>
              <Figures run={run} hasChecks={hasChecks} />
              {selection && (
                <td data-label="Open" className={classes.open}>
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

interface NameProps {
  run: TreeRun;
  branches: readonly boolean[];
  isCurrent: boolean;
}

function Name({ run, branches, isCurrent }: NameProps): ReactElement {
  const details = [
    run.title && run.change && changeWords(run.change),
    run.fork_sequence_no !== null && forkPlace(run, run.fork_sequence_no),
    run.origin !== "fork" && ORIGIN[run.origin],
  ];
  return (
    <th scope="row" style={{ "--depth": Math.min(branches.length, MAX_INDENT) } as CSSProperties}>
      {branches.slice(-MAX_INDENT).map((isContinuing, level, levels) => (
        <span
          key={level}
          className={classes.branch}
          style={{ "--level": level } as CSSProperties}
          data-continuing={isContinuing || undefined}
          data-last={level === levels.length - 1 || undefined}
          aria-hidden
        />
      ))}
      <RunLink run={run.id} className={list.name}>
        {treeTitle(run)}
      </RunLink>
      {isCurrent && <span className="chip accent">this run</span>}
      <span className={list.sub}>{details.filter(Boolean).join(" · ")}</span>
    </th>
  );
}

function Figures({ run, hasChecks }: { run: TreeRun; hasChecks: boolean }): ReactElement {
  const parts = [
    "Overall similarity to its source (ARS)",
    run.output_similarity !== null && `output ${score(run.output_similarity)}`,
    run.tool_accuracy !== null && `tools ${score(run.tool_accuracy)}`,
  ].filter(Boolean);
  return (
    <>
      <td data-label="Similarity" className={list.figure} title={run.ars === null ? undefined : parts.join(" · ")}>
        {run.ars === null ? "–" : score(run.ars)}
      </td>
      {hasChecks && (
        <td data-label="Checks" className={list.figure}>
          <CheckSummary checks={run.checks} />
        </td>
      )}
      <td data-label="Tokens" className={FURTHER}>
        {totalTokens(run)}
        <span className={list.sub}>{money(run.cost_usd)}</span>
      </td>
      <td data-label="Started" className={FURTHER} title={startTitle(run)}>
        {startWords(run)}
        <span className={list.sub}>{duration(run.latency_ms)}</span>
      </td>
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
