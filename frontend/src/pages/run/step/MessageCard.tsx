import { IconArrowUpRight, IconTool } from "@tabler/icons-react";
import type { ReactElement } from "react";
import type { Label } from "@/api/schema";
import { count } from "@/ui/format/numbers";
import { jsonInText } from "@/ui/format/json";
import { JsonView } from "@/ui/JsonView";
import { LabelGlyph } from "@/features/labels/LabelGlyph";
import { markWord } from "@/domain/steps/labels";
import { Prose } from "./Prose";
import { TextView } from "@/ui/TextView";
import type { Message, Origin } from "@/domain/steps/content";
import classes from "./Message.module.css";

interface Props {
  message: Message;
  /** New since the previous call. */
  isNew?: boolean;
  isQuiet?: boolean;
  mark?: Label | undefined;
  origin?: Origin | null;
  onSelect?: (sequenceNo: number) => void;
}
/** Roles whose texts are often JSON. */
const JSON_ROLES: ReadonlySet<string> = new Set(["assistant", "tool"]);
/** Roles whose texts are written to be read. Others are shown as they were recorded. */
const PROSE_ROLES: ReadonlySet<string> = new Set(["assistant", "user"]);
/** Prompts are long and rarely needed as a whole. */
const PROMPT_LIMIT = 900;

export function MessageCard({ message, isNew, isQuiet, mark, origin, onSelect }: Props): ReactElement {
  const json = JSON_ROLES.has(message.role) ? jsonInText(message.text) : undefined;
  return (
    <article className={classes.card} data-role={message.role} data-fresh={isNew} data-quiet={isQuiet}>
      <header>
        <span className={classes.role}>{message.role}</span>
        {message.name && <span>{message.name}</span>}
        {message.text.length > PROMPT_LIMIT && (
          <span className={classes.size}>{count(message.text.length)} characters</span>
        )}
        <span className="grow" />
        {mark && (
          <span className={`chip ${mark}`}>
            <LabelGlyph mark={mark} silent size={9} /> {markWord[mark]}
          </span>
        )}
        {origin && onSelect && (
          <button type="button" className={classes.origin} onClick={() => onSelect(origin.step)}>
            from step {origin.step} {origin.name} <IconArrowUpRight size={12} aria-hidden />
          </button>
        )}
      </header>
      {message.text && (
        <div className={classes.text}>
          {json !== undefined ? (
            <JsonView value={json} open={2} />
          ) : PROSE_ROLES.has(message.role) ? (
            <Prose text={message.text} />
          ) : (
            <TextView text={message.text} limit={message.role === "tool" ? undefined : PROMPT_LIMIT} />
          )}
        </div>
      )}
      {message.calls.map((call, index) => (
        <div key={call.id || index} className={classes.call}>
          <div className={classes.callName}>
            <IconTool size={13} aria-label="calls" /> {call.name}
            {call.id && <span className={classes.size}>{call.id}</span>}
          </div>
          <JsonView value={call.arguments} open={2} />
        </div>
      ))}
      {message.blocks.map((block, index) => (
        <div key={index} className={classes.call}>
          <JsonView value={block} open={1} />
        </div>
      ))}
      {!message.text && message.calls.length === 0 && message.blocks.length === 0 && (
        <p className={classes.empty}>Empty.</p>
      )}
    </article>
  );
}
