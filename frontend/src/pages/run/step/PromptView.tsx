import type { ReactElement } from "react";
import type { JsonValue } from "@/api/schema";
import { isObject, preview } from "@/ui/format/json";
import { JsonView } from "@/ui/JsonView";
import { TextView } from "@/ui/TextView";
import { readMessages, readText, templatePieces } from "@/domain/steps/content";
import { MessageCard } from "./MessageCard";
import classes from "./Step.module.css";

/** A prompt: the template with highlighted variables, their values and the result. */
export function PromptView({ input, output }: { input: Record<string, JsonValue>; output: JsonValue }): ReactElement {
  const template = typeof input["template"] === "string" ? input["template"] : "";
  const variables = isObject(input["variables"]) ? input["variables"] : {};
  const messages = isObject(output) ? readMessages(output["messages"]) : null;
  const text = readText(output);
  return (
    <>
      <section className={classes.part}>
        <h2>
          Template{" "}
          <span className={classes.asIs}>
            {[input["template_id"], input["version"]].filter((part) => typeof part === "string").join(" · ")}
          </span>
        </h2>
        <div className={`${classes.box} ${classes.template}`}>
          {templatePieces(template).map((piece, index) =>
            piece.variable === null ? (
              <span key={index}>{piece.text}</span>
            ) : (
              <mark key={index} title={preview(variables[piece.variable] ?? null, 200)}>
                {piece.text}
              </mark>
            ),
          )}
        </div>
      </section>
      {Object.keys(variables).length > 0 && (
        <section className={classes.part}>
          <h2>Variables</h2>
          <div className={classes.box}>
            <JsonView value={variables} open={2} />
          </div>
        </section>
      )}
      <section className={classes.part}>
        <h2>Prompt</h2>
        {messages?.map((message, index) => (
          <MessageCard key={index} message={message} />
        ))}
        {!messages && (
          <div className={classes.box}>{text === null ? <JsonView value={output} /> : <TextView text={text} />}</div>
        )}
      </section>
    </>
  );
}
