import { Button, Loader } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { IconRepeat } from "@tabler/icons-react";
import { useEffect, useState, type ReactElement } from "react";
import { diffQuery } from "@/api/diffs/diffs";
import type { LaneStep, UnchangedLane, UnchangedView } from "@/api/schema";
import { startControlReplay, controlReplayQuery } from "@/api/diffs/controlReplays";
import { pluralize, money } from "@/ui/format/numbers";
import { StateChip } from "@/features/labels/StateChip";
import { sentence } from "@/ui/format/text";
import { paths } from "@/app/paths";
import { score } from "@/domain/diffs/score";
import { useReport } from "../reportContext";
import { RELATION } from "../wording";
import list from "@/ui/ListPage.module.css";
import { showFailure } from "@/ui/failure/failure";
import classes from "./ControlReplay.module.css";

/** Control replay: the base replayed without the changes, so that effects of replaying are not attributed to them. */
export function ControlReplay(): ReactElement | null {
  const { report, hasLinks } = useReport();
  if (report.unchanged) return <Lane lane={report.unchanged} hasLinks={hasLinks} />;
  return hasLinks ? <StartControlReplay diff={report.id} /> : null;
}

const VISIBLE_LIMIT = 8;

function Lane({ lane, hasLinks }: { lane: UnchangedLane; hasLinks: boolean }): ReactElement {
  const [showAll, setShowAll] = useState(false);
  const steps = showAll ? lane.steps : lane.steps.slice(0, VISIBLE_LIMIT);
  return (
    <section className={`panel ${classes.panel}`} aria-labelledby="unchanged">
      <header className={classes.head}>
        <h2 id="unchanged">Without the changes</h2>
        <span className="muted grow">{lane.how}</span>
        {hasLinks && (
          <span className={classes.links}>
            <Link {...paths.run(lane.run.id)}>run</Link>
            <Link {...paths.diff(lane.diff)}>diff</Link>
          </span>
        )}
      </header>
      <div className={classes.text}>
        <StateChip mark={lane.answer_differs ? "simulated" : "exact"}>
          {lane.answer_differs ? "The answer differs, too" : "The answer is unchanged"}
        </StateChip>
        <p>{lane.sentence}</p>
        <span className="muted num">output {score(lane.scores.output_similarity)} similar</span>
      </div>
      {steps.length > 0 && (
        <div className={classes.scroll} tabIndex={0} role="group" aria-label="Three lanes, scrollable">
          <table className={list.table}>
            <thead>
              <tr>
                <th scope="col">Base</th>
                <th scope="col">With the changes</th>
                <th scope="col">Without the changes</th>
              </tr>
            </thead>
            <tbody>
              {steps.map((step) => (
                <Row key={step.base.id} step={step} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {lane.steps.length > steps.length && (
        <Button variant="subtle" onClick={() => setShowAll(true)}>
          Show {pluralize(lane.steps.length - steps.length, "more step")}
        </Button>
      )}
    </section>
  );
}

function Row({ step }: { step: LaneStep }): ReactElement {
  const name = step.base.name === step.base.type ? step.base.type : `${step.base.type} ${step.base.name}`;
  return (
    <tr>
      <td>
        <span className="num">step {step.base.sequence_no}</span> <span className="muted">{name}</span>
        <span className={list.sub}>{step.base.summary}</span>
      </td>
      <td>
        <LaneRelation relation={step.with_changes} summary={step.candidate?.summary ?? ""} />
      </td>
      <td>
        <LaneRelation relation={step.without_changes} summary={step.unchanged?.summary ?? ""} />
      </td>
    </tr>
  );
}

function LaneRelation({ relation, summary }: { relation: LaneStep["with_changes"]; summary: string }): ReactElement {
  const words = relation === "removed" ? "absent" : RELATION[relation].words;
  return (
    <>
      <span className={relation === "same" ? "muted" : "simulated"}>
        <span aria-hidden>{RELATION[relation].sign}</span> {words}
      </span>
      {relation !== "same" && summary && <span className={list.sub}>{summary}</span>}
    </>
  );
}

/** Offer to start the control replay, with its cost. */
function StartControlReplay({ diff }: { diff: string }): ReactElement | null {
  const client = useQueryClient();
  const query = controlReplayQuery(diff);
  const { data } = useQuery(query);
  const isAttached = data?.attached ?? false;
  useEffect(() => {
    if (isAttached) void client.invalidateQueries({ queryKey: diffQuery(diff).queryKey, exact: true });
  }, [isAttached, client, diff]);
  const start = useMutation({
    mutationFn: () => startControlReplay(diff),
    onSuccess: (view) => client.setQueryData(query.queryKey, view),
    onError: (error) => showFailure("The replay did not start", error),
  });
  if (!data || isAttached) return null;
  const [refusal] = data.refusals;
  const running = data.session !== null && data.session.ended_at === null;
  return (
    <section className={`panel ${classes.offer}`} aria-label="Without the changes">
      <p className="grow">
        Could this be chance? <span className="muted">{refusal ? sentence(refusal.detail) : price(data)}</span>
      </p>
      {running && data.session ? (
        <span className={classes.links}>
          <Loader size={13} role="img" aria-label="Replaying the base unchanged" />
          <Link {...paths.replay(data.session.id)}>Replaying the base unchanged</Link>
        </span>
      ) : (
        <Button
          variant="default"
          leftSection={<IconRepeat size={14} />}
          disabled={refusal !== undefined}
          loading={start.isPending}
          onClick={() => start.mutate()}
        >
          Replay the base unchanged
        </Button>
      )}
    </section>
  );
}

function price(view: UnchangedView): string {
  if (view.session && view.session.ended_at !== null)
    return `The last attempt ended: ${view.session.error || "cancelled"}.`;
  if (view.live_calls === 0) return "No live calls needed.";
  const cost = view.cost_usd === null ? "cost unknown" : money(view.cost_usd);
  return `Replaying the base unchanged takes ${pluralize(view.live_calls, "live call")}, ${cost}.`;
}
