import { Loader, SegmentedControl } from "@mantine/core";
import { useQueries } from "@tanstack/react-query";
import { lazy, Suspense, useState, type ReactElement } from "react";
import { loadPart } from "@/api/connection/loadPart";
import type { StepRef } from "@/api/schema";
import { stepQuery } from "@/api/runs/runs";
import { ErrorState } from "@/ui/ErrorState";
import { payloadOf, rawText, type Payload } from "./rawPayloads";
import classes from "./RawDialog.module.css";
import { Dialog } from "@/ui/Dialog";

// The editor is large and rarely used, so it is loaded on demand.
const MergeEditor = lazy(() => loadPart(() => import("./MergeEditor")));

/** The complete recorded payloads of two steps, in one editor. */
export function RawDialog(props: {
  kind: string;
  base: StepRef;
  candidate: StepRef;
  onClose: () => void;
}): ReactElement {
  const [payload, setPayload] = useState<Payload>(payloadOf(props.kind));
  return (
    <Dialog
      onClose={props.onClose}
      size="min(1200px, 94vw)"
      title={`Recorded payloads: base step ${props.base.sequence_no}, candidate step ${props.candidate.sequence_no}`}
    >
      <SegmentedControl
        mb="sm"
        aria-label="Payload"
        value={payload}
        onChange={(value) => setPayload(value)}
        data={[
          { value: "input", label: "Input" },
          { value: "output", label: "Output" },
        ]}
      />
      <Texts base={props.base.id} candidate={props.candidate.id} payload={payload} />
    </Dialog>
  );
}

function Texts(props: { base: string; candidate: string; payload: Payload }): ReactElement {
  const [base, candidate] = useQueries({ queries: [stepQuery(props.base), stepQuery(props.candidate)] });
  const error = base.error ?? candidate.error;
  if (error) return <ErrorState error={error} />;
  if (!base.data || !candidate.data) return <Loader size="sm" m="lg" />;
  const missing = [base.data, candidate.data].flatMap((step) => step.unavailable).includes(props.payload);
  if (missing) return <p>The recorded {props.payload} of one of these steps is missing from storage.</p>;
  return (
    <Suspense fallback={<Loader size="sm" m="lg" />}>
      <div className={classes.editor}>
        <MergeEditor base={rawText(base.data, props.payload)} candidate={rawText(candidate.data, props.payload)} />
      </div>
    </Suspense>
  );
}
