/** Errors that calls threw: what their text loses, and how a rerun throws them again. */

import { formOf, restore } from "./forms.js";

/** Return the text of an error. */
export function describeError(error) {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

/** Return the properties that an error has besides its text, such as `code`; undefined if there are none. */
export function formOfError(error) {
  if (!(error instanceof Error)) return undefined;
  // Its name, if it has one of its own, is in the text.
  const names = Object.keys(error).filter((name) => name !== "name" && name !== "message");
  const known = names.map((name) => [name, describeProperty(error[name])]).filter(([, property]) => property);
  if (names.length === 0) return undefined;
  const isPartial = known.length < names.length;
  return { type: "error", fields: Object.fromEntries(known), ...(isPartial && { is_partial: true }) };
}

/** Return the error that was recorded, of the language's own class if it has that name, and whether it lacks nothing. */
export function restoreError(text, form) {
  const [, name, message] = /^([A-Za-z_]\w*): (.*)$/s.exec(text) ?? [null, "Error", text];
  const known = globalThis[name];
  const isError = typeof known === "function" && known.prototype instanceof Error;
  const error = new (isError ? known : Error)(message);
  error.name = name;
  const { fields, is_partial: isPartial } = form?.type === "error" ? form : { fields: {} };
  for (const [key, { value, form }] of Object.entries(fields)) error[key] = restore(value, form).value;
  return { error, isFaithful: !isPartial };
}

/** Return a value as JSON with its form; undefined if a rerun could not restore it. */
function describeProperty(value) {
  const form = formOf(value);
  try {
    const plain = JSON.parse(JSON.stringify(value ?? null));
    return restore(plain, form).isFaithful ? { value: plain, ...(form && { form }) } : undefined;
  } catch {
    return undefined;
  }
}
