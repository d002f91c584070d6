import { IconMessage2, IconRobot, IconSettings, IconTool, IconUser, IconUserOff, type Icon } from "@tabler/icons-react";
import { createContext, useContext, type ReactElement } from "react";
import type { Turn } from "@/api/schema";
import { jsonInText, readableJson } from "@/ui/format/json";
import { shortenMarkers } from "@/ui/format/markers";
import { count } from "@/ui/format/numbers";
import { JsonView } from "@/ui/JsonView";
import { MarkdownText, useRawText } from "@/features/markdown/MarkdownText";
import { MarkedText } from "@/ui/MarkedText";
import { TextView } from "@/ui/TextView";
import { Fold } from "./Fold";
import classes from "./Transcript.module.css";
import { blockWords, callLine, cutWords, roleWord } from "./wording";

/** Loads the whole texts of the step that is shown. */
export const ShowAll = createContext<() => void>(() => undefined);

const icons: Record<string, Icon> = {
  user: IconUser,
  assistant: IconRobot,
  system: IconSettings,
  developer: IconSettings,
  tool: IconTool,
  unavailable: IconUserOff,
};
/** Prompts are long and rarely read, results of tools are rarely read in full. */
const FOLDED_ROLES: ReadonlySet<string> = new Set(["system", "developer", "tool"]);
/** Characters of a fold's line; the rest is cut off on any screen. */
const LINE = 300;

/** A message of the input: its author, then its text. */
export function IncomingTurn({ turn }: { turn: Turn }): ReactElement {
  const Shape = icons[turn.role] ?? IconMessage2;
  const isFolded = FOLDED_ROLES.has(turn.role);
  return (
    <div className={classes.incoming} data-role={turn.role}>
      <div className={classes.who}>
        <Shape size={15} stroke={1.7} aria-hidden />
        <span>{roleWord(turn)}</span>
      </div>
      {isFolded ? <FoldedText turn={turn} isCode={turn.role === "tool"} /> : <TurnContent turn={turn} />}
    </div>
  );
}

/** All content of a message or an output. */
export function TurnContent({ turn }: { turn: Turn }): ReactElement {
  const isEmpty = turn.text.length + turn.thinking.length + turn.calls.length + turn.blocks.length === 0;
  return (
    <>
      {turn.thinking.length > 0 && (
        <Fold title="Thinking" line={`Thinking · ${count(turn.thinking.length)} characters`}>
          {() => (
            <>
              <MarkdownText text={turn.thinking.text} />
              <Rest text={turn.thinking} />
            </>
          )}
        </Fold>
      )}
      {turn.text.length > 0 && (
        <div className={classes.say}>
          <WholeText turn={turn} />
        </div>
      )}
      {turn.calls.map((call, index) => (
        <code key={call.id || index} className={classes.call}>
          <MarkedText text={callLine(call)} />
          <Rest text={call.arguments} />
        </code>
      ))}
      {turn.blocks.length > 0 && <p className={classes.remark}>{blockWords(turn.blocks)}. The step shows them.</p>}
      {isEmpty && <p className={classes.remark}>Empty message.</p>}
    </>
  );
}

/** A text in one line that unfolds: JSON as a tree, other text as Markdown, or as it is if it came from a tool. */
export function FoldedText(props: { turn: Turn; isCode?: boolean; isFailed?: boolean }): ReactElement {
  const { turn, isCode = false, isFailed = false } = props;
  const line = shortenMarkers(readableJson(turn.text.text.slice(0, LINE)).replace(/\s+/g, " ").trim());
  return (
    <Fold title={isCode ? "Result" : "Prompt"} line={line || "Empty."} isCode={isCode} isFailed={isFailed}>
      {() => <WholeText turn={turn} isVerbatim={isCode} />}
    </Fold>
  );
}

function WholeText({ turn, isVerbatim = false }: { turn: Turn; isVerbatim?: boolean }): ReactElement {
  const [isRaw] = useRawText();
  // Answers too are often JSON, as text with escaped line breaks.
  const json = turn.is_json || isVerbatim || !isRaw ? jsonInText(turn.text.text) : undefined;
  return (
    <>
      {json !== undefined ? (
        <JsonView value={json} open={2} />
      ) : turn.is_json || isVerbatim ? (
        <TextView text={turn.text.text} />
      ) : (
        <MarkdownText text={turn.text.text} />
      )}
      <Rest text={turn.text} />
    </>
  );
}

/** States that a text goes on, and offers all of it. */
export function Rest({ text }: { text: Turn["text"] }): ReactElement | null {
  const showAll = useContext(ShowAll);
  const words = cutWords(text);
  if (!words) return null;
  return (
    <button type="button" className={classes.more} onClick={showAll}>
      {words}
    </button>
  );
}
