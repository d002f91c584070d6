import { describe, expect, it, vi } from "vitest";
import { bySection, CommandRegistry, findCommands, keyCaps, pressName, resolvePress, type Command } from "./registry";

function command(id: string, keys?: string, extra: Partial<Command> = {}): Command {
  return { id, label: `Do ${id}`, section: "Page", run: () => undefined, ...(keys ? { keys } : {}), ...extra };
}

const press = (key: string, modifiers: { mod?: boolean; shift?: boolean } = {}) => ({
  key,
  mod: modifiers.mod ?? false,
  shift: modifiers.shift ?? false,
});

describe("CommandRegistry", () => {
  it("lets a later group win over an earlier one with the same command", () => {
    const registry = new CommandRegistry();
    const first = command("open");
    const second = command("open");
    registry.set("shell", [first]);
    registry.set("page", [second]);
    expect(registry.all()).toEqual([second]);
    registry.delete("page");
    expect(registry.all()).toEqual([first]);
  });

  it("tells its listeners about every change until they leave", () => {
    const registry = new CommandRegistry();
    const listener = vi.fn();
    const leave = registry.subscribe(listener);
    registry.set("page", [command("a")]);
    leave();
    registry.delete("page");
    expect(listener).toHaveBeenCalledTimes(1);
  });
});

describe("pressName", () => {
  it.each([
    [press("j"), "j"],
    [press("K", { mod: true }), "mod+k"],
    [press("D", { shift: true }), "shift+d"],
    [press("?", { shift: true }), "?"],
    [press("Enter", { mod: true }), "mod+enter"],
    [press("ArrowDown", { shift: true }), "shift+arrowdown"],
  ])("writes %o as %s", (given, expected) => {
    expect(pressName(given)).toBe(expected);
  });
});

describe("resolvePress", () => {
  const runs = command("runs", "g r");
  const next = command("next", "j");
  const palette = command("palette", "mod+k", { whileTyping: true });
  const all = [runs, next, palette];

  it("runs a single key", () => {
    expect(resolvePress(all, press("j"), "", false).command).toBe(next);
  });

  it("waits for the second key of a sequence and then runs it", () => {
    const first = resolvePress(all, press("g"), "", false);
    expect(first).toEqual({ command: null, pending: "g" });
    expect(resolvePress(all, press("r"), first.pending, false).command).toBe(runs);
  });

  it("takes a key that does not complete the sequence for itself", () => {
    expect(resolvePress(all, press("j"), "g", false)).toEqual({ command: next, pending: "" });
  });

  it("leaves plain keys alone while somebody types, but not the palette", () => {
    expect(resolvePress(all, press("j"), "", true).command).toBeNull();
    expect(resolvePress(all, press("k", { mod: true }), "", true).command).toBe(palette);
  });

  it("prefers the command registered last", () => {
    const dialog = command("dialog", "j");
    expect(resolvePress([...all, dialog], press("j"), "", false).command).toBe(dialog);
  });
});

describe("keyCaps", () => {
  it("draws sequences and modifiers for the machine at hand", () => {
    expect(keyCaps("g r", false)).toEqual([["g"], ["r"]]);
    expect(keyCaps("mod+k", false)).toEqual([["Ctrl", "k"]]);
    expect(keyCaps("mod+enter", true)).toEqual([["⌘", "↵"]]);
  });
});

describe("findCommands", () => {
  const commands = [
    command("share", undefined, { label: "Share this report" }),
    command("runs", "g r", { label: "Go to runs", section: "Go" }),
    command("row", "j", { label: "Next row", palette: false }),
  ];

  it("finds every word anywhere and hides what only makes sense as a key", () => {
    expect(findCommands(commands, "runs go").map((hit) => hit.id)).toEqual(["runs"]);
    expect(findCommands(commands, "").map((hit) => hit.id)).toEqual(["share", "runs"]);
    expect(findCommands(commands, "zebra")).toEqual([]);
  });

  it("groups by section in the order seen", () => {
    expect(bySection(commands).map(([section, list]) => [section, list.length])).toEqual([
      ["Page", 2],
      ["Go", 1],
    ]);
  });
});
