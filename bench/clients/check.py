"""Drives a Treeline server with the official Python package `openai`, unmodified.

    python check.py http://127.0.0.1:8000/v1 [API_KEY]

Prints one line per check and exits 1 when one fails.
"""

import asyncio
import sys

import openai

base, key = sys.argv[1], (sys.argv[2:] + ["none"])[0]
client = openai.OpenAI(base_url=base, api_key=key, max_retries=0, timeout=120)
model = client.models.list().data[0].id
question = [{"role": "user", "content": "Write a Python function fibonacci(n) using iteration. Return only code."}]
failed = False


def check(name, ok, seen=""):
    global failed
    failed = failed or not ok
    print(("ok    " if ok else "FAIL  ") + name + (f": {seen!r}" if seen != "" else ""))


check("models.list", client.models.list().data[0].owned_by == "treeline", model)
check("models.retrieve", client.models.retrieve(model).id == model)

once = client.chat.completions.create(model=model, messages=question, max_tokens=32, temperature=0)
text = once.choices[0].message.content
check("chat", once.usage.completion_tokens <= 32 and once.choices[0].finish_reason in ("stop", "length"), text)
check("chat: timings are an extra member", once.timings["predicted_n"] == once.usage.completion_tokens)

parts, usage, finish = [], None, None
for chunk in client.chat.completions.create(
    model=model, messages=question, max_tokens=32, temperature=0, stream=True, stream_options={"include_usage": True}
):
    if chunk.choices:
        parts.append(chunk.choices[0].delta.content or "")
        finish = chunk.choices[0].finish_reason or finish
    usage = chunk.usage or usage
check("chat stream equals chat", "".join(parts) == text and finish == once.choices[0].finish_reason)
check("chat stream usage", usage is not None and usage.completion_tokens == once.usage.completion_tokens)

# The helper refuses answers that end by length, so this one ends by a stop string.
with client.chat.completions.stream(model=model, messages=question, max_tokens=32, temperature=0, stop=text[5:8]) as stream:
    final = stream.get_final_completion()
check("chat stream helper", text.startswith(final.choices[0].message.content), final.choices[0].finish_reason)

two = client.chat.completions.create(model=model, messages=question, max_tokens=12, n=2, seed=5, temperature=1.2)
again = client.chat.completions.create(model=model, messages=question, max_tokens=12, n=2, seed=5, temperature=1.2)
check("n = 2, same seed, same answers", [c.message.content for c in two.choices] == [c.message.content for c in again.choices], len(two.choices))
drawn = client.chat.completions.create(model=model, messages=question, max_tokens=12)
redo = client.chat.completions.create(model=model, messages=question, max_tokens=12, seed=drawn.seed)
check("a drawn seed repeats", drawn.choices[0].message.content == redo.choices[0].message.content, drawn.seed)

stop = client.chat.completions.create(model=model, messages=question, max_tokens=32, temperature=0, stop=[text[5:8]])
check("stop", stop.choices[0].message.content == text[: text.index(text[5:8])] and stop.choices[0].finish_reason == "stop")
plain = client.completions.create(model=model, prompt=["Once upon a time", "The sea"], max_tokens=8, extra_body={"ignore_eos": True})
check("completions, two prompts", len(plain.choices) == 2 and plain.usage.completion_tokens == 16, plain.choices[0].text)

for name, error, args in [
    ("unknown model", openai.NotFoundError, {"model": "gpt-4"}),
    ("max_tokens 0", openai.BadRequestError, {"max_tokens": 0}),
    ("temperature 3", openai.BadRequestError, {"temperature": 3}),
    ("logprobs", openai.BadRequestError, {"logprobs": True}),
    ("no messages", openai.BadRequestError, {"messages": []}),
]:
    try:
        client.chat.completions.create(**({"model": model, "messages": question} | args))
        check(name, False, "no error")
    except error as e:
        check(name, bool(e.body and e.body["message"]), e.body["message"])

stream = client.chat.completions.create(model=model, messages=question, max_tokens=500, stream=True, extra_body={"ignore_eos": True})
next(iter(stream))
stream.close()
check("chat after a broken-off stream", client.chat.completions.create(model=model, messages=question, max_tokens=2).usage.completion_tokens <= 2)


async def together():
    a = openai.AsyncOpenAI(base_url=base, api_key=key, max_retries=0, timeout=120)
    calls = [a.chat.completions.create(model=model, messages=question, max_tokens=32, temperature=0) for _ in range(4)]
    return [r.choices[0].message.content for r in await asyncio.gather(*calls)]


check("four at once equal one", set(asyncio.run(together())) == {text})
print("openai", openai.__version__, "failed" if failed else "all passed")
sys.exit(failed)
