import type { ReactElement, ReactNode } from "react";
import type { JsonValue, StepDetail } from "@/api/schema";
import { isObject, jsonInText } from "@/ui/format/json";
import { JsonView } from "@/ui/JsonView";
import { TextView } from "@/ui/TextView";
import { Prose } from "./Prose";
import { ChatView } from "./ChatView";
import { readAnswer, readDocuments, readMessages, readModelInput, readText } from "@/domain/steps/content";
import { DocumentsTable } from "@/features/steps/DocumentsTable";
import { MessageCard } from "./MessageCard";
import { PromptView } from "./PromptView";
import classes from "./Step.module.css";

/** Types whose texts are answers, written to be read. */
const PROSE_TYPES: ReadonlySet<StepDetail["type"]> = new Set(["agent", "turn", "output"]);

interface Props {
  step: StepDetail;
  onSelect: (sequenceNo: number) => void;
}

/** The payloads of a step, rendered by type. */
export function StepBody({ step, onSelect }: Props): ReactElement {
  const isLost = (field: string): boolean => step.lost.some((payload) => payload.field === field);
  const request = step.type === "model" ? readModelInput(step.input) : null;
  if (request) {
    return (
      <>
        <ChatView step={step} request={request} onSelect={onSelect} />
        <Part title="Answer">
          <Payload value={step.output} mark={step.label} isUnavailable={isLost("output")} />
        </Part>
      </>
    );
  }
  if (step.type === "prompt" && isObject(step.input) && typeof step.input["template"] === "string") {
    return <PromptView input={step.input} output={step.output} />;
  }
  const isProse = PROSE_TYPES.has(step.type);
  const documents = readDocuments(step.output);
  const [inputTitle, outputTitle] = step.type === "tool" ? ["Arguments", "Result"] : ["Input", "Output"];
  return (
    <>
      <Part title={documents ? "Query" : inputTitle}>
        <Payload value={step.input} isUnavailable={isLost("input")} isProse={isProse} />
      </Part>
      <Part title={documents ? `Documents (${documents.length})` : outputTitle}>
        {documents ? (
          <DocumentsTable documents={documents} />
        ) : (
          <Payload value={step.output} mark={step.label} isUnavailable={isLost("output")} isProse={isProse} />
        )}
      </Part>
    </>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }): ReactElement {
  return (
    <section className={classes.part}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

interface PayloadProps {
  value: JsonValue;
  mark?: StepDetail["label"];
  /** The payload was recorded but cannot be read. */
  isUnavailable?: boolean;
  /** Texts may be Markdown. */
  isProse?: boolean;
}

/** A value as messages, text or a JSON tree. */
function Payload({ value, mark, isUnavailable, isProse }: PayloadProps): ReactElement {
  if (value === null) return <p className="muted">{isUnavailable ? "Unavailable." : "Not recorded."}</p>;
  const answer = readAnswer(value);
  if (answer) {
    return (
      <>
        <MessageCard message={answer.message} mark={mark} />
        {Object.keys(answer.rest).length > 0 && <JsonView value={answer.rest} />}
      </>
    );
  }
  const messages = isObject(value) ? readMessages(value["messages"]) : null;
  if (messages && isObject(value) && Object.keys(value).length === 1) {
    return (
      <>
        {messages.map((message, index) => (
          <MessageCard key={index} message={message} />
        ))}
      </>
    );
  }
  const text = readText(value);
  const json = typeof value === "string" ? jsonInText(value) : undefined;
  if (text !== null && json === undefined && (typeof value === "string" || Object.keys(value).length === 1)) {
    return <div className={classes.box}>{isProse ? <Prose text={text} /> : <TextView text={text} />}</div>;
  }
  return (
    <div className={classes.box}>
      <JsonView value={json ?? value} open={3} />
    </div>
  );
}
