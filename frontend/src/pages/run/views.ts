import type { StepSummary, StepType } from "@/api/schema";

export const RUN_VIEWS = ["transcript", "tree", "timeline", "graph"] as const;
export type RunView = (typeof RUN_VIEWS)[number];

/** Steps that decide: a long run is judged by its beginning, before the rest has loaded. */
const BEGINNING = 300;
const CONTAINERS: ReadonlySet<StepType> = new Set<StepType>(["agent", "turn"]);
const TALK: ReadonlySet<StepType> = new Set<StepType>(["model", "tool"]);

/**
 * Whether a run reads as a conversation, whatever its source: at least half of its steps that contain no others are
 * model and tool calls, and at least one model answer was recorded.
 */
function isChat(steps: readonly StepSummary[]): boolean {
  const calls = steps.slice(0, BEGINNING).filter(({ type }) => !CONTAINERS.has(type));
  const hasAnswer = calls.some(({ type, summary }) => type === "model" && summary !== "");
  return hasAnswer && calls.filter(({ type }) => TALK.has(type)).length * 2 >= calls.length;
}

/** The view of a run whose address names none. */
export const defaultView = (steps: readonly StepSummary[]): RunView => (isChat(steps) ? "transcript" : "tree");

export function isRunView(value: unknown): value is RunView {
  return RUN_VIEWS.some((view) => view === value);
}

/** The step that a new page shows: of a chat, the first model call, whose messages begin the conversation. */
export function firstStep(steps: readonly StepSummary[], usualView: RunView): number | null {
  const first = usualView === "transcript" ? steps.find(({ type }) => type === "model") : undefined;
  return (first ?? steps[0])?.sequence_no ?? null;
}
