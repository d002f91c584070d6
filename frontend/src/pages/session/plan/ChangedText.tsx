import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { stepQuery, stepsFromQuery } from "@/api/runs/runs";
import type { Override, SessionView, StepDetail } from "@/api/schema";
import { changedPlaces, textChanges } from "@/domain/diffs/textChanges";
import { valueText } from "@/domain/overrides/details";
import { readModelInput, systemPrompt } from "@/domain/steps/content";
import { LongText } from "@/ui/TextView";

interface Props {
  session: SessionView;
  override: Override;
  /** The new value of the system prompt or of the output. */
  text: string;
}

/** The changed places of a prompt or an output, or its beginning if the recorded one is unknown. */
export function ChangedText({ session, override, text }: Props): ReactElement {
  const recordedText = useRecordedText(session, override);
  if (recordedText === null) return <LongText text={text} limit={240} />;
  return (
    <>
      {changedPlaces(textChanges(recordedText, text)).map(({ kind, text: piece }, index) => {
        if (kind === "same") return piece;
        const Mark = kind === "added" ? "ins" : "del";
        return (
          <Mark key={index}>
            <LongText text={piece} />
          </Mark>
        );
      })}
    </>
  );
}

/** The text in the first step that the override changes. */
function useRecordedText({ source_run, fork_sequence_no }: SessionView, { match, prompt }: Override): string | null {
  const first = typeof match.step === "number" ? match.step : Math.max(fork_sequence_no, match.since ?? 1);
  const { data: page } = useQuery({ ...stepsFromQuery(source_run, first), enabled: typeof match.step !== "string" });
  const step = page?.steps.find(
    ({ type, name, model }) =>
      (prompt ? type === "model" : type === (match.type ?? type)) &&
      (match.name === null || match.name === name) &&
      (match.model === null || match.model === model),
  );
  const { data: detail } = useQuery({ ...stepQuery(step?.id ?? ""), enabled: step !== undefined });
  return detail ? (prompt ? promptOf(detail) : valueText(detail.output)) : null;
}

function promptOf({ input }: StepDetail): string | null {
  const request = readModelInput(input);
  return request && systemPrompt(request);
}
