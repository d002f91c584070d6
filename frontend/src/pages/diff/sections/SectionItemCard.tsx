import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import type { ReactElement } from "react";
import type { DiffPlace, Section, SectionItem } from "@/api/schema";
import { score } from "@/domain/diffs/score";
import { MessageList } from "./MessageList";
import { RankTable } from "./RankTable";
import { RawDialog } from "./RawDialog";
import { useReport } from "../reportContext";
import { BothSteps } from "../StepLink";
import { TextDiffView } from "./TextDiffView";
import { stepsChangedByReplay } from "./controlSteps";
import { Scalars, ValueRows } from "./ValueRows";
import { RELATION, itemTitle } from "../wording";
import classes from "./SectionItemCard.module.css";

interface Props {
  section: Section["name"];
  item: SectionItem;
  /** Which of the differences of its kind at its steps, from 0. */
  occurrence: number;
  isUnified: boolean;
}

/** One difference, with every comparison that applies to it. */
export function SectionItemCard({ section, item, occurrence, isUnified }: Props): ReactElement {
  const { report, hasLinks } = useReport();
  const [raw, rawDialog] = useDisclosure(false);
  const relation = RELATION[item.relation];
  const place: DiffPlace = {
    section,
    kind: item.kind,
    base: item.base?.sequence_no ?? null,
    candidate: item.candidate?.sequence_no ?? null,
    occurrence,
    part: "",
    line: null,
  };
  const isTotal = item.base === null && item.candidate === null;
  return (
    <article className={classes.item}>
      <header className={classes.head}>
        <span className={classes.relation} data-relation={item.relation} title={relation.words}>
          <span aria-hidden>{relation.sign}</span>
          <span className={classes.hidden}>{relation.words}</span>
        </span>
        <h3 className={classes.kind}>{item.kind}</h3>
        <span className={classes.title} title={item.title}>
          {!isTotal && itemTitle(item)}
        </span>
        {item.base && stepsChangedByReplay(report).has(item.base.id) && (
          <span className="chip simulated" title="The base replayed without the changes differs at this step, too.">
            also without the changes
          </span>
        )}
        {item.similarity !== null && <span className={classes.similarity}>{score(item.similarity)} similar</span>}
        {hasLinks && item.base && item.candidate && (
          <Button variant="subtle" color="gray" onClick={rawDialog.open} className={classes.raw}>
            Raw
          </Button>
        )}
        <BothSteps base={item.base} candidate={item.candidate} />
      </header>
      {item.text && <TextDiffView diff={item.text} isUnified={isUnified} place={place} />}
      {item.messages.length > 0 && <MessageList changes={item.messages} isUnified={isUnified} place={place} />}
      {item.values.length > 0 &&
        (isTotal ? (
          <Scalars changes={item.values} kind={item.kind} />
        ) : (
          <ValueRows changes={item.values} place={place} />
        ))}
      {item.ranks && <RankTable ranks={item.ranks} />}
      {raw && item.base && item.candidate && (
        <RawDialog kind={item.kind} base={item.base} candidate={item.candidate} onClose={rawDialog.close} />
      )}
    </article>
  );
}
