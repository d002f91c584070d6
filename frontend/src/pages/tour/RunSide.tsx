import { IconCircleX, IconMessage, IconShieldX, IconTool, IconUser, type Icon } from "@tabler/icons-react";
import type { ReactElement, ReactNode } from "react";
import { sharedNumbers, type Story } from "./story";
import classes from "./Tour.module.css";

/** The failed run, told in four lines. */
export function RunSide({ story }: { story: Story }): ReactElement {
  const { check, call } = story;
  return (
    <div className={classes.side}>
      <h2 className={classes.title}>
        <IconCircleX size={19} className="failed" aria-hidden /> This run failed
      </h2>
      <ol className={classes.story}>
        <Line icon={IconUser} source="Customer">
          {story.request}
        </Line>
        {call && (
          <Line icon={IconTool} source={`Step ${call.number} · the agent asks for`}>
            <code>
              <WithMarks text={call.text} counterpart={check?.text ?? ""} />
            </code>
          </Line>
        )}
        {check && (
          <Line icon={IconShieldX} source={`Step ${check.number} · check failed`}>
            <WithMarks text={check.text} counterpart={call?.text ?? ""} />
          </Line>
        )}
        <Line icon={IconMessage} source="The customer got">
          “{story.answer}”
        </Line>
      </ol>
    </div>
  );
}

function Line(props: { icon: Icon; source: string; children: ReactNode }): ReactElement {
  const Shape = props.icon;
  return (
    <li>
      <Shape size={17} stroke={1.7} aria-hidden />
      <small>{props.source}</small>
      <p>{props.children}</p>
    </li>
  );
}

/** A text with the numbers that another one shares. */
function WithMarks({ text, counterpart }: { text: string; counterpart: string }): ReactElement {
  return (
    <>
      {sharedNumbers(text, counterpart).map((piece, index) =>
        piece.isShared ? (
          <b key={index} className="failed">
            {piece.text}
          </b>
        ) : (
          piece.text
        ),
      )}
    </>
  );
}
