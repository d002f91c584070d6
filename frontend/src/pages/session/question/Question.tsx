import { Button, SegmentedControl, Textarea } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState, type ReactElement } from "react";
import { answerSession } from "@/api/replays/replays";
import type { OperatorAnswer, SessionView } from "@/api/schema";
import { JsonView } from "@/ui/JsonView";
import { callOutcome } from "@/domain/overrides/wording";
import { readAnswer } from "../answers";
import classes from "./Question.module.css";

type Outcome = OperatorAnswer["status"];
const outcomes = (["ok", "error", "timeout", "partial", "denied"] as const).map((value) => ({
  value,
  label: callOutcome[value],
}));

/** A call that waits for the operator: give a result, run it if allowed, or let the policy or the agent go without it. */
export function Question({ session }: { session: SessionView }): ReactElement | null {
  const { question } = session;
  return question && <Form key={question.sequence_no} session={session} question={question} />;
}

function Form(props: { session: SessionView; question: NonNullable<SessionView["question"]> }): ReactElement {
  const { session, question } = props;
  // An agent asks before its call has become a step.
  const isOfAgent = session.engine === "agent";
  const [text, setText] = useState("");
  const [status, setStatus] = useState<Outcome>("ok");
  const answer = readAnswer(text);
  const send = useMutation({
    mutationFn: (operatorAnswer: Pick<OperatorAnswer, "action" | "output">) =>
      answerSession(session.id, { sequence_no: question.sequence_no, status, ...operatorAnswer }),
  });
  const problem = "error" in answer ? answer.error : send.error?.message;
  return (
    <section className={`panel ${classes.panel}`} aria-labelledby="question">
      <h2 id="question">Your answer is needed</h2>
      <p>{question.text}</p>
      <div className={classes.call}>
        <b>{question.tool_name}</b> {!isOfAgent && <span className="muted">step {question.sequence_no}</span>}
        <JsonView value={question.arguments} />
      </div>
      <Textarea
        label={`Result of ${question.tool_name}`}
        description="JSON or plain text"
        autosize
        minRows={3}
        maxRows={14}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        error={problem}
        classNames={{ input: classes.text }}
      />
      <SegmentedControl<Outcome>
        className={classes.outcomes}
        aria-label="Outcome of the call"
        value={status}
        onChange={setStatus}
        data={outcomes}
      />
      <div className={classes.actions}>
        <Button
          variant="default"
          disabled={send.isPending}
          title={isOfAgent ? "The agent ends" : "The policy's fallback is used"}
          onClick={() => send.mutate({ action: "fallback", output: null })}
        >
          {isOfAgent ? "Refuse the call" : "Continue without it"}
        </Button>
        {question.may_run && (
          <Button
            variant="default"
            disabled={send.isPending}
            onClick={() => send.mutate({ action: "run", output: null })}
          >
            Run the call
          </Button>
        )}
        <Button
          loading={send.isPending}
          disabled={"error" in answer}
          onClick={() => "value" in answer && send.mutate({ action: "answer", output: answer.value })}
        >
          Send answer
        </Button>
      </div>
    </section>
  );
}
