import { useEffect, useId, useSyncExternalStore } from "react";
import { CommandRegistry, type Command } from "./registry";

const registry = new CommandRegistry();

/** Registers commands for as long as the component is on the screen; always runs the latest version. */
export function useCommands(commands: readonly Command[]): void {
  const group = useId();
  useEffect(() => registry.set(group, commands));
  useEffect(() => () => registry.delete(group), [group]);
}

/** All commands of the screen, for the palette and the help. */
export function useAllCommands(): readonly Command[] {
  return useSyncExternalStore(registry.subscribe, registry.all);
}

/** All commands at this moment, for the key listener. */
export const currentCommands = registry.all;
