import { Button, Select, Textarea } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState, type ReactElement } from "react";
import { tryRedactionPolicy } from "@/api/redaction";
import type { JsonValue, RedactionTrialRequest, RedactionTrialView } from "@/api/schema";
import { JsonView } from "@/ui/JsonView";
import { RedactionReasons } from "@/ui/MarkedText";
import { Failure } from "./Failure";
import { readSample, type Draft } from "./draft";
import classes from "./Redaction.module.css";
import { PanelHead } from "@/ui/Page";

const FIELDS: RedactionTrialRequest["field"][] = ["input", "output", "attributes", "error", "metadata"];
const TYPES: RedactionTrialRequest["step_type"][] = ["tool", "model", "retrieval", "prompt", "agent", "turn", "output"];
const SAMPLE = `{
  "customer": { "email": "ann@example.com", "order": "A-1042" },
  "headers": { "Authorization": "Bearer 3f9c1a7be02d4c58" }
}`;

/** Applies the draft to a sample before it is saved. The server stores nothing of it. */
export function TryIt({ app, draft }: { app: string; draft: Draft }): ReactElement {
  const [sample, setSample] = useState(SAMPLE);
  const [field, setField] = useState<RedactionTrialRequest["field"]>("input");
  const [type, setType] = useState<RedactionTrialRequest["step_type"]>("tool");
  const request = { app, ...draft, field, step_type: type };
  const trial = useMutation({
    mutationFn: () => tryRedactionPolicy({ ...request, sample: readSample(sample) as JsonValue }),
    onMutate: () => ({ inputs: inputsOf(request, sample) }),
  });
  const isCurrent = trial.context?.inputs === inputsOf(request, sample);
  return (
    <section className="panel" aria-labelledby="try">
      <PanelHead>
        <h2 id="try">Try it</h2>
        <span className="muted">
          See what would be stored of a sample before you save. The sample itself is not stored.
        </span>
      </PanelHead>
      <div className={classes.trial}>
        <div className={classes.form}>
          <div className={classes.place}>
            <Select
              label="Field"
              data={FIELDS}
              value={field}
              allowDeselect={false}
              onChange={(value) => setField(value ?? field)}
            />
            <Select
              label="Step type"
              data={TYPES}
              value={type}
              allowDeselect={false}
              disabled={field === "metadata"}
              onChange={(value) => setType(value ?? type)}
            />
          </div>
          <Textarea
            label="Sample"
            description="JSON, or a text."
            autosize
            minRows={6}
            maxRows={16}
            classNames={{ input: classes.sample ?? "" }}
            value={sample}
            onChange={(event) => setSample(event.currentTarget.value)}
          />
          <Button variant="default" loading={trial.isPending} onClick={() => trial.mutate()}>
            Try the draft
          </Button>
        </div>
        <div className={classes.result} aria-live="polite">
          {isCurrent && trial.error && <Failure error={trial.error} />}
          {isCurrent && trial.data ? (
            <Result view={trial.data} />
          ) : (
            <p className="muted">
              {trial.data ? "The draft or the sample changed. Try it again." : "What would be stored appears here."}
            </p>
          )}
        </div>
      </div>
    </section>
  );
}

/** What the result of a trial depends on. */
function inputsOf(request: object, sample: string): string {
  return JSON.stringify({ request, sample });
}

function Result({ view }: { view: RedactionTrialView }): ReactElement {
  const reasons = Object.fromEntries(view.marks.map((mark) => [mark.kind, mark.reason]));
  return (
    <RedactionReasons value={reasons}>
      {view.failure && <p className="failed">Blocked: {view.failure}</p>}
      <JsonView value={view.result} open={4} />
      {view.marks.length === 0 ? (
        <p className="muted">Nothing would be replaced.</p>
      ) : (
        <ul className={classes.marks}>
          {view.marks.map((mark, index) => (
            <li key={index}>
              <code>{mark.path || "/"}</code> {mark.reason}
            </li>
          ))}
        </ul>
      )}
    </RedactionReasons>
  );
}
