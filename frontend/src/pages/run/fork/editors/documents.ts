import type { JsonValue, RetrieverView } from "@/api/schema";
import type { SparseOverride } from "@/domain/overrides/draft";

type Candidate = Record<string, JsonValue>;

export function moveDocument(documents: readonly Candidate[], index: number, offset: 1 | -1): Candidate[] {
  const document = documents[index];
  if (!document || index + offset < 0 || index + offset >= documents.length) return [...documents];
  const rest = documents.filter((_, position) => position !== index);
  return [...rest.slice(0, index + offset), document, ...rest.slice(index + offset)];
}

export function changeDocument(documents: readonly Candidate[], index: number, content: string): Candidate[] {
  return documents.map((document, position) => (position === index ? { ...document, content } : document));
}

/** One more at the end, under a name that no other has. */
export function addDocument(documents: readonly Candidate[]): Candidate[] {
  const ids = new Set(documents.map(({ id }) => id));
  let number = 1;
  while (ids.has(`added-${number}`)) number += 1;
  return [...documents, { id: `added-${number}`, content: "" }];
}

/** The embedding profiles that some retriever has, each once. */
export function profilesOf(retrievers: readonly Pick<RetrieverView, "embeddings">[]): string[] {
  return [...new Set(retrievers.flatMap(({ embeddings }) => embeddings.map(({ name }) => name)))];
}

/** Whether only a new search can say what these settings find; fewer documents are the head of the recorded ones. */
export function needsNewSearch(retrieval: SparseOverride["retrieval"] | undefined, recordedCount: number): boolean {
  if (!retrieval || retrieval.documents != null) return false;
  const { top_k: topK, ...rest } = retrieval;
  return (topK ?? 0) > recordedCount || Object.values(rest).some((value) => value != null);
}
