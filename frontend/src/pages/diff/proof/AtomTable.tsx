import { IconCheck, IconMinus, IconQuestionMark } from "@tabler/icons-react";
import type { ReactElement } from "react";
import type { AtomEvidence, Findings } from "@/api/schema";
import { withText } from "@/ui/format/textSize";
import { BothSteps } from "../StepLink";
import { sufficientAnswer, atomTree, isPrimary, necessaryAnswer, type Answer } from "./wording";
import table from "../DiffTable.module.css";
import classes from "./AtomTable.module.css";

/** All changes with their test results. Parts are listed below their change. */
export function AtomTable({ findings }: { findings: Findings }): ReactElement | null {
  if (findings.atoms.length === 0) return null;
  const hasShares = findings.atoms.some(({ shapley }) => shapley !== null);
  return (
    <div className={table.scroll} tabIndex={0} role="group" aria-label="Tested changes">
      <table className={`${table.table} ${classes.table}`}>
        <thead>
          <tr>
            <th scope="col">Change</th>
            <th scope="col">Sufficient alone</th>
            <th scope="col">Necessary</th>
            {hasShares && <th scope="col">{findings.shares === "sampled" ? "Share, sampled" : "Share"}</th>}
            <th scope="col">Steps</th>
          </tr>
        </thead>
        <tbody>
          {atomTree(findings.atoms).map(({ atom, depth }) => (
            <tr key={atom.id} data-primary={isPrimary(findings, atom)}>
              <th scope="row" style={{ paddingLeft: withText(12 + depth * 18) }}>
                <Change atom={atom} />
              </th>
              <td>
                <TestResult answer={sufficientAnswer(atom)} />
              </td>
              <td>
                <TestResult answer={necessaryAnswer(atom)} />
              </td>
              {hasShares && <td className="num">{atom.shapley !== null && <Share value={atom.shapley} />}</td>}
              <td>
                <BothSteps base={atom.base} candidate={atom.candidate} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Change({ atom }: { atom: AtomEvidence }): ReactElement {
  const note = atom.certificate ? `Cannot have an effect: ${atom.certificate.reason}` : atom.why_not;
  return (
    <>
      <b>{atom.title}</b> <span className="muted">{atom.description}</span>
      {note && <span className={classes.note}>{note}</span>}
    </>
  );
}

function TestResult({ answer }: { answer: Answer }): ReactElement {
  const props = { size: 14, stroke: 2.2, "aria-hidden": true };
  const icons = {
    yes: <IconCheck {...props} className="exact" />,
    no: <IconMinus {...props} className="muted" />,
    unknown: <IconQuestionMark {...props} className="muted" />,
  };
  return (
    <span className={classes.tested} data-sign={answer.sign}>
      {icons[answer.sign]}
      {answer.words}
    </span>
  );
}

/** A change's Shapley share of the difference. Negative if it works against the difference. */
function Share({ value }: { value: number }): ReactElement {
  const percent = Math.round(value * 100);
  return (
    <span className={classes.share}>
      <i style={{ width: `${Math.min(100, Math.abs(percent)) * 0.6}px` }} data-against={percent < 0} />
      {percent < 0 ? `−${-percent}` : percent} %
    </span>
  );
}
