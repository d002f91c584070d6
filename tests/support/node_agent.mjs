// A loop on `fetch` with a tool whose executions are lines in the file that the first argument names.
import { appendFileSync } from "node:fs";

const { baseUrl, isReplay, now, random, tool, uuid } = await import(process.argv[3]);

const functions = {
  get_weather: tool("get_weather", ({ city }) => {
    appendFileSync(process.argv[2], "get_weather\n");
    return { degrees: 21, city, at: new Date(0), notes: [undefined, -0] };
  }),
  get_time: tool("get_time", async ({ city }) => {
    appendFileSync(process.argv[2], "get_time\n");
    throw new RangeError(`no clock in ${city}`);
  }),
};

const text = `Weather and time? ${(await now()).toISOString()} ${await random()} ${await uuid()}`;
const messages = [{ role: "user", content: text }];
const tools = Object.keys(functions).map((name) => ({
  type: "function",
  function: { name, parameters: { type: "object" } },
}));
const city = process.argv[4];
for (;;) {
  const response = await fetch(`${baseUrl("openai", "https://api.openai.com/v1")}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${process.env.OPENAI_API_KEY}` },
    body: JSON.stringify({ model: "m1", messages, tools }),
  });
  const { message } = (await response.json()).choices[0];
  messages.push(message);
  if (!message.tool_calls) break;
  for (const call of message.tool_calls) {
    const args = JSON.parse(call.function.arguments);
    let content;
    try {
      const result = await functions[call.function.name](city ? { city } : args);
      content = `${JSON.stringify(result)} ${result.at.getTime()} ${Object.is(result.notes[1], -0)} ${result.notes[0]}`;
    } catch (error) {
      content = `${error instanceof RangeError}: ${error.message}`;
    }
    messages.push({ role: "tool", tool_call_id: call.id, content });
  }
}
console.log(messages.at(-1).content, isReplay());
