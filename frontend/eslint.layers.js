// Which folder of src/ may import which. From the bottom: api, ui, domain, features, pages, and app/router on top.
// Modules of one page name each other by relative paths, everything else by "@/". Cycles: see src/layout.test.ts.

const REACT = "^(react|react-dom|@mantine|@tabler|@tanstack)(/|-|$)";

const LAYERS = [
  {
    files: "src/api/**",
    may: ["api/"],
    because: "api/ talks to the server and knows nothing of what is shown.",
  },
  {
    files: "src/ui/**",
    may: ["ui/", "api/problem$", "api/schema$"],
    because: "ui/ has no word of the domain: take what a component needs as props, or move it to features/.",
    // JSON is not a word of the domain.
    paths: [{ name: "@/api/schema", allowImportNames: ["JsonValue"] }],
  },
  {
    files: "src/domain/**",
    may: ["domain/", "api/", "ui/format/"],
    because: "domain/ is pure: what it needs from elsewhere comes in as arguments.",
    never: [{ regex: REACT, message: "domain/ is pure: React code that two pages share belongs in features/." }],
  },
  {
    files: "src/features/**",
    may: ["features/", "domain/", "ui/", "api/", "app/paths$"],
    because: "features/ are what pages share, so they know neither a page nor the shell.",
  },
  {
    files: "src/pages/**",
    may: ["features/", "domain/", "ui/", "api/", "app/(paths|root|ErrorPage|shell/Logo)$"],
    because: "A page imports no other page: what both need belongs in domain/ or features/.",
  },
  {
    files: "src/app/**",
    ignores: ["src/app/router.tsx", "src/app/paths.ts"],
    may: ["app/", "ui/", "api/"],
    because: "Only the router knows the pages, and only paths.ts their search parameters.",
  },
  {
    files: "src/app/router.tsx",
    may: ["app/", "ui/", "api/", "pages/\\w+/route$"],
    because: "The router knows routes.",
  },
  { files: "src/app/paths.ts", may: ["pages/\\w+/search$"], because: "Links are made from search parameters alone." },
];

/** How many times ".." may lead up from a file before it is outside its layer's folder, or its page. */
const DEPTHS = [
  { files: ["src/pages/*/*"], ups: 0 },
  { files: ["src/pages/*/*/*"], ups: 1 },
  { files: ["src/pages/*/*/*/*"], ups: 2 },
  { files: ["src/{api,ui,domain,features,app}/**"], ups: 0 },
];

function rules({ may, because, paths = [], never = [] }, ups) {
  const patterns = [
    { regex: `^@/(?!${may.join("|")})`, message: because },
    {
      regex: `^(\\.\\./){${ups + 1}}`,
      message: "Name a module of another folder by @/, so that its layer is checked.",
    },
    ...never,
  ];
  const lazy = patterns.map(({ regex, message }) => ({
    selector: `ImportExpression[source.value=/${regex.replaceAll("/", "\\/")}/]`,
    message,
  }));
  return { "no-restricted-imports": ["error", { paths, patterns }], "no-restricted-syntax": ["error", ...lazy] };
}

export const layers = LAYERS.flatMap((layer) =>
  DEPTHS.flatMap(({ files, ups }) => {
    const both = { files: files.map((each) => [each, layer.files]), ignores: layer.ignores ?? [] };
    const inTests = { ...layer, may: [...layer.may, "testing/"] };
    return [
      { ...both, rules: rules(layer, ups) },
      { ...both, files: both.files.map((each) => [...each, "**/*.test.*"]), rules: rules(inTests, ups) },
    ];
  }),
);
