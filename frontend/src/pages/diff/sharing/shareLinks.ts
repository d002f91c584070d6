/** Descriptions of share links. */
import type { ShareView } from "@/api/schema";
import { timeAgo, pluralize } from "@/ui/format/numbers";

const DAY = 86_400;

export const EXPIRIES = [
  { value: String(DAY), label: "after a day" },
  { value: String(7 * DAY), label: "after a week" },
  { value: String(30 * DAY), label: "after 30 days" },
  { value: "", label: "only when revoked" },
];

export const AUDIENCES: { value: ShareView["audience"]; label: string }[] = [
  { value: "anyone", label: "anyone with the link" },
  { value: "signed_in", label: "signed-in users" },
  { value: "people", label: "named people" },
];

/** The audience and number of views of a link. */
export function linkTerms(link: Pick<ShareView, "audience" | "people" | "views" | "max_views">): string {
  const views =
    link.max_views === null ? pluralize(link.views, "view") : `${link.views} of ${pluralize(link.max_views, "view")}`;
  const audience =
    link.audience === "people" ? link.people.join(", ") : AUDIENCES.find(({ value }) => value === link.audience)?.label;
  return `for ${audience} · ${views}`;
}

export function linkState(link: ShareView, now: number): { alive: boolean; words: string } {
  if (link.revoked_at !== null) return { alive: false, words: `revoked ${timeAgo(link.revoked_at, now)}` };
  if (link.max_views !== null && link.views >= link.max_views) return { alive: false, words: "view limit reached" };
  if (link.expires_at === null) return { alive: true, words: "until revoked" };
  const isExpired = Date.parse(link.expires_at) <= now;
  return {
    alive: !isExpired,
    words: isExpired ? `ended ${timeAgo(link.expires_at, now)}` : `ends ${timeAgo(link.expires_at, now)}`,
  };
}
