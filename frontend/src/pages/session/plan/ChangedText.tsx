import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { stepQuery, stepsFromQuery } from "@/api/runs/runs";
import type { JsonValue, Override, SessionView, StepDetail } from "@/api/schema";
import { changedPlaces, textChanges } from "@/domain/diffs/textChanges";
import { valueText } from "@/domain/overrides/details";
import { fieldChanges } from "@/domain/overrides/fieldChanges";
import { matchesStep } from "@/domain/overrides/matching";
import { readModelInput, systemPrompt } from "@/domain/steps/content";
import { isObject } from "@/ui/format/json";
import { LongText } from "@/ui/TextView";

interface Props {
  session: SessionView;
  override: Override;
  /** The new value of what the override changes. */
  value: JsonValue;
}

/** The changed places of a value, or its beginning if the recorded one is unknown. */
export function ChangedText({ session, override, value }: Props): ReactElement {
  const recording = useRecordedValue(session, override);
  if (recording === undefined) return <LongText text={valueText(value)} limit={240} />;
  const fields = fieldChanges(recording.value, value);
  return (
    <>
      {!recording.isOnly && <span className="muted">in step {recording.step}, the first of several: </span>}
      {!fields && <Places before={valueText(recording.value)} after={valueText(value)} />}
      {fields?.map(({ name, before, after }) => (
        <div key={name}>
          <span className="muted">{name}</span> <Places before={before} after={after} />
        </div>
      ))}
    </>
  );
}

function Places({ before, after }: { before: string; after: string }): ReactElement {
  return (
    <>
      {changedPlaces(textChanges(before, after)).map(({ kind, text: piece }, index) => {
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

interface RecordedValue {
  value: JsonValue;
  step: number;
  /** The override changes no other step. */
  isOnly: boolean;
}

/** The value in the first step that the override changes. Others may have another one. */
function useRecordedValue(
  { source_run, fork_sequence_no }: SessionView,
  override: Override,
): RecordedValue | undefined {
  const { match } = override;
  const first = typeof match.step === "number" ? match.step : Math.max(fork_sequence_no, match.since ?? 1);
  const { data: page } = useQuery({ ...stepsFromQuery(source_run, first), enabled: typeof match.step !== "string" });
  const steps = (page?.steps ?? []).filter((step) => matchesStep(override, step));
  const step = steps[0];
  const { data: detail } = useQuery({ ...stepQuery(step?.id ?? ""), enabled: step !== undefined });
  const value = detail && recordedValueOf(detail, override);
  if (value === undefined || !page || !step) return undefined;
  const isOnly = match.step !== null || (steps.length === 1 && page.next === null);
  return { value, step: step.sequence_no, isOnly };
}

function recordedValueOf({ input, output }: StepDetail, override: Override): JsonValue | undefined {
  if (override.prompt) return promptOf(input);
  if (override.arguments) return input;
  if (override.retrieval?.documents) return isObject(output) ? output["documents"] : undefined;
  return output;
}

function promptOf(input: JsonValue): string | undefined {
  const request = readModelInput(input);
  return (request && systemPrompt(request)) ?? undefined;
}
