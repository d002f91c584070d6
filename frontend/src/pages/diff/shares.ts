/** What can be said of a share link. */
import type { ShareView } from "@/api/schema";
import { ago } from "@/components/format";

const DAY = 86_400;

export const EXPIRIES = [
  { value: String(DAY), label: "after a day" },
  { value: String(7 * DAY), label: "after a week" },
  { value: String(30 * DAY), label: "after 30 days" },
  { value: "", label: "when I revoke it" },
];

export function linkState(link: ShareView, now: number): { alive: boolean; words: string } {
  if (link.revoked_at !== null) return { alive: false, words: `revoked ${ago(link.revoked_at, now)}` };
  if (link.expires_at === null) return { alive: true, words: "until revoked" };
  const over = Date.parse(link.expires_at) <= now;
  return { alive: !over, words: over ? `ended ${ago(link.expires_at, now)}` : `ends ${ago(link.expires_at, now)}` };
}
