// Variables of the agent's environment.
import type { RunnerView } from "@/api/schema";

export type Variables = Readonly<Record<string, string>>;

/** The names that one of the runners allows. */
export function variableNames(runners: readonly RunnerView[]): string[] {
  return [...new Set(runners.flatMap(({ env_allow }) => env_allow))].sort();
}

/** What a request sets: fields with a value. */
export function valuesOf(variables: Variables): Record<string, string> {
  return Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== ""));
}
