import { Button, NumberInput, Textarea, TextInput } from "@mantine/core";
import { IconCheck, IconX } from "@tabler/icons-react";
import { useState, type ReactElement } from "react";
import type { JudgementRequest } from "@/api/schema";
import classes from "./Judgements.module.css";

interface Props {
  step: number | null;
  /** Why the step or run cannot be judged. Empty if it can. */
  refusal: string;
  pending: boolean;
  onJudge: (body: JudgementRequest) => void;
}

/** Record a pass, fail, note or score for a run or step. */
export function JudgeForm({ step, refusal, pending, onJudge }: Props): ReactElement {
  const [text, setText] = useState("");
  const [name, setName] = useState("");
  const [value, setValue] = useState<number | string>("");
  const isDisabled = refusal !== "" || pending;
  const send = (kind: JudgementRequest["kind"], score: { name: string; value: number } | null = null) => {
    onJudge({
      kind,
      name: score?.name ?? (kind === "note" ? "note" : "verdict"),
      value: score?.value ?? null,
      text,
      step,
    });
    setText("");
  };
  return (
    <div className={classes.form}>
      <Textarea
        label="Comment"
        placeholder="Reason (optional for pass and fail)"
        autosize
        minRows={1}
        maxRows={6}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <div className={classes.actions}>
        <Button
          variant="default"
          leftSection={<IconCheck size={14} className="exact" />}
          disabled={isDisabled}
          onClick={() => send("pass")}
        >
          Pass
        </Button>
        <Button
          variant="default"
          leftSection={<IconX size={14} className="failed" />}
          disabled={isDisabled}
          onClick={() => send("fail")}
        >
          Fail
        </Button>
        <Button variant="default" disabled={isDisabled || text.trim() === ""} onClick={() => send("note")}>
          Add note
        </Button>
      </div>
      <div className={classes.score}>
        <TextInput
          aria-label="Name of the score"
          placeholder="Score, e.g. helpful"
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <NumberInput aria-label="Value of the score" placeholder="0.5" value={value} onChange={setValue} hideControls />
        <Button
          variant="default"
          disabled={isDisabled || name.trim() === "" || typeof value !== "number"}
          onClick={() => typeof value === "number" && send("score", { name, value })}
        >
          Add score
        </Button>
      </div>
      {refusal && <p className="muted">{refusal}</p>}
    </div>
  );
}
