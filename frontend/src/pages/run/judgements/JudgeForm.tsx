import { Button, NumberInput, Textarea, TextInput } from "@mantine/core";
import { IconCheck, IconX } from "@tabler/icons-react";
import { useRef, useState, type ReactElement } from "react";
import type { JudgementRequest } from "@/api/schema";
import { isSecondClick } from "@/ui/pointer/secondClick";
import classes from "./Judgements.module.css";

interface Props {
  step: number | null;
  /** Why the step or run cannot be judged. Empty if it can. */
  refusal: string;
  pending: boolean;
  onJudge: (body: JudgementRequest, options: { onSuccess: () => void }) => void;
}

/** Record a pass, fail, note or score for a run or step. */
export function JudgeForm({ step, refusal, pending, onJudge }: Props): ReactElement {
  const [text, setText] = useState("");
  const [name, setName] = useState("");
  const [value, setValue] = useState<number | string>("");
  const comment = useRef<HTMLTextAreaElement>(null);
  const isDisabled = refusal !== "";
  const send = (kind: JudgementRequest["kind"], score: { name: string; value: number } | null = null) => {
    // A button that is disabled meanwhile would lose the focus, and with it the keys of the form.
    if (pending) return;
    const body: JudgementRequest = {
      kind,
      name: score?.name ?? (kind === "note" ? "note" : "verdict"),
      value: score?.value ?? null,
      text,
      step,
    };
    const clear = () => {
      setText("");
      comment.current?.focus();
    };
    onJudge(body, { onSuccess: clear });
  };
  return (
    <div className={classes.form}>
      <Textarea
        ref={comment}
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
          onClick={(event) => isSecondClick(event) || send("pass")}
        >
          Pass
        </Button>
        <Button
          variant="default"
          leftSection={<IconX size={14} className="failed" />}
          disabled={isDisabled}
          onClick={(event) => isSecondClick(event) || send("fail")}
        >
          Fail
        </Button>
        <Button
          variant="default"
          disabled={isDisabled || text.trim() === ""}
          onClick={(event) => isSecondClick(event) || send("note")}
        >
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
          onClick={(event) => isSecondClick(event) || (typeof value === "number" && send("score", { name, value }))}
        >
          Add score
        </Button>
      </div>
      {refusal && <p className="muted">{refusal}</p>}
    </div>
  );
}
