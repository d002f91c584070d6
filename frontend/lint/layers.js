// Import rules of src/. From the bottom: api, ui, domain, features, pages, and app/router on top.
// Modules of a page import each other by relative paths, all others by "@/". src/layout.test.ts checks for cycles.

import { relative, sep } from "node:path";

const REACT = /^(react|react-dom|@mantine|@tabler|@tanstack)(\/|-|$)/;
const ROUTER = "app/router.tsx";
const PATHS = "app/paths.ts";

/* The first layer that contains a file applies. `allow`: what follows "@/" in its imports. */
const LAYERS = [
  {
    contains: (file) => file === ROUTER,
    allow: /^(app\/|ui\/|api\/|pages\/\w+\/route$)/,
    reason: "The router imports only the routes of pages.",
  },
  {
    contains: (file) => file === PATHS,
    allow: /^pages\/\w+\/search$/,
    reason: "Links depend only on search parameters.",
  },
  {
    contains: (file) => file.startsWith("app/"),
    allow: /^(app|domain|ui|api)\//,
    reason: "Only the router imports pages, and only paths.ts imports their search parameters.",
  },
  {
    contains: (file) => file.startsWith("pages/"),
    allow: /^(features\/|domain\/|ui\/|api\/|app\/(paths|root|ErrorPage)$)/,
    reason: "A page imports no other page: shared code belongs in domain/ or features/.",
  },
  {
    contains: (file) => file.startsWith("features/"),
    allow: /^(features\/|domain\/|ui\/|api\/|app\/paths$)/,
    reason: "features/ are shared by pages, so they import neither a page nor the shell.",
  },
  {
    contains: (file) => file.startsWith("domain/"),
    allow: /^(domain\/|api\/|ui\/format\/)/,
    reason: "domain/ is pure: pass data as arguments.",
    forbid: { source: REACT, reason: "domain/ is pure: React code that two pages share belongs in features/." },
  },
  {
    contains: (file) => file.startsWith("ui/"),
    allow: /^(ui\/|api\/problem$|api\/schema$)/,
    reason: "ui/ contains no domain terms: pass data as props, or move the component to features/.",
    // JSON is not a domain term.
    types: { "@/api/schema": ["JsonValue"] },
  },
  {
    contains: (file) => file.startsWith("api/"),
    allow: /^api\//,
    reason: "api/ talks to the server and does not depend on the interface.",
  },
];

/* How many ".." a relative import may contain before it leaves its layer or page. */
function depth(file) {
  const folders = file.split("/").slice(0, -1);
  return folders[0] === "pages" ? folders.length - 2 : 0;
}

function problem(layer, file, source) {
  const isTest = /\.test\.tsx?$/.test(file);
  if (source.startsWith("@/")) {
    const target = source.slice(2);
    return layer.allow.test(target) || (isTest && target.startsWith("testing/")) ? null : layer.reason;
  }
  const climbs = /^(\.\.\/)*/.exec(source)[0].length / 3;
  if (climbs > depth(file)) return "Import modules of other folders by @/, so that their layer is checked.";
  return layer.forbid?.source.test(source) ? layer.forbid.reason : null;
}

export const imports = {
  create(context) {
    const file = relative("src", context.filename).split(sep).join("/");
    const layer = LAYERS.find(({ contains }) => contains(file));
    if (layer === undefined) return {};

    const check = (node) => {
      const source = node.source?.value;
      if (typeof source !== "string") return;
      const message = problem(layer, file, source);
      if (message !== null) context.report({ node, message });
      const names = layer.types?.[source];
      for (const { imported } of (names && node.specifiers) ?? [])
        if (!names.includes(imported?.name)) context.report({ node, message: layer.reason });
    };
    return {
      ImportDeclaration: check,
      ImportExpression: check,
      ExportNamedDeclaration: check,
      ExportAllDeclaration: check,
    };
  },
};
