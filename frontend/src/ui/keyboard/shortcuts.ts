// Registry of keyboard shortcuts. Pages register theirs, and the help dialog lists them.
import { useEffect, useEffectEvent, useSyncExternalStore } from "react";

export interface Shortcut {
  /** `event.key` ("j", "D", "?", "ArrowDown"), with "mod+" for Ctrl or Cmd. Empty: palette only. */
  keys: string;
  /** Description, unique within its group. */
  action: string;
  run: () => void;
  /** Active while typing in a field. */
  whileTyping?: boolean;
}
interface Group {
  name: string;
  shortcuts: readonly Shortcut[];
}

let groups: readonly Group[] = [];
const watchers = new Set<() => void>();

function setGroups(next: readonly Group[]): void {
  groups = next;
  for (const watcher of watchers) watcher();
}

/** Add a group. Returns a function that removes it. The latest group wins a shared key, the outermost one never. */
export function register(group: Group, isOutermost = false): () => void {
  setGroups(isOutermost ? [group, ...groups] : [...groups, group]);
  return () => setGroups(groups.filter((item) => item !== group));
}

export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target.closest("[contenteditable=true], .cm-editor")) return true;
  if (target instanceof HTMLInputElement) return !["checkbox", "radio", "button", "range"].includes(target.type);
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}

export function matches(keys: string, event: KeyboardEvent): boolean {
  const mod = keys.startsWith("mod+");
  const key = mod ? keys.slice(4) : keys;
  if (mod !== (event.ctrlKey || event.metaKey) || event.altKey) return false;
  // "d" is not Shift+D, but it is d under Caps Lock.
  return key !== "" && (key === event.key || (!event.shiftKey && key === event.key.toLowerCase()));
}

/** A dialog captures keys, except those that work while typing. */
function isBusy(event: KeyboardEvent): boolean {
  return isTyping(event.target) || document.querySelector("[role=dialog][aria-modal=true]") !== null;
}

/** Enter and Space belong to the focused control, not to the page. */
function belongsToControl(event: KeyboardEvent): boolean {
  const control = event.target instanceof HTMLElement && event.target.closest("a, button, summary, [role=button]");
  return Boolean(control) && (event.key === "Enter" || event.key === " ");
}

export function handleKey(event: KeyboardEvent): void {
  if (event.defaultPrevented) return;
  const busy = isBusy(event);
  for (const group of groups.toReversed()) {
    const shortcut = group.shortcuts.find((candidate) => matches(candidate.keys, event));
    if (!shortcut || (busy && !shortcut.whileTyping)) continue;
    if (!shortcut.keys.startsWith("mod+") && belongsToControl(event)) continue;
    event.preventDefault();
    shortcut.run();
    return;
  }
}

/** Register shortcuts while the component is mounted. `isOutermost`: all pages are inside the component. */
export function useShortcuts(name: string, shortcuts: readonly Shortcut[], isOutermost = false): void {
  const run = useEffectEvent((action: string) => shortcuts.find((shortcut) => shortcut.action === action)?.run());
  const shape = JSON.stringify(shortcuts.map(({ keys, action, whileTyping }) => ({ keys, action, whileTyping })));
  useEffect(() => {
    const keysAndActions = JSON.parse(shape) as Omit<Shortcut, "run">[];
    const actions = keysAndActions.map((shortcut) => ({ ...shortcut, run: () => run(shortcut.action) }));
    return register({ name, shortcuts: actions }, isOutermost);
  }, [name, shape, isOutermost]);
}

/** Groups with keys, innermost first. Groups of the same name are merged. */
export function sectionsOf(groups: readonly Group[]): Group[] {
  const sections = new Map<string, Shortcut[]>();
  for (const { name, shortcuts } of groups.toReversed()) {
    const shortcutsWithKeys = shortcuts.filter(({ keys }) => keys);
    if (shortcutsWithKeys.length > 0) sections.set(name, [...(sections.get(name) ?? []), ...shortcutsWithKeys]);
  }
  return [...sections].map(([name, shortcuts]) => ({ name, shortcuts }));
}

export function useGroups(): readonly Group[] {
  return useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => groups,
  );
}
