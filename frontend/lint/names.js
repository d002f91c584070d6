/*
 * A name is a noun for what a value is or a verb for what a function does, never a bare participle, preposition,
 * pronoun or adverb. Reports variables, parameters, functions, types, the fields of our own types, and file names.
 */

import { basename } from "node:path";

const words = (text) => new Set(text.trim().split(/\s+/));

/* `isFailed` and `recordedSteps` are fine: only names of one word count. */
const ONE_WORD = /^_*([A-Z]?[a-z]+|[A-Z]+)_*$/;
const REGULAR_PARTICIPLE = /^[a-z]+ed$/;

const IRREGULAR_PARTICIPLES = words(`
  found said told given held kept taken made gone seen done known meant put written sent shown left lost heard begun got
  gotten had been led let paid drawn bought brought built caught chosen dealt driven fallen felt fought forgotten hurt
  laid lain lent lit met mistaken sold shut spent spoken stood stolen stuck thrown understood won wound bound came went`);

const PREPOSITIONS_AND_ADVERBS = words(`
  of at by for from into onto over under up upon with to than then since until till via off out against among along
  across near toward towards through throughout about inside around above below beyond between within without beside
  besides again anew afresh still yet already once ever never here there where when how why`);

const PRONOUNS = words(`
  it they them that this these those who whom whose which what other others one ones another each every some any both
  few several such so but whoever nobody somebody anybody everybody nothing something anything everything`);

/* Word: why it is a good name. */
const EXCEPTIONS = new Map([
  ["seed", "the seed of a random generator"],
  ["feed", "a feed of events"],
  ["speed", "a noun"],
  ["need", "a noun and a verb"],
  ["embed", "a verb"],
  ["added", "the additions of a diff, beside `removed`"],
  ["removed", "the removals of a diff"],
  ["changed", "the changes of a diff"],
  ["unchanged", "what a diff found equal"],
  ["expected", "the expectation that a value is compared with"],
  ["left", "the left side of two, beside `right`"],
  ["failed", "a status"],
  ["cancelled", "a status"],
  ["completed", "a status"],
  ["closed", "a state of connections and dialogs"],
  ["opened", "a state of dialogs, as the component library calls it"],
  ["finished", "a state"],
  ["cached", "a label of the product"],
  ["derived", "a label of the product"],
  ["simulated", "a label of the product"],
]);

function isLoose(name) {
  const word = ONE_WORD.exec(name)?.[1]?.toLowerCase();
  if (word === undefined || EXCEPTIONS.has(word)) return false;
  return (
    REGULAR_PARTICIPLE.test(word) ||
    IRREGULAR_PARTICIPLES.has(word) ||
    PREPOSITIONS_AND_ADVERBS.has(word) ||
    PRONOUNS.has(word)
  );
}

/* `{ passed }` takes the name of a field, which is checked where the field is declared, or is the API's. */
function isShorthand(identifier) {
  const target = identifier.parent?.type === "AssignmentPattern" ? identifier.parent : identifier;
  return target.parent?.type === "Property" && target.parent.shorthand;
}

export const loose = {
  meta: {
    type: "suggestion",
    messages: { loose: "'{{name}}' is not a name: use a noun for what it is or a verb for what it does." },
  },
  create(context) {
    const report = (node, name) => isLoose(name) && context.report({ node, messageId: "loose", data: { name } });
    const field = (node) => {
      if (!node.computed && node.key.type === "Identifier") report(node.key, node.key.name);
    };
    return {
      Program(program) {
        report(program, basename(context.filename).split(".")[0]);
        for (const scope of context.sourceCode.scopeManager.scopes)
          for (const variable of scope.variables)
            for (const { type, name } of variable.defs)
              if (type !== "ImportBinding" && !isShorthand(name)) report(name, name.name ?? "");
      },
      TSPropertySignature: field,
      TSMethodSignature: field,
      PropertyDefinition: field,
      MethodDefinition: field,
    };
  },
};
