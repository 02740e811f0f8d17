// Drives a Treeline server with the official JavaScript package `openai`, unmodified.
//
//     node check.mjs http://127.0.0.1:8000/v1 [API_KEY]
//
// Prints one line per check and exits 1 when one fails.

import OpenAI from "openai";

const [baseURL, apiKey = "none"] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0, timeout: 120_000 });
const messages = [{ role: "user", content: "Write a Python function fibonacci(n) using iteration. Return only code." }];
let failed = false;

function check(name, ok, seen) {
  failed ||= !ok;
  console.log((ok ? "ok    " : "FAIL  ") + name + (seen === undefined ? "" : ": " + JSON.stringify(seen)));
}

const { data } = await client.models.list();
const model = data[0].id;
check("models.list", data[0].owned_by === "treeline", model);

const once = await client.chat.completions.create({ model, messages, max_tokens: 32, temperature: 0 });
const text = once.choices[0].message.content;
check("chat", once.usage.completion_tokens <= 32, text);

let streamed = "", usage;
for await (const chunk of await client.chat.completions.create({
  model, messages, max_tokens: 32, temperature: 0, stream: true, stream_options: { include_usage: true },
})) {
  streamed += chunk.choices[0]?.delta?.content ?? "";
  usage = chunk.usage ?? usage;
}
check("chat stream equals chat", streamed === text);
check("chat stream usage", usage?.completion_tokens === once.usage.completion_tokens);

const runner = client.chat.completions.stream({ model, messages, max_tokens: 16, temperature: 0 });
check("chat stream helper", text.startsWith((await runner.finalChatCompletion()).choices[0].message.content));

const two = await client.chat.completions.create({ model, messages, max_tokens: 12, n: 2, seed: 5, temperature: 1.2 });
check("n = 2", two.choices.length === 2);
const plain = await client.completions.create({ model, prompt: "Once upon a time", max_tokens: 8 });
check("completions", typeof plain.choices[0].text === "string", plain.choices[0].text);

for (const [name, status, extra] of [
  ["unknown model", 404, { model: "gpt-4" }],
  ["max_tokens 0", 400, { max_tokens: 0 }],
  ["logprobs", 400, { logprobs: true }],
]) {
  try {
    await client.chat.completions.create({ model, messages, ...extra });
    check(name, false, "no error");
  } catch (e) {
    check(name, e.status === status && !!e.error?.message, e.error?.message);
  }
}

const broken = await client.chat.completions.create({ model, messages, max_tokens: 500, stream: true, ignore_eos: true });
for await (const _ of broken) break;
const after = await client.chat.completions.create({ model, messages, max_tokens: 2 });
check("chat after a broken-off stream", after.usage.completion_tokens <= 2);

console.log(failed ? "failed" : "all passed");
process.exit(failed ? 1 : 0);
