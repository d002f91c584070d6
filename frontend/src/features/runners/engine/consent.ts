// Consent to tools that nothing intercepts.
import type { UninterceptedTool } from "@/api/schema";

/**
 * The tools that a runner has to be started with so that it may start the agent; none if one that is online may.
 * The consent of a runner that is away does not count for the next one.
 */
export function toolsToAllow(tools: readonly UninterceptedTool[], hasRunner: boolean): string[] {
  if (hasRunner && tools.every(({ consent }) => consent !== null)) return [];
  return tools.filter(({ consent }) => consent !== "review").map(({ name }) => name);
}
