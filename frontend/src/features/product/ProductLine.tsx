import type { ReactElement } from "react";

/** What Forkpoint is, in one sentence. */
export function ProductLine(): ReactElement {
  return (
    <>
      <b>Forkpoint replays a recorded agent run with one thing changed</b> and shows why the answer came out
      differently.
    </>
  );
}
