import type { ReactElement } from "react";
import { readDocuments, readModelInput } from "@/domain/steps/content";
import classes from "../Fork.module.css";
import { ModelEditor } from "./ModelEditor";
import { PromptEditor } from "./PromptEditor";
import { RetrievalEditor } from "./RetrievalEditor";
import { ToolEditor } from "./ToolEditor";
import type { EditorProps } from "./types";
import { OutputField } from "./OutputField";

/** The editor of a step, by its type. */
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
