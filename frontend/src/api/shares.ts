import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "@/api/client";
import { keepTicket } from "@/api/visit";
import type { ShareRequest, ShareView } from "@/api/schema";

export type ShareKind = ShareView["kind"];

/** What a link opens. The tree of a run is named by any of its runs. */
export interface ShareSubject {
  kind: ShareKind;
  id: string;
}

export const sharesQuery = ({ kind, id }: ShareSubject) =>
  queryOptions({
    queryKey: ["shares", kind, id],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/shares", { params: { query: { kind, subject: id } }, signal })),
    staleTime: 0,
  });

export function share({ kind, id }: ShareSubject, terms: ShareRequest) {
  return answer(api.POST("/api/v1/shares", { body: { kind, subject: id, ...terms } }));
}

export async function revoke(share: string): Promise<void> {
  await api.DELETE("/api/v1/shares/{id}", { params: { path: { id: share } } });
}

/** Open a link once: each request is a view. */
export const ticketQuery = (token: string) =>
  queryOptions({
    queryKey: ["share", token],
    queryFn: async ({ signal }) => {
      const ticket = await answer(api.GET("/api/v1/share/{token}/ticket", { params: { path: { token } }, signal }));
      keepTicket(token, ticket.ticket);
      return ticket;
    },
    staleTime: Infinity,
    gcTime: Infinity,
    refetchOnReconnect: false,
    retry: false,
  });
