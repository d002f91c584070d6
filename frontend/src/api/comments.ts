import { queryOptions } from "@tanstack/react-query";
import { answer, api } from "@/api/client";
import { visitOf, type VisitHeaders } from "@/api/visit";
import type { PatchedCommentEdit, CommentList, CommentRequest, CommentView } from "@/api/schema";

/** A run or a report. A shared page has one, which its link names. */
export interface CommentSubject {
  kind: "run" | "diff";
  id: string;
}

interface VisitParams {
  path: { token: string };
  header: VisitHeaders;
}

/** The parameters of requests on a shared page; in the cockpit null. */
function visitParams(): VisitParams | null {
  const visit = visitOf(window.location.pathname);
  return visit && { path: { token: visit.token }, header: visit.headers };
}

export const commentsQuery = ({ kind, id }: CommentSubject) =>
  queryOptions({
    queryKey: ["comments", kind, id],
    queryFn: ({ signal }): Promise<CommentList> => {
      const visit = visitParams();
      return visit
        ? answer(api.GET("/api/v1/share/{token}/comments", { params: visit, signal }))
        : answer(api.GET("/api/v1/comments", { params: { query: { kind, subject: id } }, signal }));
    },
    staleTime: 0,
    // Shared pages have no live updates.
    refetchOnWindowFocus: true,
  });

/** `name`: of a visitor. */
export function addComment({ kind, id }: CommentSubject, body: CommentRequest, name: string): Promise<CommentView> {
  const visit = visitParams();
  return visit
    ? answer(api.POST("/api/v1/share/{token}/comments", { params: visit, body: { ...body, name } }))
    : answer(api.POST("/api/v1/comments", { params: { query: { kind, subject: id } }, body }));
}

export function editComment(id: string, body: PatchedCommentEdit): Promise<CommentView> {
  const visit = visitParams();
  return visit
    ? answer(api.PATCH("/api/v1/share/{token}/comments/{id}", { params: withId(visit, id), body }))
    : answer(api.PATCH("/api/v1/comments/{id}", { params: { path: { id } }, body }));
}

export async function deleteComment(id: string): Promise<void> {
  const visit = visitParams();
  await (visit
    ? api.DELETE("/api/v1/share/{token}/comments/{id}", { params: withId(visit, id) })
    : api.DELETE("/api/v1/comments/{id}", { params: { path: { id } } }));
}

export function restoreComment(id: string): Promise<CommentView> {
  const visit = visitParams();
  return visit
    ? answer(api.POST("/api/v1/share/{token}/comments/{id}/restore", { params: withId(visit, id) }))
    : answer(api.POST("/api/v1/comments/{id}/restore", { params: { path: { id } } }));
}

function withId({ path, header }: VisitParams, id: string) {
  return { path: { ...path, id }, header };
}
