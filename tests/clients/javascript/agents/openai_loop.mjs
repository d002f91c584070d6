import { appendFileSync } from "node:fs";
import OpenAI from "openai";
import { converse, results } from "./desk.mjs";

function callTool(name, { city }) {
  appendFileSync(process.env.DESK_LOG, `${name}\n`);
  return results[name](city);
}

console.log(await converse(new OpenAI(), callTool));
