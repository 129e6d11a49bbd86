import type {
  SharedDocument,
  SharedHeader,
  SharedMessage,
  SharedPart,
} from "../../../protocol/routes/share-shapes.ts"

/** Markup that is safe to insert into a page. All other values are escaped. */
class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type Inside = string | number | Html | readonly Inside[] | undefined

/** Builds markup. Inserted values are escaped, unless this function created them. */
function html(strings: TemplateStringsArray, ...values: Inside[]): Html {
  return new Html(
    strings.map((string, at) => string + (at < values.length ? inside(values[at]) : "")).join(""),
  )
}

function inside(value: Inside): string {
  if (value === undefined) return ""
  if (value instanceof Html) return value.text
  if (typeof value === "object") return value.map(inside).join("")
  return String(value).replace(/[&<>"'`]/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** The page of a shared session. It has all text without the script, which only adds later messages. */
export function sharedPage(document: SharedDocument, { isNewest }: { isNewest: boolean }): string {
  const { session, messages, earlier, cursor } = document
  const main = html`<main id="messages"${isNewest ? html` data-cursor="${cursor}"` : undefined}>
${messages.map(messageHtml)}</main>
`
  const links = [
    earlier === undefined
      ? undefined
      : html`<p class="more"><a href="?before=${earlier}">Earlier messages</a></p>\n`,
  ]
  const back = isNewest ? undefined : html`<p class="more"><a href="?">Newest messages</a></p>\n`
  const body = html`${headerHtml(session)}${links}${main}${back}<p id="state" role="status"></p>
<footer>Shared from Stemma, read only. Recognised secrets were removed.</footer>
`
  return shell(session.title, { body, hasScript: isNewest })
}

export function errorPage(message: string): string {
  return shell("Not shared", { body: html`<h1>Not shared</h1>\n<p>${message}</p>\n`, hasScript: false })
}

function shell(title: string, { body, hasScript }: { body: Html; hasScript: boolean }): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
<meta name="referrer" content="no-referrer">
<title>${title}</title>
<link rel="stylesheet" href="assets/share.css">
${hasScript ? html`<script src="assets/share.js" defer></script>\n` : undefined}</head>
<body>
${body}</body>
</html>
`.text
}

function headerHtml({ title, agent, model, time }: SharedHeader): Html {
  const names = [agent, model].filter((name) => name !== undefined).join(" · ")
  return html`<header>
<h1 id="title">${title}</h1>
<p>${timeHtml(time.created)}${names === "" ? undefined : ` · ${names}`}</p>
</header>
`
}

function messageHtml({ id, position, role, agent, model, time, parts, error }: SharedMessage): Html {
  const names = role === "assistant" ? [agent, model].filter((name) => name !== undefined).join(" · ") : ""
  return html`<article class="${role}" id="${id}" data-position="${position}">
<h2>${role === "user" ? "User" : "Assistant"} <small>${names} ${timeHtml(time.created)}</small></h2>
${parts.map(partHtml)}${error && html`<p class="error">${error.name}: ${error.message}</p>\n`}</article>
`
}

function timeHtml(ms: number): Html {
  const iso = new Date(ms).toISOString()
  return html`<time datetime="${iso}">${iso.slice(0, 16).replace("T", " ")}</time>`
}

function partHtml(part: SharedPart): Html {
  switch (part.type) {
    case "text":
      return html`<div class="text">${textHtml(part.text)}</div>\n`
    case "reasoning":
      return html`<details class="reasoning"><summary>Reasoning</summary><pre>${part.text}</pre></details>\n`
    case "tool":
      return toolHtml(part)
    case "file":
      return html`<p class="file">File: ${part.name} (${part.mime}${
        part.bytes === undefined ? undefined : `, ${part.bytes} bytes`
      })</p>\n`
    case "task":
      return html`<p class="tool">A subagent worked on a task.</p>\n`
    case "compaction":
      return html`<p class="tool">The history up to here was summarised for the model.</p>\n`
    default:
      return part satisfies never
  }
}

function toolHtml({
  tool,
  status,
  title,
  input,
  output,
  error,
}: Extract<SharedPart, { type: "tool" }>): Html {
  const name = html`${tool}${title ? ` · ${title}` : undefined} · ${status === "completed" ? "done" : "failed"}`
  const shown = [input, output, error].filter((text) => text !== undefined)
  if (shown.length === 0) return html`<p class="tool">${name}</p>\n`
  return html`<details class="tool"><summary>${name}</summary>${shown.map(
    (text) => html`<pre>${text}</pre>`,
  )}</details>\n`
}

/** Fenced code becomes a block; all other text is shown as it was written. */
function textHtml(text: string): Html[] {
  return text
    .split(/^```[^\n]*$/m)
    .map((piece, at) =>
      at % 2 === 0 ? html`<span>${piece.trim()}</span>` : html`<pre>${piece.replace(/^\n|\n$/g, "")}</pre>`,
    )
}
