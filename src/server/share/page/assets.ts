/** Adds later messages to the page. It inserts all content as text, so no content can become an element. */
const script = `"use strict"
const list = document.getElementById("messages")
const state = document.getElementById("state")

function element(name, className, ...children) {
  const made = document.createElement(name)
  if (className) made.className = className
  made.append(...children)
  return made
}

function time(ms) {
  const made = element("time", "", new Date(ms).toISOString().slice(0, 16).replace("T", " "))
  made.dateTime = new Date(ms).toISOString()
  return made
}

function text(value) {
  const pieces = value.split(/^\`\`\`[^\\n]*$/m)
  return element("div", "text", ...pieces.map((piece, at) =>
    at % 2 === 0 ? element("span", "", piece.trim()) : element("pre", "", piece.replace(/^\\n|\\n$/g, ""))))
}

function details(className, summary, texts) {
  return element("details", className, element("summary", "", summary), ...texts.map((one) => element("pre", "", one)))
}

function tool(part) {
  const name = [part.tool, part.title, part.status === "completed" ? "done" : "failed"].filter(Boolean).join(" · ")
  const shown = [part.input, part.output, part.error].filter((one) => one !== undefined)
  return shown.length === 0 ? element("p", "tool", name) : details("tool", name, shown)
}

function part(one) {
  if (one.type === "text") return text(one.text)
  if (one.type === "reasoning") return details("reasoning", "Reasoning", [one.text])
  if (one.type === "tool") return tool(one)
  if (one.type === "file") {
    return element("p", "file", "File: " + one.name + " (" + one.mime + (one.bytes === undefined ? "" : ", " + one.bytes + " bytes") + ")")
  }
  if (one.type === "task") return element("p", "tool", "A subagent worked on a task.")
  return element("p", "tool", "The history up to here was summarised for the model.")
}

function message(one) {
  const names = one.role === "assistant" ? [one.agent, one.model].filter(Boolean).join(" · ") + " " : ""
  const heading = element("h2", "", (one.role === "user" ? "User" : "Assistant") + " ", element("small", "", names, time(one.time.created)))
  const made = element("article", one.role, heading, ...one.parts.map(part))
  made.id = one.id
  if (one.error) made.append(element("p", "error", one.error.name + ": " + one.error.message))
  return made
}

function take({ type, properties }) {
  if (type === "reset") list.replaceChildren()
  if (type === "session") {
    document.title = properties.title
    document.getElementById("title").textContent = properties.title
  }
  if (type === "message") {
    const made = message(properties)
    const known = document.getElementById(properties.id)
    if (known && list.contains(known)) known.replaceWith(made)
    else list.append(made)
  }
  if (type === "ended") {
    list.replaceChildren()
    state.textContent = "This session is no longer shared."
    source.close()
  }
}

const source = new EventSource(location.pathname + "/event?since=" + encodeURIComponent(list.dataset.cursor))
source.onmessage = ({ data }) => {
  state.textContent = ""
  take(JSON.parse(data))
}
source.onerror = () => {
  if (source.readyState === EventSource.CLOSED && state.textContent === "") state.textContent = "The connection is lost. Reload the page."
}
`

const style = `:root { color-scheme: light dark; }
body { max-width: 50rem; margin: 0 auto; padding: 1rem; font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.4rem; overflow-wrap: anywhere; }
h2 { font-size: 0.9rem; margin: 0 0 0.5rem; }
small, footer, header p { font-weight: normal; opacity: 0.7; }
article { border: 1px solid color-mix(in srgb, currentColor 20%, transparent); border-radius: 0.5rem; padding: 0.75rem 1rem; margin: 1rem 0; }
article.user { background: color-mix(in srgb, currentColor 6%, transparent); }
.text span { white-space: pre-wrap; overflow-wrap: anywhere; }
pre { overflow-x: auto; padding: 0.5rem; border-radius: 0.25rem; background: color-mix(in srgb, currentColor 8%, transparent); }
.tool, .file, .reasoning { font-size: 0.9rem; opacity: 0.8; overflow-wrap: anywhere; }
.error { color: #b00020; overflow-wrap: anywhere; }
footer { margin-top: 2rem; font-size: 0.85rem; }
`

export const assets: ReadonlyMap<string, { type: string; text: string }> = new Map([
  ["share.js", { type: "text/javascript; charset=utf-8", text: script }],
  ["share.css", { type: "text/css; charset=utf-8", text: style }],
])
