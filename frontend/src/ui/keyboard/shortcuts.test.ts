// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { handleKey, isTyping, matches, register, sectionsOf } from "./shortcuts";

const press = (key: string, init: KeyboardEventInit = {}) =>
  new KeyboardEvent("keydown", { key, bubbles: true, ...init });
const cleanups: (() => void)[] = [];
const on = (name: string, keys: string, run: () => void, whileTyping = false) =>
  cleanups.push(register({ name, shortcuts: [{ keys, action: name, run, whileTyping }] }));

beforeEach(() => document.addEventListener("keydown", handleKey));
afterEach(() => {
  document.removeEventListener("keydown", handleKey);
  for (const cleanup of cleanups.splice(0)) cleanup();
  document.body.replaceChildren();
});

test("the newest group handles a shared key", () => {
  const older = vi.fn();
  const newer = vi.fn();
  on("page", "j", older);
  on("dialog", "j", newer);
  document.body.dispatchEvent(press("j"));
  expect([older.mock.calls.length, newer.mock.calls.length]).toEqual([0, 1]);
});

test("the outermost group stays behind those of pages, also when it is registered again", () => {
  const page = vi.fn();
  const shell = vi.fn();
  on("page", "1", page);
  cleanups.push(register({ name: "shell", shortcuts: [{ keys: "1", action: "shell", run: shell }] }, true));
  document.body.dispatchEvent(press("1"));
  expect([page.mock.calls.length, shell.mock.calls.length]).toEqual([1, 0]);
});

test("ignores typing except for marked keys", () => {
  const plain = vi.fn();
  const always = vi.fn();
  on("plain", "f", plain);
  on("always", "mod+Enter", always, true);
  const field = document.body.appendChild(document.createElement("textarea"));
  field.dispatchEvent(press("f"));
  field.dispatchEvent(press("Enter", { ctrlKey: true }));
  expect([plain.mock.calls.length, always.mock.calls.length]).toEqual([0, 1]);
});

test("an open dialog blocks page shortcuts", () => {
  const run = vi.fn();
  on("page", "x", run);
  document.body.insertAdjacentHTML("beforeend", '<div role="dialog" aria-modal="true"></div>');
  document.body.dispatchEvent(press("x"));
  expect(run).not.toHaveBeenCalled();
});

test("the focused control handles Enter", () => {
  const run = vi.fn();
  on("page", "Enter", run);
  const link = document.body.appendChild(document.createElement("a"));
  link.dispatchEvent(press("Enter"));
  expect(run).not.toHaveBeenCalled();
  document.body.dispatchEvent(press("Enter"));
  expect(run).toHaveBeenCalledOnce();
});

test("plain keys ignore modifiers", () => {
  expect(matches("k", press("k", { ctrlKey: true }))).toBe(false);
  expect(matches("mod+k", press("k", { metaKey: true }))).toBe(true);
  expect(matches("e", press("E", { shiftKey: true }))).toBe(false);
  expect(matches("E", press("E", { shiftKey: true }))).toBe(true);
});

test("checkboxes do not count as typing", () => {
  const box = document.createElement("input");
  box.type = "checkbox";
  expect([isTyping(box), isTyping(document.createElement("input"))]).toEqual([false, true]);
});

test("help lists groups once, innermost first", () => {
  const shortcut = (action: string, keys: string) => ({ action, keys, run: () => undefined });
  const everywhere = { name: "Everywhere", shortcuts: [shortcut("Go to runs", "1"), shortcut("Sign out", "")] };
  const parts = [
    { name: "Run", shortcuts: [shortcut("Tree", "t")] },
    { name: "Run", shortcuts: [shortcut("Fork", "f")] },
  ];
  expect(sectionsOf([everywhere, ...parts]).map(({ name, shortcuts }) => [name, shortcuts.map(({ keys }) => keys)])).toEqual(
    [["Run", ["f", "t"]], ["Everywhere", ["1"]]],
  ); // oxfmt-ignore
});
