/** The visit of a shared page, for components that have links and actions in the cockpit. */
import { createContext, useContext } from "react";

export interface Visit {
  token: string;
  /** The run whose steps the link shows; null if it shows none. */
  run: string | null;
  /** Visitors read the comments and write their own. */
  allowsComments: boolean;
}

export const VisitContext = createContext<Visit | null>(null);

/** The visit of a shared page; in the cockpit null. */
export function useVisit(): Visit | null {
  return useContext(VisitContext);
}
