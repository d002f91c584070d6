import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { BisectionView, TallyView } from "@/api/schema";
import { pluralize } from "@/ui/format/numbers";
import { LabelGlyph } from "@/features/labels/LabelGlyph";
import type { Mark } from "@/domain/steps/labels";
import { paths } from "@/app/paths";
import { forkName, rowsOf, type Row } from "./wording";
import classes from "./Bisect.module.css";

const ROLE_NOTES: Record<NonNullable<Row["role"]>, string> = {
  commit: "committed here: the last fork from which the run passes",
  kept: "with the answer before it kept, the run no longer passes",
  earliest: "the earliest fork from which the run passes",
};

/** The forked steps in run order, with a mark per probe. */
export function ForkRows({ view }: { view: BisectionView }): ReactElement {
  const rows = rowsOf(view, view.fork_steps);
  if (rows.length === 0) return <p className={classes.none}>No step has been tried yet.</p>;
  return (
    <ol className={classes.forks}>
      {rows.map(({ fork, skippedSteps, role }) => (
        <li key={fork.step.sequence_no} data-role={role ?? undefined}>
          {skippedSteps > 0 && <span className={classes.skipped}>{pluralize(skippedSteps, "step")} skipped</span>}
          <div className={classes.fork}>
            <Link {...paths.run(view.run, { step: fork.step.sequence_no })} className="num">
              {forkName(fork.step)}
            </Link>
            <Marks counts={fork.counted} />
            {role && <span className={classes.role}>{ROLE_NOTES[role]}</span>}
          </div>
        </li>
      ))}
    </ol>
  );
}

function Marks({ counts: { passed, failed, unclear, running } }: { counts: TallyView }): ReactElement {
  const remarks = [
    passed > 0 && `${passed} passed`,
    failed > 0 && `${failed} failed`,
    unclear > 0 && `${unclear} inconclusive`,
    running > 0 && `${running} running`,
  ].filter(Boolean);
  const marks: Mark[] = [
    ...Array<Mark>(passed).fill("exact"),
    ...Array<Mark>(failed).fill("failed"),
    ...Array<Mark>(unclear).fill("live"),
    ...Array<Mark>(running).fill("cached"),
  ];
  return (
    <span className={classes.marks}>
      <span aria-hidden>
        {marks.map((mark, index) => (
          <LabelGlyph key={index} mark={mark} silent size={10} />
        ))}
      </span>
      <span className="muted num">{remarks.join(", ")}</span>
    </span>
  );
}
