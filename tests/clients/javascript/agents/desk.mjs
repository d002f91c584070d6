// An agent loop on OpenAI's client: two tools at once, one more, then the answer.
export const fails = process.env.MODE === "fail";
export const streams = process.env.MODE === "stream";
export const question = fails ? "please fail" : "How is it in Zürich?";
export const instructions = "You are helpful.";
export const results = {
  get_weather: (city) => `21 degrees in ${city}`,
  get_time: (city) => `noon in ${city}`,
};

const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const tools = Object.keys(results).map((name) => ({ type: "function", function: { name, parameters } }));
const request = { model: "gpt-4o-mini", temperature: 0.2, seed: 7, max_tokens: 100, tools };

async function join(chunks) {
  const message = { role: "assistant", content: null, tool_calls: [] };
  for await (const chunk of chunks) {
    const delta = chunk.choices[0]?.delta ?? {};
    if (delta.content) message.content = (message.content ?? "") + delta.content;
    for (const { index, id, function: call } of delta.tool_calls ?? []) {
      message.tool_calls[index] ??= { id, type: "function", function: { name: call.name, arguments: "" } };
      message.tool_calls[index].function.arguments += call.arguments ?? "";
    }
  }
  if (!message.tool_calls.length) delete message.tool_calls;
  return message;
}

async function answer(openai, messages) {
  if (!streams) return (await openai.chat.completions.create({ ...request, messages })).choices[0].message;
  const options = { stream: true, stream_options: { include_usage: true } };
  return join(await openai.chat.completions.create({ ...request, ...options, messages }));
}

// `callTool` gets the name and the arguments of each call.
export async function converse(openai, callTool) {
  const messages = [{ role: "system", content: instructions }, { role: "user", content: question }];
  for (;;) {
    // A copy, because LangSmith serializes it later.
    const message = await answer(openai, [...messages]);
    messages.push(message);
    if (!message.tool_calls) return message.content;
    for (const call of message.tool_calls) {
      const content = await callTool(call.function.name, JSON.parse(call.function.arguments));
      messages.push({ role: "tool", tool_call_id: call.id, content });
    }
  }
}
