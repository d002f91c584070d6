import { Autocomplete, NumberInput, SegmentedControl, Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState, type ReactElement } from "react";
import { providersQuery } from "@/api/replays/forks";
import type { ModelOverride, ProviderView } from "@/api/schema";
import { paths } from "@/app/paths";
import { systemPrompt, type ModelInput } from "@/domain/steps/content";
import { setField, entryFor, matchFor, type Scope } from "../edits";
import { TextField } from "@/features/overrides/text/TextField";
import { LazyDetails } from "@/ui/LazyDetails";
import classes from "../Fork.module.css";
import { MessagesEditor } from "./MessagesEditor";
import { RequestEditor } from "./RequestEditor";
import { sentence } from "@/ui/format/text";
import { OutputField } from "./OutputField";
import { type EditorProps } from "./types";

type NumberName = "temperature" | "top_p" | "max_tokens" | "seed";
interface Parameter {
  name: NumberName;
  label: string;
  max?: number;
  step: number;
  isInteger?: boolean;
}
const temperature: Parameter = { name: "temperature", label: "Temperature", max: 2, step: 0.1 };
const numbers: readonly Parameter[] = [
  { name: "top_p", label: "Top p", max: 1, step: 0.05 },
  { name: "max_tokens", label: "Max tokens", step: 100, isInteger: true },
  { name: "seed", label: "Seed", step: 1, isInteger: true },
];

/** Edit the model, parameters, system prompt, messages and answer of a model step. */
export function ModelEditor(props: EditorProps & { request: ModelInput }): ReactElement {
  const { step, draft, onChange, request } = props;
  const [scope, setScope] = useState<Scope>(() => {
    const entry = entryFor(draft, matchFor("step", step));
    return entry?.model || entry?.prompt ? "step" : "type";
  });
  const match = matchFor(scope, step);
  const entry = entryFor(draft, match);
  const recordedSystem = systemPrompt(request);
  return (
    <>
      <TextField
        label="System prompt"
        aside={
          <SegmentedControl
            value={scope}
            onChange={(value) => setScope(value)}
            aria-label="Apply to"
            data={[
              { value: "type" as const, label: "From here on" },
              { value: "step" as const, label: `Only step ${step.sequence_no}` },
            ]}
          />
        }
        recordedText={recordedSystem ?? ""}
        placeholder="The recording has none"
        value={entry?.prompt?.system ?? undefined}
        onChange={(text) => onChange(setField(draft, match, "prompt", "system", text))}
      />
      <ModelFields
        {...props}
        model={entry?.model ?? {}}
        setModelField={(name, value) => onChange(setField(draft, match, "model", name, value))}
      />
      <RequestEditor
        request={request}
        model={entry?.model ?? {}}
        setFields={(fields) =>
          onChange(
            Object.entries(fields).reduce(
              (result, [name, value]) => setField(result, match, "model", name as keyof typeof fields, value),
              draft,
            ),
          )
        }
      />
      <MessagesEditor {...props} />
      <LazyDetails
        className={classes.more}
        hasEdits={entryFor(draft, { step: step.sequence_no })?.output !== undefined}
        summary="Override the output without calling the model"
      >
        <OutputField step={step} draft={draft} onChange={onChange} />
      </LazyDetails>
    </>
  );
}

interface FieldsProps {
  step: EditorProps["step"];
  request: ModelInput;
  model: Partial<ModelOverride>;
  setModelField: <F extends keyof ModelOverride>(name: F, value: ModelOverride[F] | undefined) => void;
}

function ModelFields({ step, ...fields }: FieldsProps): ReactElement {
  const { model, setModelField } = fields;
  const { data } = useQuery(providersQuery);
  const providers = data?.providers ?? [];
  const provider = model.provider ?? step.provider;
  const knownProvider = providers.find(({ name }) => name === provider);
  return (
    <>
      <div className={classes.three}>
        <Select
          label="Provider"
          data={providerOptions(providers, step.provider)}
          renderOption={({ option }) => {
            const description = providers.find(({ name }) => name === option.value)?.description;
            return (
              <span className={classes.option}>
                {option.label}
                {description && <small className="muted">{description}</small>}
              </span>
            );
          }}
          comboboxProps={{ width: "max-content", position: "bottom-start", shadow: "md" }}
          value={provider || null}
          allowDeselect={false}
          placeholder="not recorded"
          onChange={(value) => setModelField("provider", value === step.provider || !value ? undefined : value)}
          data-edited={model.provider !== undefined}
        />
        <Autocomplete
          label="Model"
          data={knownProvider?.models ?? []}
          placeholder="not recorded"
          value={model.model ?? step.model}
          onChange={(value) => setModelField("model", value === step.model ? undefined : value)}
          data-edited={model.model !== undefined}
          limit={40}
        />
        <ParameterField {...temperature} {...fields} />
      </div>
      {knownProvider?.description && <p className={classes.hint}>{sentence(knownProvider.description)}</p>}
      {data && !knownProvider && provider && (
        <p className={classes.hint}>
          {provider} is not configured on this server. For live calls,{" "}
          {providers.length > 0 ? "choose another provider or " : ""}
          <Link {...paths.settings()}>configure it</Link>.
        </p>
      )}
      <LazyDetails
        className={classes.more}
        hasEdits={numbers.some(({ name }) => model[name] !== undefined)}
        summary="More parameters"
      >
        <div className={classes.three}>
          {numbers.map((parameter) => (
            <ParameterField key={parameter.name} {...parameter} {...fields} />
          ))}
        </div>
      </LazyDetails>
    </>
  );
}

function ParameterField({
  name,
  label,
  max,
  step,
  isInteger = false,
  request,
  model,
  setModelField,
}: Parameter & Pick<FieldsProps, "request" | "model" | "setModelField">): ReactElement {
  return (
    <NumberInput
      label={label}
      min={name === "seed" ? undefined : 0}
      max={max}
      step={step}
      allowDecimal={!isInteger}
      hideControls
      placeholder={recordedNumber(request, name)}
      value={model[name] ?? ""}
      onChange={(value) => setModelField(name, value === "" ? undefined : Number(value))}
      data-edited={model[name] !== undefined}
    />
  );
}

function recordedNumber(request: ModelInput, name: NumberName): string {
  const value = request.parameters[name];
  return typeof value === "number" ? String(value) : "not set";
}

function providerOptions(providers: ProviderView[], recordedProvider: string): { value: string; label: string }[] {
  const options = providers.map(({ name }) => ({ value: name, label: name }));
  if (recordedProvider && !providers.some(({ name }) => name === recordedProvider))
    options.unshift({ value: recordedProvider, label: recordedProvider });
  return options;
}
