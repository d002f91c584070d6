// Reading what a share link opens: requests of a shared page go to the addresses behind the link's token.
import type { Middleware } from "openapi-fetch";

/** What a shared page may request. Everything else is no part of a link. */
const SUBJECTS = /^\/api\/v1\/(runs|steps|replays|diffs|experiments)\//;
const API = "/api/v1/";

/** The tickets of the links that this page has opened, by token. */
const tickets = new Map<string, string>();

export function keepTicket(token: string, ticket: string): void {
  tickets.set(token, ticket);
}

/** The token in the address of a shared page, in other addresses null. */
export function tokenOf(pathname: string): string | null {
  return /^\/share\/([^/]+)/.exec(pathname)?.[1] ?? null;
}

export interface VisitHeaders {
  "X-Share-Ticket": string;
  "X-Visitor-Key": string;
}

/** The token of an opened link, and what proves the visit and the authorship of comments; elsewhere null. */
export function visitOf(pathname: string): { token: string; headers: VisitHeaders } | null {
  const token = tokenOf(pathname);
  const ticket = token === null ? undefined : tickets.get(token);
  if (token === null || ticket === undefined) return null;
  return { token, headers: { "X-Share-Ticket": ticket, "X-Visitor-Key": visitorKey() } };
}

const VISITOR_KEY = "visitor-key";

/** The key by which the server recognises the comments of this browser. */
function visitorKey(): string {
  const storedKey = localStorage.getItem(VISITOR_KEY);
  if (storedKey) return storedKey;
  // `randomUUID` needs HTTPS.
  const key = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0"));
  localStorage.setItem(VISITOR_KEY, key.join(""));
  return key.join("");
}

/** The address of a request on a shared page; null if the request is not about the subject of a link. */
export function sharedAddress(address: string, token: string): string | null {
  const url = new URL(address);
  if (!SUBJECTS.test(url.pathname)) return null;
  url.pathname = `${API}share/${encodeURIComponent(token)}/${url.pathname.slice(API.length)}`;
  return url.href;
}

export const readWithTicket: Middleware = {
  onRequest({ request }) {
    const token = tokenOf(window.location.pathname);
    const ticket = token === null ? undefined : tickets.get(token);
    if (token === null || ticket === undefined) return;
    const address = sharedAddress(request.url, token);
    if (address === null) return;
    const redirect = new Request(address, request);
    redirect.headers.set("X-Share-Ticket", ticket);
    return redirect;
  },
};
