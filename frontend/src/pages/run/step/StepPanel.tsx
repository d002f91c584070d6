import { ActionIcon, Button, SegmentedControl, Tooltip } from "@mantine/core";
import { useClipboard } from "@mantine/hooks";
import { IconGitFork, IconLock } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useState, type ReactElement } from "react";
import { loadPart } from "@/api/connection/loadPart";
import { stepQuery } from "@/api/runs/runs";
import type { StepDetail, StepSummary } from "@/api/schema";
import { ErrorState } from "@/ui/ErrorState";
import { MarkedText, RedactionReasons } from "@/ui/MarkedText";
import { pluralize, duration, money, tokens } from "@/ui/format/numbers";
import { capitalize } from "@/ui/format/text";
import { readError } from "@/domain/steps/errors";
import { isFailed } from "@/domain/steps/labels";
import { StepComments } from "@/features/comments/StepComments";
import { useRawText } from "@/features/markdown/MarkdownText";
import { StepIcon } from "@/features/steps/StepIcon";
import { shortenMarkers } from "@/ui/format/markers";
import { StepJudgements } from "../judgements/StepJudgements";
import type { StepPlan } from "../stepPlans";
import { CopyMenu } from "./CopyMenu";
import { Provenance } from "./Provenance";
import { StepBody } from "./StepBody";
import classes from "./Step.module.css";
import { StepLabel } from "./StepLabel";

const RawJson = lazy(() => loadPart(() => import("@/ui/CodeView")));

const NOT_YET = "The run is still being recorded: it can be forked when it is complete.";

interface Props {
  step: StepSummary;
  plan: StepPlan | null;
  onSelect: (sequenceNo: number) => void;
  /** A run that is still being recorded cannot be forked. */
  isRecording?: boolean;
  /** Without it, the step is only shown. */
  onFork?: () => void;
}

/** The middle region: one step in full. */
export function StepPanel({ step, plan, onSelect, isRecording = false, onFork }: Props): ReactElement {
  const [raw, setRaw] = useState(false);
  const [isRawText, setRawText] = useRawText();
  const detail = useQuery(stepQuery(step.id));
  return (
    <section className={classes.panel} aria-label={`Step ${step.sequence_no}`}>
      <div className={classes.head}>
        <StepIcon type={step.type} size={16} />
        <h2 className={classes.title}>
          Step {step.sequence_no} · {step.type}
          {step.name && step.name !== step.type && <span className="muted"> {shortenMarkers(step.name)}</span>}
        </h2>
        <span className="grow" />
        <SegmentedControl
          value={raw ? "json" : isRawText ? "text" : "read"}
          onChange={(value) => {
            setRaw(value === "json");
            if (value !== "json") setRawText(value === "text");
          }}
          data={[
            { value: "read", label: "Read" },
            { value: "text", label: "Text" },
            { value: "json", label: "JSON" },
          ]}
          aria-label="Show as"
        />
        <CopyMenu step={detail.data} withSnippets={onFork !== undefined} />
        {onFork && (
          <Tooltip label={isRecording ? NOT_YET : "Fork from here ( f )"}>
            <ActionIcon
              aria-label={isRecording ? `Fork from this step. ${NOT_YET}` : "Fork from this step"}
              aria-disabled={isRecording}
              data-disabled={isRecording || undefined}
              onClick={onFork}
            >
              <IconGitFork size={16} />
            </ActionIcon>
          </Tooltip>
        )}
      </div>
      <div className={classes.scroll} key={step.id} tabIndex={0} role="region" aria-label="Content of the step">
        <Facts
          step={step}
          detail={detail.data}
          isErrorShown={!raw && step.status !== "ok" && detail.data?.error !== ""}
        />
        <StepLabel step={step} detail={detail.data?.detail} plan={plan} />
        {detail.data && onFork && <StepJudgements key={step.id} run={detail.data.run} step={step.sequence_no} />}
        {detail.data && <Redactions reasons={detail.data.redactions} />}
        {detail.isError && <ErrorState error={detail.error} onRetry={() => void detail.refetch()} />}
        {detail.data && raw && (
          <Suspense fallback={<p className="muted">Loading the viewer…</p>}>
            <RawParts step={detail.data} />
          </Suspense>
        )}
        {detail.data && !raw && (
          <RedactionReasons value={detail.data.redactions}>
            {detail.data.error && <ErrorBox text={detail.data.error} status={detail.data.status} />}
            {detail.data.lost.map((payload) => (
              <p className={classes.warning} key={payload.field}>
                {isPartial(detail.data, payload.field) ? "Part of the " : "The "}
                {payload.field} is unavailable. Artifact <code>{payload.digest}</code> is {payload.loss}.
              </p>
            ))}
            <StepBody step={detail.data} onSelect={onSelect} />
            <Provenance step={detail.data} onSelect={onSelect} />
          </RedactionReasons>
        )}
        {detail.isPending && <p className="muted">Loading…</p>}
        {!detail.isPending && <StepComments step={step.sequence_no} />}
      </div>
    </section>
  );
}

/** Whether a payload with a missing part still contains others. */
function isPartial(step: StepDetail, field: string): boolean {
  const payloads: Record<string, unknown> = { input: step.input, output: step.output, attributes: step.attributes };
  return payloads[field] !== null && Object.keys(payloads[field] ?? {}).length > 0;
}

/** What was not stored of the step, and why. */
function Redactions({ reasons }: { reasons: StepDetail["redactions"] }): ReactElement | null {
  const entries = Object.entries(reasons);
  if (entries.length === 0) return null;
  return (
    <p className={classes.redactions}>
      <IconLock size={13} aria-hidden /> Not stored:{" "}
      {entries.map(([kind, reason], index) => (
        <span key={kind}>
          {index > 0 && "; "}
          <code>{kind}</code> ({reason})
        </span>
      ))}
    </p>
  );
}

function Facts(props: {
  step: StepSummary;
  detail: StepDetail | undefined;
  /** The error's box states the status. */
  isErrorShown: boolean;
}): ReactElement {
  const { step, detail, isErrorShown } = props;
  const hasTokens = step.tokens_in !== null || step.tokens_out !== null;
  return (
    <div className={`${classes.facts} num`}>
      {step.model && (
        <span className="chip">
          <span className="ellipsis">{[step.provider, step.model].filter(Boolean).join(" / ")}</span>
        </span>
      )}
      {step.status !== "ok" && !isErrorShown && (
        <span className={`chip ${isFailed(step.status) ? "failed" : ""}`}>{step.status}</span>
      )}
      {hasTokens && (
        <span className="chip" title="tokens in → out">
          {tokens(step.tokens_in)} → {tokens(step.tokens_out)} tokens
        </span>
      )}
      {detail?.tokens_cached != null && <span className="chip">{tokens(detail.tokens_cached)} cached</span>}
      {step.cost_usd !== null && <span className="chip">{money(step.cost_usd)}</span>}
      {step.duration_ms !== null && <span className="chip">{duration(step.duration_ms)}</span>}
      {step.retries > 0 && <span className="chip simulated">{pluralize(step.retries, "retry", "retries")}</span>}
    </div>
  );
}

/** The step's error under its type, or under its status if the text states no type. */
function ErrorBox({ text, status }: { text: string; status: string }): ReactElement {
  const { type, message } = readError(text);
  return (
    <div className={classes.error} role="note" aria-label="Error of the step">
      <b>{type || capitalize(status)}</b>
      {message && (
        <pre>
          <MarkedText text={message} />
        </pre>
      )}
    </div>
  );
}

function RawParts({ step }: { step: StepDetail }): ReactElement {
  const { input, output, consumed: _, produced_for: __, ...rest } = step;
  return (
    <>
      <RawPart title="Input" value={input} />
      <RawPart title="Output" value={output} />
      <RawPart title="Everything else" value={rest} />
    </>
  );
}

function RawPart({ title, value }: { title: string; value: unknown }): ReactElement {
  const clipboard = useClipboard();
  return (
    <section className={classes.part}>
      <div className="bar">
        <h2 className="grow">{title}</h2>
        <Button variant="subtle" color="gray" onClick={() => clipboard.copy(JSON.stringify(value, null, 2))}>
          {clipboard.copied ? "Copied" : "Copy"}
        </Button>
      </div>
      <RawJson value={value} label={`${title} as JSON`} />
    </section>
  );
}
