import type { ReactElement } from "react";

/** Which runner has to be started before replays go on, in the words of the server; nothing if none. */
export function RunnerWait({ text }: { text: string }): ReactElement | null {
  return text === "" ? null : <p role="status">Waiting: {text}</p>;
}
