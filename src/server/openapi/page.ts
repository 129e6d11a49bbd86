import { exampleCall } from "./example-call.ts"
import type { Answer, OpenApiDocument, Operation, Parameter } from "./openapi.ts"
import { type ListedRoute, routesOfTag } from "./route-list.ts"
import type { JsonSchema } from "./schema-book.ts"
import { limitText, typePieces } from "./type-text.ts"

/** The document as plain HTML, without scripts and without external resources. */
export function pageOf(document: OpenApiDocument): string {
  const { title, version, summary } = document.info
  const groups = document.tags.map((tag) => ({ ...tag, routes: routesOfTag(document, tag.name) }))
  const names = Object.keys(document.components.schemas)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} ${escapeHtml(version)}: HTTP</title>
<link rel="stylesheet" href="/docs/style.css">
</head>
<body>
<nav>
<h1>${escapeHtml(title)} <small>${escapeHtml(version)}</small></h1>
${groups.map(({ name, routes }) => menuOf(name, routes)).join("\n")}
<details><summary>Schemas</summary><ul>${names.map((name) => `<li>${linkTo(name)}</li>`).join("")}</ul></details>
</nav>
<main>
<p>${escapeHtml(summary)}. Every call needs the server's token, unless it is marked “no token”. Send the token as
<code>Authorization: Bearer TOKEN</code> or as the password of Basic authentication. The examples take the token from the
shell variable <code>TOKEN</code>. This page is generated from
<a href="/openapi.json">/openapi.json</a> (OpenAPI ${escapeHtml(document.openapi)}).</p>
${groups.map(({ name, description, routes }) => groupOf({ name, description, routes }, document)).join("\n")}
<h2 id="schemas">Schemas</h2>
${names.map((name) => schemaOf(name, document.components.schemas[name]!)).join("\n")}
</main>
</body>
</html>
`
}

/** Escapes text for an element or an attribute. */
function escapeHtml(value: unknown): string {
  return String(value).replace(/[&<>"']/g, (one) => `&#${one.charCodeAt(0)};`)
}

function menuOf(name: string, routes: readonly ListedRoute[]): string {
  const items = routes.map(
    ({ method, path, operation }) =>
      `<li><a href="#${escapeHtml(operation.operationId)}"><b class="${escapeHtml(method)}">${escapeHtml(method)}</b> ${escapeHtml(path)}</a></li>`,
  )
  return `<details open><summary>${escapeHtml(name)}</summary><ul>${items.join("")}</ul></details>`
}

function groupOf(
  { name, description, routes }: { name: string; description: string; routes: readonly ListedRoute[] },
  document: OpenApiDocument,
): string {
  const sections = routes.map((route) => routeOf(route, document)).join("\n")
  return `<h2>${escapeHtml(name)}</h2>\n<p>${escapeHtml(description)}.</p>\n${sections}`
}

function routeOf({ method, path, operation, aliases }: ListedRoute, document: OpenApiDocument): string {
  const { operationId, summary, parameters = [], requestBody, security } = operation
  const marks = [...(security ? ["no token"] : []), ...aliases.map((alias) => `also at ${alias}`)]
  return `<section id="${escapeHtml(operationId)}">
<h3><b class="${escapeHtml(method)}">${escapeHtml(method)}</b> <code>${escapeHtml(path)}</code></h3>
<p>${escapeProse(summary)}${marks.map((mark) => ` <small>${escapeHtml(mark)}</small>`).join("")}</p>
${parametersOf(parameters)}
${requestBody ? bodyOf(requestBody) : ""}
${answersOf(operation, document)}
<h4>Example</h4>
<pre><code>${escapeHtml(exampleCall(document, { method, path, operation }).curl)}</code></pre>
</section>`
}

function parametersOf(parameters: readonly Parameter[]): string {
  if (parameters.length === 0) return ""
  const rows = parameters.map(({ name, in: source, required, schema, description }) => ({
    name,
    isRequired: required,
    schema,
    note: [description, source === "path" ? "in the path" : ""].filter(Boolean).join("; "),
  }))
  return fieldTable("Parameters", rows)
}

function bodyOf({ required, content }: NonNullable<Operation["requestBody"]>): string {
  const { schema } = Object.values(content)[0]!
  return typeBlock(required ? "Body" : "Body (optional)", schema)
}

function answersOf({ responses }: Operation, document: OpenApiDocument): string {
  const rows = Object.entries(responses).map(([status, answer]) => {
    const shown = "$ref" in answer ? document.components.responses[answer.$ref.split("/").at(-1)!]! : answer
    return `<tr><td>${escapeHtml(status)}</td><td>${escapeHtml(shown.description)}</td><td>${mediaOf(shown)}</td></tr>`
  })
  return table("Answers", { heads: ["status", "meaning", "body"], rows })
}

function mediaOf({ content = {} }: Answer): string {
  return Object.entries(content)
    .map(
      ([type, media]) =>
        `<small>${escapeHtml(type)}</small> ${typeOf((media.schema.contentSchema ?? media.schema) as JsonSchema)}`,
    )
    .join("<br>")
}

function schemaOf(name: string, schema: JsonSchema): string {
  return `<section id="schema-${escapeHtml(name)}">\n<h3>${escapeHtml(name)}</h3>\n${typeBlock("", schema)}\n</section>`
}

/** Shows an object as a table of its fields, a union of objects as one table each, anything else as a type. */
function typeBlock(title: string, schema: JsonSchema): string {
  const note = typeof schema.description === "string" ? `<p>${escapeProse(schema.description)}</p>` : ""
  const { properties, required = [] } = schema
  if (properties) {
    const rows = Object.entries(properties as Record<string, JsonSchema>).map(([name, one]) => ({
      name,
      isRequired: (required as string[]).includes(name),
      schema: one,
      note: typeof one.description === "string" ? one.description : "",
    }))
    return note + fieldTable(title, rows)
  }
  const choice = (schema.oneOf ?? schema.anyOf) as JsonSchema[] | undefined
  if (choice?.some((one) => one.properties))
    return note + choice.map((one) => typeBlock(title, one)).join("\n")
  const limits = limitText(schema)
  const head = title === "" ? "" : `<h4>${escapeHtml(title)}</h4>`
  return `${note}${head}<p>${typeOf(schema)}${limits && ` <small>${escapeHtml(limits)}</small>`}</p>`
}

function fieldTable(
  title: string,
  fields: readonly { name: string; isRequired: boolean; schema: JsonSchema; note: string }[],
): string {
  const rows = fields.map(({ name, isRequired, schema, note }) => {
    const about = [escapeProse(note), escapeHtml(limitText(schema))].filter((one) => one !== "").join("; ")
    const mark = isRequired ? "" : "<small>?</small>"
    return `<tr><td><code>${escapeHtml(name)}</code>${mark}</td><td>${typeOf(schema)}</td><td>${about}</td></tr>`
  })
  return table(title, { heads: ["name", "type", ""], rows })
}

function table(
  title: string,
  { heads, rows }: { heads: readonly string[]; rows: readonly string[] },
): string {
  const head = heads.map((one) => `<th>${escapeHtml(one)}</th>`).join("")
  const name = title === "" ? "" : `<h4>${escapeHtml(title)}</h4>\n`
  return `${name}<table><thead><tr>${head}</tr></thead><tbody>\n${rows.join("\n")}\n</tbody></table>`
}

function typeOf(schema: JsonSchema): string {
  const pieces = typePieces(schema).map((one) => ("name" in one ? linkTo(one.name) : escapeHtml(one.text)))
  return `<code>${pieces.join("")}</code>`
}

function linkTo(name: string): string {
  return `<a href="#schema-${escapeHtml(name)}">${escapeHtml(name)}</a>`
}

/** Escapes a sentence, with text in back quotes as code. */
function escapeProse(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, "<code>$1</code>")
}
