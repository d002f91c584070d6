// What a run used, in words.
import type { UsageSum } from "@/api/schema";
import { pluralize, money } from "@/ui/format/numbers";

/** Unknown stays unknown: a sum that lacks the cost of some calls says so. */
export function costWords(usage: UsageSum): string {
  if (usage.cost_usd === null) return "–";
  return usage.unpriced_calls > 0 ? `${money(usage.cost_usd)} + ?` : money(usage.cost_usd);
}

/** How many of the calls were made, and how many of them were not made again. */
export function callWords(usage: UsageSum): string {
  const calls = pluralize(usage.calls, "call");
  return usage.reused_calls > 0
    ? `${calls}, ${usage.reused_calls === usage.calls ? "all" : usage.reused_calls} reused`
    : calls;
}
