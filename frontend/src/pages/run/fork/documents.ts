import type { JsonValue } from "@/api/schema";

type Candidate = Record<string, JsonValue>;

export function moveDocument(documents: readonly Candidate[], index: number, by: 1 | -1): Candidate[] {
  const moved = documents[index];
  if (!moved || index + by < 0 || index + by >= documents.length) return [...documents];
  const rest = documents.filter((_, at) => at !== index);
  return [...rest.slice(0, index + by), moved, ...rest.slice(index + by)];
}

export function changeDocument(documents: readonly Candidate[], index: number, content: string): Candidate[] {
  return documents.map((document, at) => (at === index ? { ...document, content } : document));
}
