import { IconFileImport } from "@tabler/icons-react";
import { useEffect, useEffectEvent, useState, type ReactElement, type ReactNode } from "react";
import { droppedFiles, type ChosenFile } from "./chosenFiles";
import classes from "./DropOverlay.module.css";

interface Props {
  title: string;
  onFiles: (files: Promise<ChosenFile[]>) => void;
  /** What can be dropped. */
  children: ReactNode;
}

/** Accept files and folders dropped anywhere on the page. */
export function DropOverlay({ title, onFiles, children }: Props): ReactElement | null {
  const [isDragging, setDragging] = useState(false);
  const onDrop = useEffectEvent(onFiles);
  useEffect(() => {
    let depth = 0;
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
    const enter = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      depth += 1;
      setDragging(true);
    };
    const onLeave = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      depth = Math.max(0, depth - 1);
      if (depth === 0) setDragging(false);
    };
    const allow = (event: DragEvent) => {
      if (hasFiles(event)) event.preventDefault();
    };
    const drop = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      depth = 0;
      setDragging(false);
      onDrop(droppedFiles(event.dataTransfer?.items ?? []));
    };
    const listeners = { dragenter: enter, dragleave: onLeave, dragover: allow, drop } as const;
    for (const [name, listener] of Object.entries(listeners)) window.addEventListener(name as "drop", listener);
    return () => {
      for (const [name, listener] of Object.entries(listeners)) window.removeEventListener(name as "drop", listener);
    };
  }, []);
  if (!isDragging) return null;
  return (
    <div className={classes.overlay} aria-hidden>
      <div>
        <IconFileImport size={40} stroke={1.3} />
        <b>{title}</b>
        <span className="muted">{children}</span>
      </div>
    </div>
  );
}
