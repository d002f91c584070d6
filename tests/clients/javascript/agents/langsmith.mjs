import { Client } from "langsmith";
import { getCurrentRunTree, traceable } from "langsmith/traceable";
import { wrapOpenAI } from "langsmith/wrappers";
import OpenAI from "openai";
import { converse, question, results } from "./desk.mjs";

const client = new Client();
const openai = wrapOpenAI(new OpenAI({ maxRetries: 0 }), { client });
const tools = Object.fromEntries(
  Object.entries(results).map(([name, run]) => [
    name,
    traceable(({ city }) => run(city), { name, run_type: "tool", client }),
  ]),
);
let id;

async function answer(_question) {
  id = getCurrentRunTree().trace_id;
  return converse(openai, (name, input) => tools[name](input));
}

const metadata = { user_id: "u1", session_id: "s1" };
const agent = traceable(answer, { name: "agent", client, tags: ["demo"], metadata });
await agent(question).catch((error) => console.error(String(error)));
await client.createFeedback(id, "helpful", { score: 0.75, comment: "well done" });
console.log(id);
await client.awaitPendingTraceBatches();
