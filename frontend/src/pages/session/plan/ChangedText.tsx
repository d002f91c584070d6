import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { stepQuery, stepsFromQuery } from "@/api/runs/runs";
import type { Override, SessionView } from "@/api/schema";
import { changedPlaces, textChanges } from "@/domain/diffs/textChanges";
import { readModelInput, systemPrompt } from "@/domain/steps/content";
import { LongText } from "@/ui/TextView";

interface Props {
  session: SessionView;
  override: Override;
  prompt: string;
}

/** The changed places of a system prompt, or its beginning if the recorded one is unknown. */
export function ChangedPrompt({ session, override, prompt }: Props): ReactElement {
  const recordedPrompt = useRecordedPrompt(session, override);
  if (recordedPrompt === null) return <LongText text={prompt} limit={240} />;
  return (
    <>
      {changedPlaces(textChanges(recordedPrompt, prompt)).map(({ kind, text }, index) => {
        if (kind === "same") return text;
        const Mark = kind === "added" ? "ins" : "del";
        return (
          <Mark key={index}>
            <LongText text={text} />
          </Mark>
        );
      })}
    </>
  );
}

/** The system prompt of the first model step that the override changes. */
function useRecordedPrompt({ source_run, fork_sequence_no }: SessionView, { match }: Override): string | null {
  const first = typeof match.step === "number" ? match.step : Math.max(fork_sequence_no, match.since ?? 1);
  const { data: page } = useQuery({ ...stepsFromQuery(source_run, first), enabled: typeof match.step !== "string" });
  const step = page?.steps.find(
    ({ type, name, model }) =>
      type === "model" &&
      (match.name === null || match.name === name) &&
      (match.model === null || match.model === model),
  );
  const { data: detail } = useQuery({ ...stepQuery(step?.id ?? ""), enabled: step !== undefined });
  const input = detail && readModelInput(detail.input);
  return input ? systemPrompt(input) : null;
}
