// Tables of words, by names that a recording may choose.

/** The entry of a table; undefined for a name that it does not have, also if every object has it, like `constructor`. */
export function lookup<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}
