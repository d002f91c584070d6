import { Loader } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useId, type ReactElement } from "react";
import { isUnderWay, trialQuery, trialsQuery } from "@/api/tools/trials";
import type { TrialView } from "@/api/schema";
import { timeAgo, duration, fullTime } from "@/ui/format/numbers";
import { isObject } from "@/ui/format/json";
import { JsonView } from "@/ui/JsonView";
import { StateChip } from "@/features/labels/StateChip";
import { TextView } from "@/ui/TextView";
import { readDocuments } from "@/domain/steps/content";
import { DocumentsTable } from "@/features/steps/DocumentsTable";
import { failureWords } from "@/ui/failure/failure";
import classes from "../ToolsPage.module.css";
import { trialWords } from "./wording";

/** The result of a trial, or why there is none. */
export function TrialResult({ id }: { id: string }): ReactElement {
  const { data, error } = useQuery(trialQuery(id));
  if (error) return <p className="failed">{failureWords(error)}</p>;
  if (!data || isUnderWay(data)) {
    return (
      <p className={classes.waitingFor} role="status">
        <Loader size={14} /> {data?.status === "running" ? "The call is running…" : "Waiting for a worker…"}
      </p>
    );
  }
  const { mark, words } = trialWords(data);
  return (
    <section className={classes.result} aria-label="Result">
      <p role="status">
        <StateChip mark={mark}>{words}</StateChip>{" "}
        <span className="muted num">
          {data.duration_ms !== null && `${duration(data.duration_ms)}, `}
          {data.executor}
        </span>
      </p>
      {data.error && (
        <p className="failed">
          {data.error} <span className="muted">({data.error_code})</span>
        </p>
      )}
      {data.output !== null && <Output trial={data} />}
    </section>
  );
}

function Output({ trial }: { trial: TrialView }): ReactElement {
  const documents = trial.kind === "retrieval" ? readDocuments(trial.output) : null;
  const embedding = isObject(trial.output) ? trial.output["embedding"] : null;
  if (documents) {
    return (
      <>
        {typeof embedding === "string" && embedding && (
          <p className="muted">Query embedded with profile {embedding}.</p>
        )}
        <DocumentsTable documents={documents} />
      </>
    );
  }
  return typeof trial.output === "string" ? <TextView text={trial.output} /> : <JsonView value={trial.output} />;
}

/** Earlier trials with their author and result. */
export function TrialHistory(props: {
  kind: TrialView["kind"];
  name: string;
  onShow: (id: string) => void;
}): ReactElement | null {
  const { data } = useQuery(trialsQuery(props.kind, props.name));
  const id = useId();
  if (!data || data.trials.length === 0) return null;
  return (
    <>
      <h2 id={id}>Earlier trials</h2>
      <ul aria-labelledby={id}>
        {data.trials.map((trial) => (
          <li key={trial.id}>
            <button type="button" className={classes.link} onClick={() => props.onShow(trial.id)}>
              {trialWords(trial).words}
            </button>{" "}
            by {trial.by}
            {trial.confirmed && " without a review"},{" "}
            <span className="muted" title={fullTime(trial.at)}>
              {timeAgo(trial.at)}
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}
