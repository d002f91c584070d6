import { TextInput } from "@mantine/core";
import type { ReactElement } from "react";
import type { RunnerView } from "@/api/schema";
import { variableNames, type Variables } from "./variables";
import classes from "./VariableFields.module.css";

interface Props {
  runners: readonly RunnerView[];
  variables: Variables;
  onChange: (variables: Variables) => void;
}

/** The variables of the agent's environment that its runners let a replay set. An empty field leaves one as it is. */
export function VariableFields({ runners, variables, onChange }: Props): ReactElement | null {
  const names = variableNames(runners);
  if (names.length === 0) return null;
  return (
    <fieldset className={classes.variables}>
      <legend>Variables</legend>
      {names.map((name) => (
        <TextInput
          key={name}
          size="xs"
          label={name}
          placeholder="as on the runner"
          value={variables[name] ?? ""}
          onChange={(event) => onChange({ ...variables, [name]: event.currentTarget.value })}
        />
      ))}
    </fieldset>
  );
}
