// What a model is asked with beside its messages: tools, response format, further parameters, and what is left out.
import type { JsonValue, ModelOverride } from "@/api/schema";
import type { ModelInput } from "@/domain/steps/content";

type JsonObject = Record<string, JsonValue>;
type RequestFields = Pick<ModelOverride, "tools" | "response_format" | "parameters" | "unset">;
export type RequestEdits = { [F in keyof RequestFields]?: RequestFields[F] | undefined };

/** Parameters that have a field of their own. */
const OWN = new Set(["temperature", "top_p", "max_tokens", "max_completion_tokens", "seed", "stop", "stop_sequences"]);

/** The recorded parameters without a field of their own. */
export function others(request: ModelInput): JsonObject {
  return Object.fromEntries(Object.entries(request.parameters).filter(([name]) => !OWN.has(name)));
}

/** They as the draft has them. */
export function editedOthers(request: ModelInput, model: RequestEdits): JsonObject | undefined {
  const recorded = others(request);
  const gone = new Set(model.unset ?? []);
  if (!model.parameters && !Object.keys(recorded).some((name) => gone.has(name))) return undefined;
  const whole = { ...recorded, ...model.parameters };
  return Object.fromEntries(Object.entries(whole).filter(([name]) => !gone.has(name)));
}

/** What makes the recorded ones these: values that differ, and names that are left out. */
export function othersTo(request: ModelInput, model: RequestEdits, next: JsonObject | undefined): RequestEdits {
  const recorded = others(request);
  const before = (model.unset ?? []).filter((name) => !(name in recorded));
  if (!next) return { parameters: undefined, unset: some(before) };
  const changed = Object.entries(next).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(recorded[name]),
  );
  const gone = Object.keys(recorded).filter((name) => !(name in next));
  return {
    parameters: changed.length > 0 ? Object.fromEntries(changed) : undefined,
    unset: some([...before, ...gone]),
  };
}

/** What a request says that it can do without. */
export function optional(request: ModelInput): string[] {
  const format = request.rest["response_format"] == null ? [] : ["response_format"];
  return [...(request.tools.length > 0 ? ["tools"] : []), ...format, ...Object.keys(request.parameters)];
}

/** The tools with one of the recorded ones offered, or not. */
export function offering(request: ModelInput, model: RequestEdits, name: string, offered: boolean): RequestEdits {
  const now = model.tools ?? (request.tools as JsonObject[]);
  const kept = new Set(now.map(nameOf).filter((each) => each !== name || offered));
  if (offered) kept.add(name);
  const known = (request.tools as JsonObject[]).filter((tool) => kept.has(nameOf(tool)));
  const edited = known.map((tool) => now.find((each) => nameOf(each) === nameOf(tool)) ?? tool);
  const added = now.filter((tool) => !request.tools.some((each) => nameOf(each) === nameOf(tool)));
  const tools = [...edited, ...added];
  return { tools: JSON.stringify(tools) === JSON.stringify(request.tools) ? undefined : tools };
}

export function nameOf(tool: JsonValue): string {
  const name = typeof tool === "object" && tool !== null && !Array.isArray(tool) ? tool["name"] : undefined;
  return typeof name === "string" ? name : "";
}

/** What is wrong with a list of tools, if anything. */
export function wrongTools(value: JsonValue): string | null {
  const fine = Array.isArray(value) && value.every((tool) => nameOf(tool) !== "");
  return fine ? null : "this must be a list of tools, each with a name";
}

export function wrongObject(value: JsonValue): string | null {
  const fine = typeof value === "object" && value !== null && !Array.isArray(value);
  return fine ? null : "this must be a JSON object";
}

/** What is wrong with further parameters, if anything. */
export function wrongOthers(value: JsonValue): string | null {
  const wrong = wrongObject(value);
  if (wrong) return wrong;
  const own = Object.keys(value as JsonObject).find((name) => OWN.has(name));
  return own ? `${own} has a field of its own` : null;
}

function some(names: string[]): string[] | undefined {
  return names.length > 0 ? names : undefined;
}
