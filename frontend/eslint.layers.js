// Import rules of src/. From the bottom: api, ui, domain, features, pages, and app/router on top.
// Modules of a page import each other by relative paths, all others by "@/". src/layout.test.ts checks for cycles.

const REACT = "^(react|react-dom|@mantine|@tabler|@tanstack)(/|-|$)";

const LAYERS = [
  {
    files: "src/api/**",
    allow: ["api/"],
    reason: "api/ talks to the server and does not depend on the interface.",
  },
  {
    files: "src/ui/**",
    allow: ["ui/", "api/problem$", "api/schema$"],
    reason: "ui/ contains no domain terms: pass data as props, or move the component to features/.",
    // JSON is not a domain term.
    paths: [{ name: "@/api/schema", allowImportNames: ["JsonValue"] }],
  },
  {
    files: "src/domain/**",
    allow: ["domain/", "api/", "ui/format/"],
    reason: "domain/ is pure: pass data as arguments.",
    forbid: [{ regex: REACT, message: "domain/ is pure: React code that two pages share belongs in features/." }],
  },
  {
    files: "src/features/**",
    allow: ["features/", "domain/", "ui/", "api/", "app/paths$"],
    reason: "features/ are shared by pages, so they import neither a page nor the shell.",
  },
  {
    files: "src/pages/**",
    allow: ["features/", "domain/", "ui/", "api/", "app/(paths|root|ErrorPage)$"],
    reason: "A page imports no other page: shared code belongs in domain/ or features/.",
  },
  {
    files: "src/app/**",
    ignores: ["src/app/router.tsx", "src/app/paths.ts"],
    allow: ["app/", "domain/", "ui/", "api/"],
    reason: "Only the router imports pages, and only paths.ts imports their search parameters.",
  },
  {
    files: "src/app/router.tsx",
    allow: ["app/", "ui/", "api/", "pages/\\w+/route$"],
    reason: "The router imports only the routes of pages.",
  },
  { files: "src/app/paths.ts", allow: ["pages/\\w+/search$"], reason: "Links depend only on search parameters." },
];

/** How many ".." a relative import may contain before it leaves its layer or page. */
const DEPTHS = [
  { files: ["src/pages/*/*"], ups: 0 },
  { files: ["src/pages/*/*/*"], ups: 1 },
  { files: ["src/pages/*/*/*/*"], ups: 2 },
  { files: ["src/{api,ui,domain,features,app}/**"], ups: 0 },
];

function rules({ allow, reason, paths = [], forbid = [] }, ups) {
  const patterns = [
    { regex: `^@/(?!${allow.join("|")})`, message: reason },
    {
      regex: `^(\\.\\./){${ups + 1}}`,
      message: "Import modules of other folders by @/, so that their layer is checked.",
    },
    ...forbid,
  ];
  const lazy = patterns.map(({ regex, message }) => ({
    selector: `ImportExpression[source.value=/${regex.replaceAll("/", "\\/")}/]`,
    message,
  }));
  return { "no-restricted-imports": ["error", { paths, patterns }], "no-restricted-syntax": ["error", ...lazy] };
}

export const layers = LAYERS.flatMap((layer) =>
  DEPTHS.flatMap(({ files, ups }) => {
    const target = { files: files.map((pattern) => [pattern, layer.files]), ignores: layer.ignores ?? [] };
    const testLayer = { ...layer, allow: [...layer.allow, "testing/"] };
    return [
      { ...target, rules: rules(layer, ups) },
      { ...target, files: target.files.map((patterns) => [...patterns, "**/*.test.*"]), rules: rules(testLayer, ups) },
    ];
  }),
);
