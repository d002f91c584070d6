import { useState } from "react";

/** Whether the condition was ever true: what it loaded stays. */
export function useOnce(condition: boolean): boolean {
  const [wasTrue, setWasTrue] = useState(condition);
  if (condition && !wasTrue) setWasTrue(true);
  return condition || wasTrue;
}
