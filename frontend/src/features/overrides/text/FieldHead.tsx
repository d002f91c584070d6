import { IconArrowBackUp } from "@tabler/icons-react";
import type { ReactElement, ReactNode } from "react";
import classes from "./FieldHead.module.css";

/** A label, the size of the edit, and a button that restores the recorded value. */
export function FieldHead(props: {
  id?: string;
  label: ReactNode;
  size?: string;
  isEdited: boolean;
  onReset: () => void;
  aside?: ReactNode;
}): ReactElement {
  return (
    <div className={classes.head}>
      <label htmlFor={props.id} className={classes.label}>
        {props.label}
      </label>
      {props.size && <span className="chip exact num">{props.size}</span>}
      {props.isEdited && (
        <button type="button" className={classes.undo} title="Restore the recorded value" onClick={props.onReset}>
          <IconArrowBackUp size={13} aria-hidden /> Undo
        </button>
      )}
      {props.aside && <span className={classes.aside}>{props.aside}</span>}
    </div>
  );
}
