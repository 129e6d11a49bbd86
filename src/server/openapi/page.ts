import type { Answer, OpenApiDocument, Operation, Parameter } from "./openapi.ts"
import { type ListedRoute, routesOfTag } from "./route-list.ts"
import type { JsonSchema } from "./schema-book.ts"
import { limitText, typePieces } from "./type-text.ts"

/** The document as a page of plain HTML: no script, nothing from elsewhere. */
export function pageOf(document: OpenApiDocument): string {
  const { title, version, summary } = document.info
  const groups = document.tags.map((tag) => ({ ...tag, routes: routesOfTag(document, tag.name) }))
  const names = Object.keys(document.components.schemas)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${plain(title)} ${plain(version)}: HTTP</title>
<link rel="stylesheet" href="/docs/style.css">
</head>
<body>
<nav>
<h1>${plain(title)} <small>${plain(version)}</small></h1>
${groups.map(({ name, routes }) => menuOf(name, routes)).join("\n")}
<details><summary>Schemas</summary><ul>${names.map((name) => `<li>${linkTo(name)}</li>`).join("")}</ul></details>
</nav>
<main>
<p>${plain(summary)}. Every call but those marked “no token” needs the server's token, as
<code>Authorization: Bearer TOKEN</code> or as the password of Basic. This page is made from
<a href="/openapi.json">/openapi.json</a> (OpenAPI ${plain(document.openapi)}).</p>
${groups.map(({ name, description, routes }) => groupOf({ name, description, routes }, document)).join("\n")}
<h2 id="schemas">Schemas</h2>
${names.map((name) => schemaOf(name, document.components.schemas[name]!)).join("\n")}
</main>
</body>
</html>
`
}

/** Text that stays text, in an element or in an attribute. */
function plain(value: unknown): string {
  return String(value).replace(/[&<>"']/g, (one) => `&#${one.charCodeAt(0)};`)
}

function menuOf(name: string, routes: readonly ListedRoute[]): string {
  const items = routes.map(
    ({ method, path, operation }) =>
      `<li><a href="#${plain(operation.operationId)}"><b class="${plain(method)}">${plain(method)}</b> ${plain(path)}</a></li>`,
  )
  return `<details open><summary>${plain(name)}</summary><ul>${items.join("")}</ul></details>`
}

function groupOf(
  { name, description, routes }: { name: string; description: string; routes: readonly ListedRoute[] },
  document: OpenApiDocument,
): string {
  const sections = routes.map((route) => routeOf(route, document)).join("\n")
  return `<h2>${plain(name)}</h2>\n<p>${plain(description)}.</p>\n${sections}`
}

function routeOf({ method, path, operation, aliases }: ListedRoute, document: OpenApiDocument): string {
  const { operationId, summary, parameters = [], requestBody, security } = operation
  const marks = [...(security ? ["no token"] : []), ...aliases.map((alias) => `also at ${alias}`)]
  return `<section id="${plain(operationId)}">
<h3><b class="${plain(method)}">${plain(method)}</b> <code>${plain(path)}</code></h3>
<p>${prose(summary)}${marks.map((mark) => ` <small>${plain(mark)}</small>`).join("")}</p>
${parametersOf(parameters)}
${requestBody ? bodyOf(requestBody) : ""}
${answersOf(operation, document)}
</section>`
}

function parametersOf(parameters: readonly Parameter[]): string {
  if (parameters.length === 0) return ""
  const rows = parameters.map(({ name, in: place, required, schema, description }) => ({
    name,
    isRequired: required,
    schema,
    note: [description, place === "path" ? "in the path" : ""].filter(Boolean).join("; "),
  }))
  return fieldTable("Parameters", rows)
}

function bodyOf({ required, content }: NonNullable<Operation["requestBody"]>): string {
  const { schema } = Object.values(content)[0]!
  return typeBlock(required ? "Body" : "Body (may be left out)", schema)
}

function answersOf({ responses }: Operation, document: OpenApiDocument): string {
  const rows = Object.entries(responses).map(([status, answer]) => {
    const shown = "$ref" in answer ? document.components.responses[answer.$ref.split("/").at(-1)!]! : answer
    return `<tr><td>${plain(status)}</td><td>${plain(shown.description)}</td><td>${mediaOf(shown)}</td></tr>`
  })
  return table("Answers", { heads: ["status", "meaning", "body"], rows })
}

function mediaOf({ content = {} }: Answer): string {
  return Object.entries(content)
    .map(([type, media]) => `<small>${plain(type)}</small> ${typeOf(media["x-data"] ?? media.schema)}`)
    .join("<br>")
}

function schemaOf(name: string, schema: JsonSchema): string {
  return `<section id="schema-${plain(name)}">\n<h3>${plain(name)}</h3>\n${typeBlock("", schema)}\n</section>`
}

/** An object as a table of its fields, one of several kinds as a table of each, anything else as a type. */
function typeBlock(title: string, schema: JsonSchema): string {
  const note = typeof schema.description === "string" ? `<p>${prose(schema.description)}</p>` : ""
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
  const head = title === "" ? "" : `<h4>${plain(title)}</h4>`
  return `${note}${head}<p>${typeOf(schema)}${limits && ` <small>${plain(limits)}</small>`}</p>`
}

function fieldTable(
  title: string,
  fields: readonly { name: string; isRequired: boolean; schema: JsonSchema; note: string }[],
): string {
  const rows = fields.map(({ name, isRequired, schema, note }) => {
    const about = [prose(note), plain(limitText(schema))].filter((one) => one !== "").join("; ")
    const mark = isRequired ? "" : "<small>?</small>"
    return `<tr><td><code>${plain(name)}</code>${mark}</td><td>${typeOf(schema)}</td><td>${about}</td></tr>`
  })
  return table(title, { heads: ["name", "type", ""], rows })
}

function table(
  title: string,
  { heads, rows }: { heads: readonly string[]; rows: readonly string[] },
): string {
  const head = heads.map((one) => `<th>${plain(one)}</th>`).join("")
  const name = title === "" ? "" : `<h4>${plain(title)}</h4>\n`
  return `${name}<table><thead><tr>${head}</tr></thead><tbody>\n${rows.join("\n")}\n</tbody></table>`
}

function typeOf(schema: JsonSchema): string {
  const pieces = typePieces(schema).map((one) => ("name" in one ? linkTo(one.name) : plain(one.text)))
  return `<code>${pieces.join("")}</code>`
}

function linkTo(name: string): string {
  return `<a href="#schema-${plain(name)}">${plain(name)}</a>`
}

/** A sentence, with what stands in back quotes as code. */
function prose(text: string): string {
  return plain(text).replace(/`([^`]+)`/g, "<code>$1</code>")
}
