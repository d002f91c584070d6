import { useEffect, useEffectEvent } from "react";
import type { ChosenFile } from "./chosenFiles";

type Files = Promise<ChosenFile[]>;

let waiting: Files | null = null;
const offers = new EventTarget();

/** Hand over files that were dropped on a page, which may be another than the one that takes them. */
export function offerFiles(files: Files): void {
  waiting = files;
  offers.dispatchEvent(new Event("offer"));
}

/** Take the files that are dropped while the page is open, or were dropped on the page before. */
export function useDroppedFiles(onFiles: (files: Files) => void): void {
  const take = useEffectEvent(() => {
    if (waiting === null) return;
    const files = waiting;
    waiting = null;
    onFiles(files);
  });
  useEffect(() => {
    const listener = () => take();
    listener();
    offers.addEventListener("offer", listener);
    return () => offers.removeEventListener("offer", listener);
  }, []);
}
