// The least that a one-shot run can do: one request to the model, its answer printed while it arrives.
const [baseURL, text] = process.argv.slice(2)
const response = await fetch(`${baseURL}/chat/completions`, {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ model: "m1", stream: true, messages: [{ role: "user", content: text }] }),
})
const decoder = new TextDecoder()
let rest = ""
for await (const bytes of response.body) {
  const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n")
  rest = lines.pop()
  for (const line of lines) {
    if (!line.startsWith("data: {")) continue
    process.stdout.write(JSON.parse(line.slice(6)).choices[0]?.delta.content ?? "")
  }
}
