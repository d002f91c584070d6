import { IconX } from "@tabler/icons-react";
import type { ReactElement } from "react";
import type { PlanRefusal } from "@/api/schema";
import { entryOf, type Draft } from "@/domain/overrides/draft";
import classes from "./Overrides.module.css";
import { Refusal } from "./Remarks";
import { describeMatch, describeSettings } from "@/domain/overrides/wording";
import { sentence } from "@/ui/format/text";

interface Props {
  draft: Draft;
  refusals: PlanRefusal[];
  onRemove: (index: number) => void;
  onSelect: (sequenceNo: number) => void;
}

/** One chip per override. Rejected entries show the reason. */
export function OverrideChips({ draft, refusals, onRemove, onSelect }: Props): ReactElement | null {
  if (draft.overrides.length === 0) return null;
  return (
    <ul className={classes.chips} aria-label="Overrides">
      {draft.overrides.map((entry, index) => {
        const { step } = entry.match;
        const entryRefusals = refusals.filter((refusal) => entryOf(refusal.where) === index);
        return (
          <li key={index}>
            <span className={classes.chip} data-refused={entryRefusals.length > 0}>
              <button
                type="button"
                disabled={typeof step !== "number"}
                onClick={() => typeof step === "number" && onSelect(step)}
              >
                <b>{describeSettings(entry)}</b> <span>{describeMatch(entry)}</span>
              </button>
              <button
                type="button"
                aria-label={`Remove: ${describeSettings(entry)}, ${describeMatch(entry)}`}
                onClick={() => onRemove(index)}
              >
                <IconX size={12} aria-hidden />
              </button>
            </span>
            {entryRefusals.map((refusal) => (
              <Refusal key={refusal.code + refusal.where}>{sentence(refusal.detail)}</Refusal>
            ))}
          </li>
        );
      })}
    </ul>
  );
}
