import type { ReactElement } from "react";
import type { StepDetail } from "@/api/schema";
import { readDocuments, readModelInput } from "../step/content";
import { entryFor, setPart, type Draft } from "./draft";
import classes from "./Fork.module.css";
import { JsonField } from "./fields";
import { ModelEditor } from "./ModelEditor";
import { PromptEditor } from "./PromptEditor";
import { RetrievalEditor } from "./RetrievalEditor";
import { ToolEditor } from "./ToolEditor";

export interface EditorProps {
  step: StepDetail;
  draft: Draft;
  onChange: (draft: Draft) => void;
}

/** What can be changed in one step, by its type. */
export function StepEditor(props: EditorProps): ReactElement {
  const { step } = props;
  return (
    <div className={classes.editor} aria-label={`Edit step ${step.sequence_no}`} role="group">
      <Fields {...props} />
    </div>
  );
}

function Fields(props: EditorProps): ReactElement {
  const { step } = props;
  switch (step.type) {
    case "model": {
      const request = readModelInput(step.input);
      return request ? <ModelEditor {...props} request={request} /> : <OutputField {...props} />;
    }
    case "tool":
      return <ToolEditor {...props} />;
    case "retrieval":
      return <RetrievalEditor {...props} documents={readDocuments(step.output) ?? []} />;
    case "prompt":
      return <PromptEditor {...props} />;
    case "agent":
    case "turn":
    case "planner":
    case "validator":
    case "safety":
    case "output":
      return <OutputField {...props} />;
  }
}

/** What the step is taken to have said: a what-if. */
export function OutputField({ step, draft, onChange }: EditorProps): ReactElement {
  const match = { step: step.sequence_no };
  const entry = entryFor(draft, match);
  return (
    <JsonField
      label={`What step ${step.sequence_no} is taken to have said`}
      recorded={step.output}
      value={entry && "output" in entry ? entry.output : undefined}
      onChange={(output) => onChange(setPart(draft, match, "output", output))}
    />
  );
}
