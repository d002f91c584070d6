import { isRunView, type RunView } from "./views";

/** The state of the run page that its address stores: step, fork and view. */
export interface RunSearch {
  step?: number;
  /** The step of the open fork. */
  fork?: number;
  /** Without one, the run decides: a chat opens as a transcript. */
  view?: RunView;
  /** The replay whose changes the fork starts with. */
  from_session?: string;
}

function sequenceNo(value: unknown): number | null {
  const number = Number(value);
  return Number.isInteger(number) && number > 0 ? number : null;
}

/** The view and the selected step, if a revision with this number of steps has it. An open fork belongs to its run. */
export function searchInRevision({ step, view }: RunSearch, steps: number): RunSearch {
  return { ...(step !== undefined && step <= steps && { step }), ...(view && { view }) };
}

export function parseRunSearch(raw: Record<string, unknown>): RunSearch {
  const step = sequenceNo(raw["step"]);
  const fork = sequenceNo(raw["fork"]);
  return {
    ...(step !== null && { step }),
    ...(fork !== null && { fork }),
    ...(isRunView(raw["view"]) && { view: raw["view"] }),
    ...(typeof raw["from_session"] === "string" && fork !== null && { from_session: raw["from_session"] }),
  };
}
