import { IconChevronDown, IconChevronRight } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { useContext, type ReactElement } from "react";
import type { RunFamily } from "@/api/schema";
import { paths } from "@/app/paths";
import { fullTitle } from "@/domain/runs/title";
import { Marks } from "@/features/retention/Marks";
import { AnswerLine } from "@/features/runs/AnswerLine";
import { ForkMark } from "@/features/runs/ForkName";
import { RevisionMark } from "@/features/runs/RevisionMark";
import { RunName } from "@/features/runs/RunName";
import { Tags } from "@/features/runs/Tags";
import { pluralize } from "@/ui/format/numbers";
import type { RunRowData } from "../families/listRows";
import { RunRows } from "./rowContext";
import classes from "./RunsTable.module.css";

/** More would leave too little of the name. */
const TAG_CHARACTERS = 16;

/** A run and its answer: two lines. A fork has its mark in front; outside its family, it names its source. */
export function NameCell({ row }: { row: RunRowData }): ReactElement {
  const { run, family, depth } = row;
  const { isNested } = useContext(RunRows);
  const isFork = run.fork_sequence_no !== null;
  return (
    <>
      {isNested && depth === 0 && <span className={classes.twisty}>{family && <ForksToggle row={row} />}</span>}
      {isFork && <ForkMark step={run.fork_sequence_no} />}
      <div className={classes.lines}>
        <div className={classes.first}>
          <Link {...paths.run(run.id)} className={classes.link} title={run.external_id} dir="auto">
            <RunName run={run} withoutMark />
          </Link>
          {isFork && depth === 0 && (
            <span className={classes.of} title={run.name} dir="auto">
              of {run.name}
            </span>
          )}
          <Tags tags={run.tags} characters={TAG_CHARACTERS} className={classes.tags} />
          {family && <ForkCount family={family} />}
          <Marks run={run} />
          <RevisionMark revision={run.revision} />
        </div>
        <AnswerLine run={run} isBelowSource={depth === 1} />
      </div>
    </>
  );
}

/** Opens and closes the forks of a run. */
export function ForksToggle({ row: { run, isOpen } }: { row: RunRowData }): ReactElement {
  const { onToggleForks } = useContext(RunRows);
  const Icon = isOpen ? IconChevronDown : IconChevronRight;
  return (
    <button
      type="button"
      className={classes.toggle}
      aria-expanded={isOpen}
      aria-label={`Forks of ${fullTitle(run)}`}
      onClick={() => onToggleForks(run.id)}
    >
      <Icon size={15} aria-hidden />
    </button>
  );
}

/** How many forks a run has, and that it is listed for them only. */
export function ForkCount({ family }: { family: RunFamily }): ReactElement {
  const total = pluralize(family.forks, "fork");
  const words = family.matches < family.forks ? `${family.matches} of ${total}` : total;
  return (
    <span className="chip num" title={family.is_match ? undefined : "The run itself does not match the filters"}>
      {family.is_match ? words : `listed for ${words}`}
    </span>
  );
}
