// What an edit changed in a text, word by word.
import { pluralize } from "@/ui/format/numbers";

export interface TextPiece {
  kind: "same" | "added" | "removed";
  text: string;
}

const WORDS = /\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu;
/** Comparing more pairs of words would delay typing. A larger change is one replacement. */
const MOST_PAIRS = 400_000;

/** The pieces of both texts in order. Joined without the removed ones, they are `after`. */
export function textChanges(before: string, after: string): TextPiece[] {
  const old = before.match(WORDS) ?? [];
  const next = after.match(WORDS) ?? [];
  let start = 0;
  while (start < old.length && start < next.length && old[start] === next[start]) start++;
  let end = 0;
  while (end < old.length - start && end < next.length - start && old.at(-1 - end) === next.at(-1 - end)) end++;
  return merge([
    { kind: "same", text: next.slice(0, start).join("") },
    ...middle(old.slice(start, old.length - end), next.slice(start, next.length - end)),
    { kind: "same", text: next.slice(next.length - end).join("") },
  ]);
}

/** Pieces of the words between the equal ends, by their heaviest common subsequence. */
function middle(old: readonly string[], next: readonly string[]): TextPiece[] {
  if (old.length * next.length > MOST_PAIRS)
    return [
      { kind: "removed", text: old.join("") },
      { kind: "added", text: next.join("") },
    ];
  const width = next.length + 1;
  // weights[i * width + j]: of the heaviest common subsequence of old from i and next from j.
  const weights = new Uint32Array((old.length + 1) * width);
  const weightFrom = (i: number, j: number) => weights[i * width + j] ?? 0;
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = next.length - 1; j >= 0; j--)
      weights[i * width + j] =
        old[i] === next[j]
          ? weightFrom(i + 1, j + 1) + weightOf(old[i] ?? "")
          : Math.max(weightFrom(i + 1, j), weightFrom(i, j + 1));
  const pieces: TextPiece[] = [];
  for (let i = 0, j = 0; i < old.length || j < next.length;) {
    if (i < old.length && old[i] === next[j]) {
      pieces.push({ kind: "same", text: next[j] ?? "" });
      i++;
      j++;
    } else if (i < old.length && (j === next.length || weightFrom(i + 1, j) >= weightFrom(i, j + 1)))
      pieces.push({ kind: "removed", text: old[i++] ?? "" });
    else pieces.push({ kind: "added", text: next[j++] ?? "" });
  }
  return pieces;
}

/** Equal words count for more than equal spaces between them. */
const weightOf = (word: string) => (word.trim() ? 4 : 1);

/** Join neighbours of one kind. A space between two replaced words is replaced with them: few long marks read better. */
function merge(pieces: readonly TextPiece[]): TextPiece[] {
  const result: TextPiece[] = [];
  const open = { removed: "", added: "", same: "" };
  const close = (...kinds: TextPiece["kind"][]) => {
    for (const kind of kinds) {
      if (open[kind]) result.push({ kind, text: open[kind] });
      open[kind] = "";
    }
  };
  for (const [index, { kind, text }] of pieces.entries()) {
    const isBetween = kind === "same" && text.trim() === "" && open.removed !== "" && open.added !== "";
    if (isBetween && (pieces[index + 1]?.kind ?? "same") !== "same") {
      open.removed += text;
      open.added += text;
      continue;
    }
    if (kind === "same") close("removed", "added");
    else close("same");
    open[kind] += text;
  }
  close("same", "removed", "added");
  slide(result);
  return result;
}

/**
 * Move each change that could begin a little later to the end of a sentence or line: `a.[ b.]` rather than `a[. b].`
 * Both spell the same text.
 */
function slide(pieces: TextPiece[]): void {
  for (const [index, piece] of pieces.entries()) {
    const [before, after] = [pieces[index - 1], pieces[index + 1]];
    if (piece.kind === "same" || before?.kind !== "same" || after?.kind !== "same") continue;
    if (/[.!?\n]$/.test(piece.text)) continue;
    const whole = piece.text + after.text;
    let overlap = 0;
    while (overlap < after.text.length && whole[overlap] === after.text[overlap]) overlap++;
    const distance = after.text.slice(0, overlap).search(/[.!?\n]/) + 1;
    before.text += whole.slice(0, distance);
    piece.text = whole.slice(distance, distance + piece.text.length);
    after.text = after.text.slice(distance);
  }
}

/** Unchanged characters to show on each side of a change. */
const CONTEXT = 70;

/** The pieces without the unchanged text far from a change, which an ellipsis replaces. */
export function changedPlaces(pieces: readonly TextPiece[]): TextPiece[] {
  return pieces.map((piece, index) => {
    if (piece.kind !== "same") return piece;
    const head = index === 0 ? "" : piece.text.slice(0, CONTEXT);
    const tail = index === pieces.length - 1 ? "" : piece.text.slice(-CONTEXT);
    const isShort = piece.text.length <= head.length + tail.length;
    return isShort ? piece : { ...piece, text: [head.trimEnd(), "…", tail.trimStart()].filter(Boolean).join(" ") };
  });
}

/** "+1 sentence", "−2 words +3 words". Empty if nothing changed. */
export function changeSize(pieces: readonly TextPiece[]): string {
  return (["removed", "added"] as const)
    .map((kind) => sizeOf(pieces.filter((piece) => piece.kind === kind).map(({ text }) => text.trim())))
    .map((size, index) => (size ? `${index === 0 ? "−" : "+"}${size}` : ""))
    .filter(Boolean)
    .join(" ");
}

function sizeOf(texts: readonly string[]): string {
  const words = texts.flatMap((text) => text.match(/[\p{L}\p{N}_]+/gu) ?? []).length;
  const isSentences = texts.some(Boolean) && texts.every((text) => /[.!?]$/.test(text) && text.includes(" "));
  if (isSentences) return pluralize(texts.flatMap((text) => text.match(/[.!?](?=\s|$)/g) ?? []).length, "sentence");
  if (words > 0) return pluralize(words, "word");
  const characters = texts.join("").length;
  return characters > 0 ? pluralize(characters, "character") : "";
}
