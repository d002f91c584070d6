import { useMemo, useState } from "react";
import { pan, spanOf, zoom, type TimeRange } from "./scale";

export interface Zoom {
  range: TimeRange;
  whole: TimeRange;
  isWhole: boolean;
  /** Show a range, or the whole run. */
  show: (range: TimeRange | null) => void;
  /** Make the range `factor` times as long around a time, by default its middle. */
  zoomBy: (factor: number, anchor?: number) => void;
  /** Move the range by a share of its length. */
  panBy: (share: number) => void;
}

/** The visible range of a timeline. The whole run stays whole while it grows. */
export function useZoom(whole: TimeRange): Zoom {
  const [chosenRange, setRange] = useState<TimeRange | null>(null);
  return useMemo(() => {
    const range = chosenRange ?? whole;
    const show = (next: TimeRange | null) =>
      setRange(next !== null && spanOf(next) < spanOf(whole) * 0.9999 ? next : null);
    return {
      range,
      whole,
      isWhole: chosenRange === null,
      show,
      zoomBy: (factor, anchor = (range.start + range.end) / 2) => show(zoom(range, factor, anchor, whole)),
      panBy: (share) => show(pan(range, share, whole)),
    };
  }, [chosenRange, whole]);
}
