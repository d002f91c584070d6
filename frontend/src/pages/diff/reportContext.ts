/** The report for its components. */
import { createContext, useContext } from "react";
import type { DiffReport } from "@/api/schema";

interface ReportFrame {
  report: DiffReport;
  /** Whether steps and runs can be opened. False in a shared report. */
  hasLinks: boolean;
}

export const ReportContext = createContext<ReportFrame | null>(null);

export function useReport(): ReportFrame {
  const frame = useContext(ReportContext);
  if (!frame) throw new Error("useReport must be used inside a report");
  return frame;
}

export type Side = "base" | "candidate";
