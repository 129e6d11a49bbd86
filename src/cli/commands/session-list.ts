import { resolve } from "node:path"
import type { Session } from "../../protocol/index.ts"
import type { Store } from "../../stores/store.ts"
import { command, helpOf, type OptionValues, parseCommand, wholeNumber } from "../arguments.ts"
import { realPathOrSame } from "../directory.ts"
import { asCalled, type Command } from "../program.ts"
import { readStore } from "../read-store.ts"
import { Output, printableJson, printableLine } from "../terminal/terminal.ts"

export const listSpec = command({
  name: "session list",
  about: "Lists the sessions of this directory, the most recently used first.",
  options: {
    directory: { type: "string", value: "DIR", help: "the sessions of another directory" },
    all: { type: "boolean", help: "the sessions of every directory, including archived ones and children" },
    search: { type: "string", value: "TEXT", help: "only sessions that contain this text" },
    limit: { type: "string", value: "N", help: "the maximum number of sessions; default: 20" },
    json: { type: "boolean", help: "print each session as a line of JSON" },
  },
})

type Values = OptionValues<typeof listSpec.options>

interface FoundSession {
  session: Session
  /** The text that a search found. */
  snippet?: string
}

export const list: Command = async (args, program) => {
  const parsed = parseCommand(listSpec, args)
  const output = new Output(program.terminal.output)
  if (!parsed) {
    await output.write(asCalled(helpOf(listSpec), program.terminal.env))
    return 0
  }
  const { values } = parsed
  const limit = wholeNumber(values.limit, { option: "limit", min: 1, max: 1000 }) ?? 20
  const directory = values.all
    ? undefined
    : await realPathOrSame(resolve(program.directory, values.directory ?? "."))
  const { search: text } = values
  const found = await readStore(
    program,
    (store) =>
      text === undefined
        ? newestSessions(store, { directory, limit })
        : searchSessions(store, { directory, limit, text }),
    { isSearch: text !== undefined },
  )
  for (const one of found ?? []) {
    if (!output.isOpen) break
    await output.write(`${values.json ? printableJson(one.session) : line(one, values)}\n`)
  }
  if (!found?.length && !values.json) {
    const { error, env } = program.terminal
    error.write(`${asCalled(nothingFoundText(values, directory), env)}\n`)
  }
  return output.exitCode
}

async function newestSessions(
  store: Store,
  { directory, limit }: { directory: string | undefined; limit: number },
): Promise<FoundSession[]> {
  const query = directory === undefined ? {} : { directory, parentID: null, archived: false }
  return (await store.sessions({ ...query, limit })).items.map((session) => ({ session }))
}

async function searchSessions(
  store: Store,
  { directory, limit, text }: { directory: string | undefined; limit: number; text: string },
): Promise<FoundSession[]> {
  const found = new Map<string, FoundSession>()
  let cursor: string | undefined
  do {
    const page = await store.search({
      text,
      limit: 200,
      ...(directory !== undefined && { directory }),
      ...(cursor !== undefined && { cursor }),
    })
    for (const { sessionID, snippet } of page.hits) {
      if (found.size >= limit) return [...found.values()]
      if (!found.has(sessionID)) found.set(sessionID, { session: await store.session(sessionID), snippet })
    }
    cursor = page.next
  } while (cursor !== undefined)
  return [...found.values()]
}

function line({ session, snippet }: FoundSession, values: Values): string {
  const { id, title, history, time, directory } = session
  const words = [
    id,
    formatMinute(time.updated),
    `${String(history.count).padStart(4)} ${history.count === 1 ? "message " : "messages"}`,
    printableLine(title, 80),
    ...(session.parentID === undefined ? [] : ["(a child)"]),
    ...(time.archived === undefined ? [] : ["(archived)"]),
    ...(values.all ? [`in ${printableLine(directory)}`] : []),
  ]
  return words.join("  ") + (snippet === undefined ? "" : `\n    ${printableLine(snippet, 160)}`)
}

/** The time in the local time zone. */
export function formatMinute(timeMs: number): string {
  const date = new Date(timeMs)
  const two = (value: number) => String(value).padStart(2, "0")
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`
}

function nothingFoundText(values: Values, directory: string | undefined): string {
  if (values.search !== undefined) return "No session contains this text."
  return directory === undefined
    ? 'There are no sessions yet. Start one: stemma run "..."'
    : `There are no sessions of ${printableLine(directory)}. Use --all to list the sessions of every directory.`
}
