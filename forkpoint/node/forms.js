/**
 * Forms of outputs: what their recorded JSON loses, such as the order of keys. A rerun restores the outputs by them.
 *
 * The types have the names that the Python package uses, as far as both have them.
 */

const LONE_SURROGATE = /\p{Surrogate}/u;

/** Return the form of an output; undefined if its JSON loses nothing of it. Never throws. */
export function formOf(output) {
  try {
    return describe(output);
  } catch {
    return { type: "opaque" };
  }
}

/** Return an output as it was, or the nearest to it, and which of both it is. Never throws. */
export function restore(plain, form) {
  const result = { value: plain, isFaithful: true };
  try {
    result.value = rebuild(plain, form, result);
  } catch {
    result.isFaithful = false;
  }
  return result;
}

function describe(value) {
  if (value === undefined) return { type: "undefined" };
  if (typeof value === "number") {
    const isPlain = Number.isFinite(value) && !Object.is(value, -0);
    return isPlain ? undefined : { type: "number", text: Object.is(value, -0) ? "-0" : String(value) };
  }
  if (typeof value === "string") return LONE_SURROGATE.test(value) ? opaque(value) : undefined;
  if (["bigint", "function", "symbol"].includes(typeof value)) return opaque(value);
  if (value === null || typeof value !== "object") return undefined;
  if (Array.isArray(value)) return describeArray(value);
  const prototype = Object.getPrototypeOf(value);
  // JSON has null for a date that is none.
  if (prototype === Date.prototype && !Number.isNaN(value.getTime())) return { type: "Date" };
  if (typeof value.toJSON === "function") return opaque(value);
  return prototype === Object.prototype || prototype === null ? describeObject(value) : opaque(value, describeObject(value));
}

function describeArray(values) {
  const items = Array.from(values, (item) => describe(item) ?? null);
  const form = items.some((item) => item !== null) ? { type: "list", items } : undefined;
  // Without holes and further properties, such as those of a match of a regular expression.
  const isPlain = Reflect.ownKeys(values).length === values.length + 1 && Object.keys(values).length === values.length;
  return isPlain && Object.getPrototypeOf(values) === Array.prototype ? form : opaque(values, form);
}

function describeObject(value) {
  // JSON leaves out what is undefined.
  const keys = Object.keys(value).filter((key) => typeof value[key] !== "function" && typeof value[key] !== "symbol");
  const forms = keys.map((key) => [key, describe(value[key])]).filter(([, form]) => form !== undefined);
  const isSorted = keys.every((key, place) => place === 0 || keys[place - 1] < key);
  const bare = Object.getPrototypeOf(value) === null && { bare: true };
  const isPlain = isSorted && forms.length === 0 && !bare;
  const form = isPlain ? undefined : { type: "dict", keys, items: Object.fromEntries(forms), ...bare };
  return keys.length < Reflect.ownKeys(value).length ? opaque(value, form) : form;
}

/** Return the form of an object that is known by its text, and by the form of its fields. */
function opaque(value, base) {
  const fields = base?.type === "opaque" ? base.base : base;
  return { type: "opaque", str: textOf(value), ...(fields && { base: fields }) };
}

/** Return the text of a value; an empty one if it has none, such as an object without a prototype. */
function textOf(value) {
  try {
    return String(value);
  } catch {
    return "";
  }
}

function rebuild(plain, form, result) {
  switch (form?.type) {
    case undefined:
      return plain;
    case "undefined":
      return undefined;
    case "number":
      return Number(form.text);
    case "Date":
      return new Date(plain);
    case "list":
      return plain.map((item, place) => rebuild(item, form.items[place], result));
    case "dict":
      return rebuildObject(plain, form, result);
    default:
      return standIn(plain, form, result);
  }
}

function rebuildObject(plain, form, result) {
  const fields = form.keys.map((key) => [key, rebuild(plain[key], form.items?.[key], result)]);
  return form.bare ? Object.setPrototypeOf(Object.fromEntries(fields), null) : Object.fromEntries(fields);
}

/** Return the JSON of an object that cannot be made again, with the text that it had. */
function standIn(plain, form, result) {
  result.isFaithful = false;
  plain = rebuild(plain, form.base, result);
  if (plain === null || typeof plain !== "object" || !form.str) return plain;
  return Object.defineProperty(plain, "toString", { value: () => form.str, enumerable: false });
}
