import { NumberInput, Select, TextInput } from "@mantine/core";
import type { ReactElement } from "react";
import type { JsonValue } from "@/api/schema";
import { JsonArea } from "./JsonArea";
import { withArgument, type Arguments, type Field } from "./schemaForm";

interface Props {
  fields: readonly Field[];
  values: Arguments;
  /** Called with the field, and whether its JSON is invalid. */
  onChange: (values: Arguments, field: { name: string; isInvalid: boolean }) => void;
}

/** The arguments of a tool as form fields. Empty ones are omitted. */
export function ArgumentsForm({ fields, values, onChange }: Props): ReactElement {
  return (
    <>
      {fields.map((field) => (
        <Argument
          key={field.name}
          field={field}
          value={values[field.name]}
          onChange={(value, isInvalid = false) =>
            onChange(withArgument(values, field.name, value), { name: field.name, isInvalid })
          }
        />
      ))}
    </>
  );
}

function Argument(props: {
  field: Field;
  value: JsonValue | undefined;
  onChange: (value: JsonValue | undefined, isInvalid?: boolean) => void;
}): ReactElement {
  const { field, value, onChange } = props;
  const common = { label: field.name, description: field.description || undefined, withAsterisk: field.isRequired };
  switch (field.kind) {
    case "text":
      return (
        <TextInput
          {...common}
          value={typeof value === "string" ? value : ""}
          onChange={(event) => onChange(event.currentTarget.value || undefined)}
        />
      );
    case "number":
    case "integer":
      return (
        <NumberInput
          {...common}
          allowDecimal={field.kind === "number"}
          value={typeof value === "number" ? value : ""}
          onChange={(next) => onChange(next === "" ? undefined : Number(next))}
        />
      );
    case "boolean":
      return (
        <Select
          {...common}
          clearable
          data={["true", "false"]}
          value={typeof value === "boolean" ? String(value) : null}
          onChange={(next) => onChange(next === null ? undefined : next === "true")}
        />
      );
    case "choice":
      return (
        <Select
          {...common}
          clearable
          data={field.options}
          value={typeof value === "string" ? value : null}
          onChange={(next) => onChange(next ?? undefined)}
        />
      );
    case "json":
      return (
        <JsonArea
          label={field.name}
          description={field.description}
          isRequired={field.isRequired}
          onChange={(next) => onChange(next?.value, next === null)}
        />
      );
    default:
      return field.kind satisfies never;
  }
}
