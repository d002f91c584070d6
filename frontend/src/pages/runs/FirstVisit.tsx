import { CloseButton } from "@mantine/core";
import { useLocalStorage } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement, ReactNode } from "react";
import { diffsQuery } from "@/api/diffs/diffs";
import type { RunSummary } from "@/api/schema";
import { paths } from "@/app/paths";
import classes from "./FirstVisit.module.css";
import { demoTour, tourDiff, type Tour } from "./tour";

/** A tour of the demo in three steps, until the visitor closes it. */
export function FirstVisit({ runs }: { runs: readonly RunSummary[] }): ReactElement | null {
  const [closed, setClosed] = useLocalStorage({
    key: "first-visit-closed",
    defaultValue: false,
    getInitialValueInEffect: false,
  });
  const tour = closed ? null : demoTour(runs);
  return tour && <Steps tour={tour} onClose={() => setClosed(true)} />;
}

function Steps({ tour, onClose }: { tour: Tour; onClose: () => void }): ReactElement {
  const { failed, fork } = tour;
  const diffs = useQuery(diffsQuery).data?.diffs ?? [];
  const diff = tourDiff(tour, diffs);
  const forkStep = fork.fork_sequence_no ?? 1;
  const comparison = diff ? paths.diff(diff.id) : paths.compare({ base: failed.id, candidate: fork.id });
  return (
    <section className={`panel ${classes.strip}`} aria-labelledby="first-visit">
      <h2 id="first-visit" className={classes.title}>
        First time here?
      </h2>
      <ol className={classes.steps}>
        <Step link={<Link {...paths.run(failed.id)}>Open the failed run</Link>}>
          An agent was asked for a refund and failed to make it.
        </Step>
        <Step
          link={
            <Link
              {...paths.run(failed.id, {
                step: forkStep,
                fork: forkStep,
                ...(fork.session_id !== null && { from_session: fork.session_id }),
              })}
            >
              Fork it at step {forkStep}
            </Link>
          }
        >
          The fork adds one sentence to the system prompt. Press Replay; nothing leaves this machine.
        </Step>
        <Step link={<Link {...comparison}>Read why the answer changed</Link>}>
          The report traces the cause from the prompt to the answer.
        </Step>
      </ol>
      <CloseButton size="sm" className={classes.close} aria-label="Do not show this again" onClick={onClose} />
    </section>
  );
}

function Step({ link, children }: { link: ReactElement; children: ReactNode }): ReactElement {
  return (
    <li>
      {link}
      <span className="muted">{children}</span>
    </li>
  );
}
