import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { pathNames, type Route, routes } from "../src/protocol/routes/index.ts"
import { filesBelow } from "./imports.ts"

const at = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url))
const pagePath = "docs/api.md"
const generated = /(?<=<!-- api -->\n)[\s\S]*?(?=<!-- \/api -->)/

/** The public classes and interfaces, in the order of the page, each with the code that gives or takes one. */
const library = {
  StemmaOptions: "openStemma(options)",
  Stemma: "await openStemma()",
  Sessions: "stemma.sessions",
  CreateOptions: "stemma.sessions.create(options)",
  UpdateOptions: "stemma.sessions.update(id, fields)",
  CurrentOptions: "stemma.sessions.current(options)",
  SessionQuery: "stemma.sessions.list(query)",
  SearchQuery: "stemma.sessions.search(query)",
  ShareOptions: "stemma.sessions.share(id, options)",
  RetentionOptions: "stemma.sessions.applyRetention(options)",
  SessionHandle: "await stemma.sessions.get(id)",
  PromptOptions: "session.prompt(input, options)",
  PromptRun: "session.prompt(input)",
  Reply: "await session.prompt(input)",
  ShellOptions: "session.shell(command, options)",
  Permissions: "stemma.permissions",
}
const server = {
  ServerOptions: "createServer(stemma, options)",
  StemmaServer: "createServer(stemma)",
  ListenOptions: "server.listen(options)",
}
const client = {
  Client: "createClient(options)",
  SessionClient: "client.session(id)",
  EventsOptions: "client.session(id).events(options)",
  EventStream: "client.session(id).events()",
  ReplicaOptions: "client.session(id).replica(options)",
  Replica: "client.session(id).replica()",
}

interface Member {
  signature: string
  comment: string
}

/** The declarations of the folders that have a public API, with their doc comments. Imports are not resolved: that is fast. */
function declarations(): string {
  const out = mkdtempSync(join(tmpdir(), "stemma-api-"))
  try {
    const folders = ["run", "stores", "server", "client"].map((name) => at(`src/${name}`))
    const sources = [at("src/index.ts"), ...folders.flatMap((folder) => filesBelow(folder, ".ts"))].filter(
      (path) => !path.endsWith(".test.ts"),
    )
    const how = ["--ignoreConfig", "--noCheck", "--noResolve", "--declaration", "--emitDeclarationOnly"]
    const language = ["--target", "es2025", "--module", "nodenext", "--allowImportingTsExtensions"]
    execFileSync(at("node_modules/.bin/tsc"), [
      ...how,
      ...language,
      "--rootDir",
      at("src"),
      "--outDir",
      out,
      ...sources,
    ])
    return filesBelow(out, ".d.ts")
      .map((path) => readFileSync(path, "utf8"))
      .join("\n")
  } finally {
    rmSync(out, { recursive: true, force: true })
  }
}

/** The comment and the members of a class or an interface. */
export function declared(text: string, name: string): { comment: string; members: Member[] } {
  const comment = String.raw`(\/\*\*(?:[^*]|\*(?!\/))*\*\/\n)?`
  const head = String.raw`export (?:declare class|interface) ${name}\b[^\n]*\{\n`
  const found = [...text.matchAll(new RegExp(`${comment}${head}([\\s\\S]*?)^\\}`, "gm"))]
  if (found.length !== 1)
    throw new Error(`src/ has ${found.length} exported classes or interfaces named ${name}.`)
  const [, above = "", body] = found[0]!
  const member =
    /(?:^ {4}(\/\*\*[\s\S]*?\*\/)\n)?^ {4}((?![\s/#}[]|(?:constructor|next|return|then)\b)[\s\S]*?);$(?=\n {4}[^\s}]|\n$)/gm
  const members = [...body!.matchAll(member)].map(([, comment = "", signature]) => ({
    signature: plain(signature!),
    comment: firstSentence(comment),
  }))
  return { comment: firstSentence(above), members }
}

function plain(signature: string): string {
  return signature
    .replace(/\s+/g, " ")
    .replaceAll("; }", " }")
    .replace(/^(?:readonly|async) /, "")
    .replace(/^get (\w+)\(\)/, "$1")
    .replace(/\(\{ [\w, ]+ \}(\??:)/, "(options$1")
}

function firstSentence(comment: string): string {
  const text = comment
    .replace(/^\s*(?:\/\*\*|\*\/|\*(?!\/))|\*\/\s*$/gm, " ")
    .replace(/\s+/g, " ")
    .trim()
  return text.split(/(?<=\.)\s/)[0]!
}

const cell = (text: string): string => text.replaceAll("|", "\\|")

function table(head: readonly string[], rows: readonly string[][]): string[] {
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(" | ")} |`
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line), ""]
}

function section(text: string, name: string, from: string): string[] {
  const { comment, members } = declared(text, name)
  const rows = members.map(({ signature, comment }) => [`\`${signature}\``, comment])
  return [`### ${name}`, "", `\`${from}\`. ${comment}`.trim(), "", ...table(["member", "meaning"], rows)]
}

/** The functions of the client that call one route each; `bound` are path parameters that the caller need not give. */
function routeSection(
  heading: string,
  group: Record<string, Route>,
  bound: readonly string[] = [],
): string[] {
  const rows = Object.entries(group)
    .filter(([, route]) => route.kind !== "events")
    .map(([name, route]) => {
      const free = pathNames(route.path).filter((one) => !bound.includes(one))
      const names = [...free, ...fieldNames(route.query), ...fieldNames(route.body)]
      const input = names.length === 0 ? "" : `{ ${names.join(", ")} }`
      return [`\`${name}(${input})\``, `\`${route.method} ${route.path}\``, firstSentence(route.summary)]
    })
  return [`### ${heading}`, "", ...table(["call", "route", "meaning"], rows)]
}

function fieldNames(schema: Route["body"]): string[] {
  const shape =
    schema !== undefined && "shape" in schema ? (schema.shape as Record<string, Route["query"]>) : {}
  return Object.entries(shape).map(([name, field]) =>
    field?.safeParse(undefined).success ? `${name}?` : name,
  )
}

/** The generated part of the page. */
function apiPart(): string {
  const text = declarations()
  const sections = (names: Record<string, string>) =>
    Object.entries(names).flatMap(([name, from]) => section(text, name, from))
  const lines = [
    "",
    '## The library: `import { openStemma } from "stemma"`',
    "",
    ...sections(library),
    '## The server: `import { createServer } from "stemma/server"`',
    "",
    ...sections(server),
    '## The client: `import { createClient } from "stemma/client"`',
    "",
    ...sections(client),
    ...routeSection("client.sessions", routes.sessions),
    ...routeSection("client.session(id)", routes.session, ["id"]),
    ...routeSection("client.place", routes.place),
    ...routeSection("client.server", routes.server),
  ]
  return `${lines.join("\n")}\n`
}

if (import.meta.main) {
  const page = readFileSync(at(pagePath), "utf8")
  const current = page.replace(generated, apiPart)
  if (process.argv.includes("--write")) writeFileSync(at(pagePath), current)
  else if (page !== current) {
    console.error(`${pagePath} is stale. Run: node tools/api-doc.ts --write`)
    process.exitCode = 1
  }
}
