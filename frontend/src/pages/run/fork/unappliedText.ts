import { createContext, use, useCallback, useEffect, useId, useState } from "react";

/** Tell the fork that a field shows text which is not part of its changes. */
export const UnappliedText = createContext<(field: string, isUnapplied: boolean) => void>(() => undefined);

/** Report a field while its text is invalid. */
export function useUnappliedText(isUnapplied: boolean): void {
  const field = useId();
  const report = use(UnappliedText);
  useEffect(() => {
    if (!isUnapplied) return undefined;
    report(field, true);
    return () => report(field, false);
  }, [field, report, isUnapplied]);
}

/** Whether a field shows text that a replay would ignore, and what fields report that to. */
export function useUnappliedFields() {
  const [fields, setFields] = useState<readonly string[]>([]);
  const report = useCallback(
    (field: string, isUnapplied: boolean) =>
      setFields((current) => [...current.filter((id) => id !== field), ...(isUnapplied ? [field] : [])]),
    [],
  );
  return { hasUnapplied: fields.length > 0, report };
}
