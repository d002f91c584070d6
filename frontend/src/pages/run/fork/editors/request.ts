// Edits of a model request besides its messages: tools, response format, other parameters, omitted fields.
import type { JsonValue, ModelOverride } from "@/api/schema";
import type { ModelInput } from "@/domain/steps/content";

type JsonObject = Record<string, JsonValue>;
type RequestFields = Pick<ModelOverride, "tools" | "response_format" | "parameters" | "unset">;
export type RequestEdits = { [F in keyof RequestFields]?: RequestFields[F] | undefined };

/** Parameters with their own form field. */
const OWN = new Set(["temperature", "top_p", "max_tokens", "max_completion_tokens", "seed", "stop", "stop_sequences"]);

/** The recorded parameters without their own form field. */
export function otherParameters(request: ModelInput): JsonObject {
  return Object.fromEntries(Object.entries(request.parameters).filter(([name]) => !OWN.has(name)));
}

/** The same parameters with the draft's edits applied. */
export function editedParameters(request: ModelInput, model: RequestEdits): JsonObject | undefined {
  const recordedParameters = otherParameters(request);
  const unset = new Set(model.unset ?? []);
  if (!model.parameters && !Object.keys(recordedParameters).some((name) => unset.has(name))) return undefined;
  const parameters = { ...recordedParameters, ...model.parameters };
  return Object.fromEntries(Object.entries(parameters).filter(([name]) => !unset.has(name)));
}

/** The edits that turn the recorded parameters into these: changed values and omitted names. */
export function parameterEdits(
  request: ModelInput,
  model: RequestEdits,
  newParameters: JsonObject | undefined,
): RequestEdits {
  const recordedParameters = otherParameters(request);
  const unsetBefore = (model.unset ?? []).filter((name) => !(name in recordedParameters));
  if (!newParameters) return { parameters: undefined, unset: nonEmpty(unsetBefore) };
  const changes = Object.entries(newParameters).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(recordedParameters[name]),
  );
  const removed = Object.keys(recordedParameters).filter((name) => !(name in newParameters));
  return {
    parameters: changes.length > 0 ? Object.fromEntries(changes) : undefined,
    unset: nonEmpty([...unsetBefore, ...removed]),
  };
}

/** Fields of a request that can be omitted. */
export function optionalFields(request: ModelInput): string[] {
  const format = request.rest["response_format"] == null ? [] : ["response_format"];
  return [...(request.tools.length > 0 ? ["tools"] : []), ...format, ...Object.keys(request.parameters)];
}

/** Offer a recorded tool, or stop offering it. */
export function offerTool(request: ModelInput, model: RequestEdits, name: string, isOffered: boolean): RequestEdits {
  const current = model.tools ?? (request.tools as JsonObject[]);
  const offeredNames = new Set(current.map(nameOf).filter((item) => item !== name || isOffered));
  if (isOffered) offeredNames.add(name);
  const recordedTools = (request.tools as JsonObject[]).filter((tool) => offeredNames.has(nameOf(tool)));
  const editedTools = recordedTools.map((tool) => current.find((item) => nameOf(item) === nameOf(tool)) ?? tool);
  const addedTools = current.filter((tool) => !request.tools.some((item) => nameOf(item) === nameOf(tool)));
  const tools = [...editedTools, ...addedTools];
  return { tools: JSON.stringify(tools) === JSON.stringify(request.tools) ? undefined : tools };
}

export function nameOf(tool: JsonValue): string {
  const name = typeof tool === "object" && tool !== null && !Array.isArray(tool) ? tool["name"] : undefined;
  return typeof name === "string" ? name : "";
}

/** Why a list of tools is invalid. Null if it is valid. */
export function toolsProblem(value: JsonValue): string | null {
  const isValid = Array.isArray(value) && value.every((tool) => nameOf(tool) !== "");
  return isValid ? null : "this must be a list of tools, each with a name";
}

export function objectProblem(value: JsonValue): string | null {
  const isValid = typeof value === "object" && value !== null && !Array.isArray(value);
  return isValid ? null : "this must be a JSON object";
}

/** Why other parameters are invalid. Null if they are valid. */
export function parametersProblem(value: JsonValue): string | null {
  const problem = objectProblem(value);
  if (problem) return problem;
  const ownField = Object.keys(value as JsonObject).find((name) => OWN.has(name));
  return ownField ? `${ownField} has its own field` : null;
}

function nonEmpty(names: string[]): string[] | undefined {
  return names.length > 0 ? names : undefined;
}
