import { IconChevronRight } from "@tabler/icons-react";
import { useState, type ReactElement } from "react";
import type { StepDetail } from "@/api/schema";
import { pluralize } from "@/ui/format/numbers";
import { isObject, preview } from "@/ui/format/json";
import { JsonView } from "@/ui/JsonView";
import { originOf, type ModelInput } from "@/domain/steps/content";
import { MessageCard } from "./MessageCard";
import classes from "./Step.module.css";

/** Messages to render when a history is expanded. */
const BATCH = 100;

interface Props {
  step: StepDetail;
  request: ModelInput;
  onSelect: (sequenceNo: number) => void;
}

/** A model request as a chat. The history of the previous call is collapsed. */
export function ChatView({ step, request, onSelect }: Props): ReactElement {
  const inheritedCount = Math.min(step.inherited_messages, request.messages.length);
  const [history, setHistory] = useState(0);
  const firstNew = inheritedCount - Math.min(history, inheritedCount);
  return (
    <section className={classes.part}>
      <h2>{inheritedCount > 0 ? "New in this call" : "Messages"}</h2>
      {firstNew > 0 && (
        <button
          type="button"
          className={classes.fold}
          aria-expanded={false}
          onClick={() => setHistory(history + BATCH)}
        >
          <IconChevronRight size={13} aria-hidden />
          {pluralize(firstNew, "earlier message")}, as in the previous call
        </button>
      )}
      {history > 0 && firstNew === 0 && (
        <button type="button" className={classes.fold} aria-expanded onClick={() => setHistory(0)}>
          <IconChevronRight size={13} aria-hidden className={classes.turned} />
          Fold {pluralize(inheritedCount, "earlier message")}
        </button>
      )}
      {request.messages.slice(firstNew).map((message, index) => (
        <MessageCard
          key={firstNew + index}
          message={message}
          isNew={inheritedCount > 0 && firstNew + index >= inheritedCount}
          isQuiet={firstNew + index < inheritedCount}
          origin={originOf(firstNew + index, step.consumed)}
          onSelect={onSelect}
        />
      ))}
      <Parameters request={request} />
    </section>
  );
}

function Parameters({ request }: { request: ModelInput }): ReactElement | null {
  const settings = Object.entries({ ...request.parameters, ...request.rest });
  if (settings.length === 0 && request.tools.length === 0) return null;
  const names = request.tools.map((tool) =>
    isObject(tool) ? preview(tool["name"] ?? null).replaceAll('"', "") : "tool",
  );
  return (
    <>
      {settings.length > 0 && (
        <dl className={classes.kv}>
          {settings.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd className="mono">{typeof value === "string" ? value : preview(value, 200)}</dd>
            </div>
          ))}
        </dl>
      )}
      {request.tools.length > 0 && (
        <details className={classes.details}>
          <summary>
            {pluralize(request.tools.length, "tool")} offered <span className="muted">{names.join(", ")}</span>
          </summary>
          <JsonView value={request.tools} open={1} />
        </details>
      )}
    </>
  );
}
