/** New share links, and descriptions of existing ones. */
import type { ShareKind } from "@/api/shares";
import type { ShareRequest, ShareView } from "@/api/schema";
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

/** What a link to each kind of subject shows, and what it does not. */
export const SCOPES: Record<ShareKind, { title: string; scope: string }> = {
  run: {
    title: "Share this run",
    scope: "A link opens only this run: its steps with their payloads, not its forks or its source.",
  },
  replay: {
    title: "Share this replay",
    scope: "A link opens only this replay and the run that it wrote.",
  },
  tree: {
    title: "Share this tree",
    scope: "A link opens only the list of forks with their answers and scores, also of later forks. It shows no steps.",
  },
  diff: { title: "Share this report", scope: "A link opens only this report." },
  experiment: {
    title: "Share this experiment",
    scope: "A link opens only this experiment: its settings, scores and answers. It shows no steps.",
  },
};

/** The terms of a link that is being created. `expiry`: seconds, or empty. */
export interface LinkDraft {
  audience: ShareView["audience"];
  people: string[];
  expiry: string;
  views: number | null;
  allowsComments: boolean;
}

export const NEW_LINK: LinkDraft = {
  audience: "anyone",
  people: [],
  expiry: String(7 * DAY),
  views: null,
  allowsComments: false,
};

export function isComplete({ audience, people }: LinkDraft): boolean {
  return audience !== "people" || people.length > 0;
}

export function termsOf({ audience, people, expiry, views, allowsComments }: LinkDraft): ShareRequest {
  return {
    expires_in_s: expiry === "" ? null : Number(expiry),
    audience,
    people: audience === "people" ? people : [],
    max_views: views,
    allows_comments: allowsComments,
  };
}

export interface TitledLink {
  title: string;
  url: string;
}

/** Several links as text to paste: a title and an address per line. */
export function linkList(links: readonly TitledLink[]): string {
  return links.map(({ title, url }) => `${title.replaceAll(/\s+/g, " ").trim()}: ${url}`).join("\n");
}

/** The audience and number of views of a link, and whether visitors can comment. */
export function linkTerms(
  link: Pick<ShareView, "audience" | "people" | "views" | "max_views" | "allows_comments">,
): string {
  const views =
    link.max_views === null ? pluralize(link.views, "view") : `${link.views} of ${pluralize(link.max_views, "view")}`;
  const audience =
    link.audience === "people" ? link.people.join(", ") : AUDIENCES.find(({ value }) => value === link.audience)?.label;
  return `for ${audience} · ${views}${link.allows_comments ? " · with comments" : ""}`;
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
