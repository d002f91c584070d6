import { ActionIcon, Tooltip } from "@mantine/core";
import { IconCheck, IconCircleDashed, IconHash, IconNote, IconTrash, IconX, type Icon } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { JudgementView } from "@/api/schema";
import { timeAgo, fullTime } from "@/ui/format/numbers";
import { paths } from "@/app/paths";
import classes from "./Judgements.module.css";
import { authorWords, statedWords } from "./wording";

const marks: Record<JudgementView["kind"], { shape: Icon; colour: string }> = {
  pass: { shape: IconCheck, colour: "exact" },
  fail: { shape: IconX, colour: "failed" },
  score: { shape: IconHash, colour: "muted" },
  note: { shape: IconNote, colour: "muted" },
  not_run: { shape: IconCircleDashed, colour: "muted" },
};

interface Props {
  judgement: JudgementView;
  /** The run, if the row should name the judged step. */
  run?: string;
  onDelete: (id: string) => void;
}

/** A judgement with its source. Its author can delete it. */
export function JudgementRow({ judgement, run, onDelete }: Props): ReactElement {
  const { shape: Shape, colour } = marks[judgement.kind];
  return (
    <li className={classes.row}>
      <Shape size={15} stroke={2} className={colour} aria-hidden />
      <div className={classes.comment}>
        <span>
          {run !== undefined && judgement.step !== null && (
            <Link {...paths.run(run, { step: judgement.step })}>step {judgement.step}</Link>
          )}{" "}
          <b className={classes.name}>{judgement.name}</b>{" "}
          {judgement.kind !== "note" && <span className={`num ${colour}`}>{statedWords(judgement)}</span>}
        </span>
        {judgement.text && <p className={classes.text}>{judgement.text}</p>}
        {Object.keys(judgement.detail).length > 0 && (
          <code className={classes.text}>{JSON.stringify(judgement.detail)}</code>
        )}
        <span className={`muted ${classes.author}`}>
          {authorWords(judgement)} · <span title={fullTime(judgement.at)}>{timeAgo(judgement.at)}</span>
        </span>
      </div>
      {judgement.mine && (
        <Tooltip label="Delete your judgement">
          <ActionIcon aria-label={`Delete your judgement ${judgement.name}`} onClick={() => onDelete(judgement.id)}>
            <IconTrash size={14} />
          </ActionIcon>
        </Tooltip>
      )}
    </li>
  );
}
