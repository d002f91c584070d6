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

/** Add a document with a unique name. */
export function addDocument(documents: readonly Candidate[]): Candidate[] {
  const ids = new Set(documents.map(({ id }) => id));
  let number = 1;
  while (ids.has(`added-${number}`)) number += 1;
  return [...documents, { id: `added-${number}`, content: "" }];
}

/** The embedding profiles of all retrievers, without duplicates. */
export function profilesOf(retrievers: readonly Pick<RetrieverView, "embeddings">[]): string[] {
  return [...new Set(retrievers.flatMap(({ embeddings }) => embeddings.map(({ name }) => name)))];
}

/** Whether these settings require a new search. Fewer documents are a prefix of the recorded ones. */
export function needsNewSearch(retrieval: SparseOverride["retrieval"] | undefined, recordedCount: number): boolean {
  if (!retrieval || retrieval.documents != null) return false;
  const { top_k: topK, ...rest } = retrieval;
  return (topK ?? 0) > recordedCount || Object.values(rest).some((value) => value != null);
}
