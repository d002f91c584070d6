/** Everything that can be done by key or from the palette, as registered by what is on the screen. */

export interface Command {
  id: string;
  label: string;
  /** Heading in the help and the palette. */
  section: string;
  /** A key as in `KeyboardEvent.key`, with `mod+` or `shift+` before it, or two keys in a row: `g r`. */
  keys?: string;
  /** False keeps a command that only makes sense as a key (next row) out of the palette. */
  palette?: boolean;
  /** Works while the focus is in a text field too. */
  whileTyping?: boolean;
  run: () => void;
}

/** Later groups win over earlier ones for the same key: a dialog over a page, a page over the shell. */
export class CommandRegistry {
  private groups = new Map<string, readonly Command[]>();
  private listeners = new Set<() => void>();
  private snapshot: readonly Command[] = [];

  set(group: string, commands: readonly Command[]): void {
    this.groups.set(group, commands);
    this.changed();
  }

  delete(group: string): void {
    if (this.groups.delete(group)) this.changed();
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  all = (): readonly Command[] => this.snapshot;

  private changed(): void {
    const byId = new Map<string, Command>();
    for (const commands of this.groups.values()) for (const command of commands) byId.set(command.id, command);
    this.snapshot = [...byId.values()];
    for (const listener of this.listeners) listener();
  }
}

export interface Press {
  key: string;
  mod: boolean;
  shift: boolean;
}

const LETTER_OR_DIGIT = /^[a-z0-9]$/i;

/** The press as it is written in `Command.keys`; shift counts only where it does not already change the key. */
export function pressName(press: Press): string {
  const key = press.key === " " ? "space" : press.key.toLowerCase();
  const shift = press.shift && (LETTER_OR_DIGIT.test(press.key) || press.key.length > 1);
  return `${press.mod ? "mod+" : ""}${shift ? "shift+" : ""}${key}`;
}

export interface Resolution {
  command: Command | null;
  /** The first key of a sequence that may still be completed. */
  pending: string;
}

/** Finds what a press does, given the first key of a sequence still open. */
export function resolvePress(commands: readonly Command[], press: Press, pending: string, typing: boolean): Resolution {
  const name = pressName(press);
  const usable = commands.filter((command) => command.keys !== undefined && (!typing || command.whileTyping));
  const full = pending ? `${pending} ${name}` : name;
  const command = usable.findLast((candidate) => candidate.keys === full);
  if (command) return { command, pending: "" };
  if (pending) return resolvePress(commands, press, "", typing);
  const starts = usable.some((candidate) => candidate.keys?.startsWith(`${name} `));
  return { command: null, pending: starts ? name : "" };
}

/** The caps to draw for `keys`, one list for each key of a sequence. */
export function keyCaps(keys: string, apple: boolean): string[][] {
  const names: Record<string, string> = {
    mod: apple ? "⌘" : "Ctrl",
    shift: "⇧",
    enter: "↵",
    escape: "Esc",
    arrowdown: "↓",
    arrowup: "↑",
    arrowleft: "←",
    arrowright: "→",
  };
  return keys.split(" ").map((stroke) => splitStroke(stroke).map((part) => names[part] ?? part));
}

function splitStroke(stroke: string): string[] {
  return stroke === "+" ? ["+"] : stroke.split("+");
}

/** Commands under their sections, in the order in which the sections were first seen. */
export function bySection(commands: readonly Command[]): [string, Command[]][] {
  const sections = new Map<string, Command[]>();
  for (const command of commands) {
    const list = sections.get(command.section) ?? [];
    list.push(command);
    sections.set(command.section, list);
  }
  return [...sections];
}

/** Score of `query` in `text`: every word must occur; word starts count more. Null: no match. */
export function matchScore(text: string, query: string): number | null {
  const haystack = text.toLowerCase();
  let score = 0;
  for (const word of query.toLowerCase().split(/\s+/).filter(Boolean)) {
    const at = haystack.indexOf(word);
    if (at < 0) return null;
    const startsWord = at === 0 || /[^a-z0-9]/.test(haystack.charAt(at - 1));
    score += (startsWord ? 2 : 1) + word.length / haystack.length;
  }
  return score;
}

/** The commands that the palette offers for a query, best first. */
export function findCommands(commands: readonly Command[], query: string): Command[] {
  return commands
    .filter((command) => command.palette !== false)
    .map((command) => ({ command, score: matchScore(`${command.label} ${command.section}`, query) }))
    .filter((hit): hit is { command: Command; score: number } => hit.score !== null)
    .sort((a, b) => b.score - a.score)
    .map((hit) => hit.command);
}
