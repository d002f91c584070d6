// What a fork changes and what its plan would do, in the words that the page uses.
import type { Plan, PlannedStep } from "@/api/schema";
import { counted, duration, money } from "@/components/format";
import type { SparseOverride } from "./draft";

type Action = PlannedStep["action"];

/** What happens to one step. */
export const actionWord: Record<Action, string> = {
  inherited: "taken from the recording",
  reuse: "stays as recorded",
  cache: "from the cache",
  live: "runs live",
  simulate: "simulated",
  blocked: "blocked",
  unreached: "may not happen",
};

const lines: Record<Action, (count: number) => string> = {
  inherited: (count) => `${counted(count, "step")} before the fork, taken over`,
  reuse: (count) => `${counted(count, "step")} from the recording, unchanged`,
  cache: (count) => `${counted(count, "step")} from the cache, same signature`,
  live: (count) => counted(count, "live call"),
  simulate: (count) => `${counted(count, "step")} simulated`,
  blocked: (count) => `${counted(count, "step")} blocked`,
  unreached: (count) => `${counted(count, "step")} may not happen any more`,
};
const order: readonly Action[] = ["inherited", "reuse", "cache", "live", "simulate", "blocked", "unreached"];

/** The plan as a short list, in the order of how sure each answer is. */
export function planLines(plan: Plan): { action: Action; text: string }[] {
  return order.flatMap((action) => {
    const count = plan.actions[action] ?? 0;
    return count > 0 ? [{ action, text: lines[action](count) }] : [];
  });
}

/** "≤ $0.013 · about 3 s", honest about what is unknown. */
export function planPrice(plan: Plan): string {
  if (plan.live_calls === 0) return "free, nothing goes live";
  const cost = plan.cost_usd === null ? "cost unknown" : `≤ ${money(plan.cost_usd)}`;
  return plan.duration_ms === null ? cost : `${cost} · about ${duration(plan.duration_ms)}`;
}

/** Which steps an entry applies to. */
export function matchWords({ match }: SparseOverride): string {
  if (match.step != null) return `step ${match.step}`;
  const named = [match.name, match.model].filter(Boolean).join(", ");
  return `every ${match.type ?? ""} step${named ? ` (${named})` : ""}`;
}

/** What an entry sets. */
export function setWords(entry: SparseOverride): string {
  const words: string[] = [];
  if (entry.prompt?.system !== undefined) words.push("system prompt");
  if (entry.prompt && Object.keys(entry.prompt).some((key) => key !== "system")) words.push("prompt");
  if (entry.messages) words.push(counted(entry.messages.length, "message edit"));
  if (entry.model) words.push(...modelWords(entry.model));
  if (entry.retrieval) words.push(entry.retrieval.documents ? "documents" : "retrieval");
  if (entry.tool) words.push("tool answer");
  if ("output" in entry) words.push("what it said");
  return words.join(", ");
}

function modelWords(model: NonNullable<SparseOverride["model"]>): string[] {
  return Object.entries(model).map(([name, value]) => {
    if (name === "model") return String(value);
    return name === "provider" ? `on ${String(value)}` : `${name} ${String(value)}`;
  });
}

/** A remark of the server as a sentence of its own. */
export function sentence(text: string): string {
  const start = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(start) ? start : `${start}.`;
}
