// Descriptions of a run's usage.
import type { UsageSum } from "@/api/schema";
import { pluralize, money } from "@/ui/format/numbers";

/** The tokens of a sum, all null if no call has any: a model that was called has counted some. */
export function tokenCounts({ tokens_in, tokens_cached, tokens_out }: UsageSum): (number | null)[] {
  const counts = [tokens_in, tokens_cached, tokens_out];
  return tokens_in + tokens_out > 0 ? counts : counts.map(() => null);
}

/** The cost of a sum. Marked as incomplete if some calls have no known price. */
export function costWords(usage: UsageSum): string {
  if (usage.cost_usd === null) return "–";
  return usage.unpriced_calls > 0 ? `${money(usage.cost_usd)} + ?` : money(usage.cost_usd);
}

/** The number of calls, and how many of them were reused. */
export function callWords(usage: UsageSum): string {
  const calls = pluralize(usage.calls, "call");
  return usage.reused_calls > 0
    ? `${calls}, ${usage.reused_calls === usage.calls ? "all" : usage.reused_calls} reused`
    : calls;
}
