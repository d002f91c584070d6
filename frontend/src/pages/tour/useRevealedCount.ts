import { useReducedMotion } from "@mantine/hooks";
import { useEffect, useState } from "react";

/** Counts up to `available`, one after each pause. Without motion, all at once. */
export function useRevealedCount(available: number, pauseMs: number): number {
  const isStill = useReducedMotion(false, { getInitialValueInEffect: false });
  const [count, setCount] = useState(0);
  useEffect(() => {
    if (count >= available) return;
    const timer = setTimeout(() => setCount(count + 1), pauseMs);
    return () => clearTimeout(timer);
  }, [count, available, pauseMs]);
  return isStill ? available : Math.min(count, available);
}
