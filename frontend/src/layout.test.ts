// Layout rules that ESLint cannot check: no import cycles, a limit on modules per folder, and no lengths that ignore the
// size of the text.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";

const MOST_MODULES = 13;

const sources = import.meta.glob<string>("./**/*.{ts,tsx}", { query: "?raw", import: "default", eager: true });
const modules = Object.keys(sources)
  .map((path) => path.slice("./".length))
  .filter((path) => !/\.test\.tsx?$/.test(path));
const moduleSet = new Set(modules);

/** The module of ours that an import resolves to. */
function resolve(specifier: string, importer: string): string | undefined {
  const url = specifier.startsWith("@/")
    ? new URL(specifier.slice("@/".length), "file:///")
    : new URL(specifier, `file:///${importer}`);
  const path = url.pathname.slice(1);
  return [".ts", ".tsx", ".d.ts"].map((extension) => path + extension).find((candidate) => moduleSet.has(candidate));
}

function importsOf(path: string): string[] {
  const { importedFiles } = ts.preProcessFile(sources[`./${path}`] ?? "", true, true);
  const specifiers = importedFiles.map(({ fileName }) => fileName).filter((name) => /^(\.|@\/)/.test(name));
  return specifiers.flatMap((name) => resolve(name, path) ?? []);
}

/** The first import cycle found, as a path. Type and lazy imports count too. */
function findCycle(imports: ReadonlyMap<string, readonly string[]>): string[] | null {
  const finished = new Set<string>();
  const visit = (module: string, path: readonly string[]): string[] | null => {
    if (path.includes(module)) return [...path.slice(path.indexOf(module)), module];
    if (finished.has(module)) return null;
    for (const next of imports.get(module) ?? []) {
      const cycle = visit(next, [...path, module]);
      if (cycle) return cycle;
    }
    finished.add(module);
    return null;
  };
  for (const module of imports.keys()) {
    const cycle = visit(module, []);
    if (cycle) return cycle;
  }
  return null;
}

test("finds an import cycle", () => {
  const circle = { "a.ts": ["b.ts"], "b.ts": ["c.ts"], "c.ts": ["b.ts"] };
  expect(findCycle(new Map(Object.entries(circle)))).toEqual(["b.ts", "c.ts", "b.ts"]);
});

test("there is no import cycle", () => {
  const imports = new Map(modules.map((path) => [path, importsOf(path)]));
  expect([...imports.values()].flat().length).toBeGreaterThan(modules.length);
  expect(findCycle(imports)).toBeNull();
});

test(`no folder has more than ${MOST_MODULES} modules`, () => {
  const sizes = new Map<string, number>();
  for (const path of modules) {
    const folder = path.split("/").slice(0, -1).join("/");
    sizes.set(folder, (sizes.get(folder) ?? 0) + 1);
  }
  expect([...sizes].filter(([, size]) => size > MOST_MODULES)).toEqual([]);
});

// The build converts style sheets and their media queries to `rem`, but not these.
test("containers and screens are measured in the size of the text", () => {
  const folder = import.meta.dirname;
  const styles = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".css"));
  const queries = [
    ...styles.flatMap((name) => readFileSync(join(folder, name), "utf8").match(/@container[^{]*/g) ?? []),
    ...modules.flatMap((path) => sources[`./${path}`]?.match(/\((?:min|max)-width: [^)]*\)/g) ?? []),
  ];
  expect(queries.length).toBeGreaterThan(15);
  expect(queries.filter((query) => query.includes("px"))).toEqual([]);
});
