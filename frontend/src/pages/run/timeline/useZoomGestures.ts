import { useEffect, useEffectEvent, useRef, useState, type MouseEvent, type PointerEvent, type RefObject } from "react";
import { rangeBetween, spanOf, type TimeRange } from "./scale";
import type { Zoom } from "./useZoom";

/** Pixels that a pointer may move during a click. */
const CLICK = 4;
/** How much one pixel of scrolling zooms. */
const WHEEL = 0.0022;

/** The part of the lanes that is being selected, in percent. */
interface Selection {
  left: number;
  width: number;
}

interface Gestures {
  selection: Selection | null;
  handlers: {
    onPointerDown: (event: PointerEvent<HTMLElement>) => void;
    onPointerMove: (event: PointerEvent<HTMLElement>) => void;
    onPointerUp: (event: PointerEvent<HTMLElement>) => void;
    onPointerCancel: (event: PointerEvent<HTMLElement>) => void;
    onClickCapture: (event: MouseEvent<HTMLElement>) => void;
    onDoubleClick: (event: MouseEvent<HTMLElement>) => void;
  };
}

/**
 * Zoom by pointer. Mouse: drag a range, Ctrl and scroll, scroll sideways to move, double-click for the whole run.
 * Touch: pinch to zoom, drag sideways to move. `lane` is an element as wide as the lanes.
 */
export function useZoomGestures(
  area: RefObject<HTMLElement | null>,
  lane: RefObject<HTMLElement | null>,
  view: Zoom,
): Gestures {
  const [drag, setDrag] = useState<TimeRange | null>(null);
  const touches = useRef(new Map<number, number>());
  const press = useRef<{ x: number; time: number; isDrag: boolean } | null>(null);
  const { range, whole } = view;

  const timeAt = (clientX: number): number | null => {
    const box = lane.current?.getBoundingClientRect();
    return box && box.width > 0 ? range.start + ((clientX - box.left) / box.width) * spanOf(range) : null;
  };
  const isInLane = (clientX: number): boolean => clientX >= (lane.current?.getBoundingClientRect().left ?? Infinity);

  const scrollTime = useEffectEvent((event: WheelEvent) => {
    const anchor = timeAt(event.clientX);
    if (anchor === null) return;
    const isSideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
    if (event.ctrlKey || event.metaKey) view.zoomBy(Math.exp(event.deltaY * WHEEL), anchor);
    else if (isSideways && !view.isWhole) view.panBy(((event.deltaX || event.deltaY) * 1.5) / 1_000);
    else return;
    event.preventDefault();
  });
  useEffect(() => {
    const element = area.current;
    const onWheel = (event: WheelEvent) => scrollTime(event);
    // React listens passively, and could not prevent the browser's own zoom.
    element?.addEventListener("wheel", onWheel, { passive: false });
    return () => element?.removeEventListener("wheel", onWheel);
  }, [area]);

  const end = (event: PointerEvent<HTMLElement>) => {
    touches.current.delete(event.pointerId);
    if (drag && event.type === "pointerup") view.show(rangeBetween(drag.start, drag.end, whole));
    setDrag(null);
  };
  return {
    selection: drag && selectionOf(drag, range),
    handlers: {
      onPointerDown: (event) => {
        const time = timeAt(event.clientX);
        press.current = null;
        if (time === null || !isInLane(event.clientX)) return;
        if (event.pointerType === "touch") touches.current.set(event.pointerId, event.clientX);
        else if (event.button === 0) press.current = { x: event.clientX, time, isDrag: false };
      },
      onPointerMove: (event) => {
        if (touches.current.has(event.pointerId)) {
          moveTouch(event, touches.current, timeAt, lane.current?.clientWidth ?? 1, view);
          return;
        }
        const time = timeAt(event.clientX);
        if (!press.current || time === null || event.buttons === 0) return;
        if (!press.current.isDrag && Math.abs(event.clientX - press.current.x) < CLICK) return;
        press.current.isDrag = true;
        event.currentTarget.setPointerCapture(event.pointerId);
        setDrag({ start: press.current.time, end: time });
      },
      onPointerUp: end,
      onPointerCancel: end,
      onClickCapture: (event) => {
        // The end of a drag is no click on a step.
        if (press.current?.isDrag) event.stopPropagation();
      },
      onDoubleClick: (event) => isInLane(event.clientX) && view.show(null),
    },
  };
}

function selectionOf({ start, end }: TimeRange, range: TimeRange): Selection {
  const percent = (time: number) => Math.max(0, Math.min(100, ((time - range.start) / spanOf(range)) * 100));
  const [left, right] = [percent(Math.min(start, end)), percent(Math.max(start, end))];
  return { left, width: right - left };
}

/** Two fingers zoom, one moves. */
function moveTouch(
  event: PointerEvent<HTMLElement>,
  touches: Map<number, number>,
  timeAt: (clientX: number) => number | null,
  width: number,
  view: Zoom,
): void {
  const before = touches.get(event.pointerId) ?? event.clientX;
  touches.set(event.pointerId, event.clientX);
  const opposite = [...touches].find(([id]) => id !== event.pointerId)?.[1];
  if (opposite === undefined) {
    if (!view.isWhole) view.panBy((before - event.clientX) / width);
    return;
  }
  const [distance, next] = [Math.abs(before - opposite), Math.abs(event.clientX - opposite)];
  const anchor = timeAt((event.clientX + opposite) / 2);
  if (distance > 10 && next > 10 && anchor !== null) view.zoomBy(distance / next, anchor);
}
