import { Button } from "@mantine/core";
import { useState, type ReactElement } from "react";
import CodeView from "@/ui/CodeView";
import { parseOverrides, type Draft } from "@/domain/overrides/draft";
import classes from "./Fork.module.css";
import { useUnappliedText } from "./unappliedText";

/** The override list as JSON, in the format of files and REST. Valid text applies immediately. */
export default function OverridesJson({
  draft,
  onChange,
}: {
  draft: Draft;
  onChange: (draft: Draft) => void;
}): ReactElement {
  const [initialText] = useState(() => JSON.stringify({ overrides: draft.overrides }, null, 2));
  const [error, setError] = useState("");
  useUnappliedText(error !== "");
  const apply = (text: string) => {
    const result = parseOverrides(text);
    setError("error" in result ? result.error : "");
    if ("overrides" in result) onChange({ ...draft, overrides: result.overrides });
  };
  return (
    <div className={classes.field}>
      <CodeView value={initialText} label="Overrides as JSON" onChange={apply} />
      {error && (
        <p className="failed" role="alert">
          Not applied: {error}
        </p>
      )}
      <div className="bar">
        <span className="muted grow">The same document works with forkpoint replay --overrides.</span>
        <Button
          variant="default"
          onClick={() => void navigator.clipboard.writeText(JSON.stringify({ overrides: draft.overrides }, null, 2))}
        >
          Copy
        </Button>
      </div>
    </div>
  );
}
