import { realpath } from "node:fs/promises"
import { resolve } from "node:path"
import type { Session } from "../../protocol/index.ts"
import type { Store } from "../../stores/store.ts"
import { command, helpOf, type OptionValues, parseCommand, wholeNumber } from "../arguments.ts"
import type { Command } from "../program.ts"
import { readStore } from "../read-store.ts"
import { Output, shownJson, shownLine } from "../terminal/terminal.ts"

export const listSpec = command({
  name: "session list",
  about: "Lists the sessions of this directory, the most recently used first.",
  options: {
    directory: { type: "string", value: "DIR", help: "those of another directory" },
    all: { type: "boolean", help: "those of every directory, archived ones and children too" },
    search: { type: "string", value: "TEXT", help: "only those in which this was said or done" },
    limit: { type: "string", value: "N", help: "how many at most; 20 if absent" },
    json: { type: "boolean", help: "a line of JSON for each session" },
  },
})

type Values = OptionValues<typeof listSpec.options>

interface Found {
  session: Session
  /** What a search found in it. */
  snippet?: string
}

export const list: Command = async (args, program) => {
  const parsed = parseCommand(listSpec, args)
  const output = new Output(program.terminal.output)
  if (!parsed) {
    await output.write(helpOf(listSpec))
    return 0
  }
  const { values } = parsed
  const limit = wholeNumber(values.limit, { option: "limit", min: 1, max: 1000 }) ?? 20
  const directory = values.all ? undefined : await realOr(resolve(program.directory, values.directory ?? "."))
  const { search: text } = values
  const found = await readStore(
    program,
    (store) =>
      text === undefined ? newest(store, { directory, limit }) : searched(store, { directory, limit, text }),
    { isSearch: text !== undefined },
  )
  for (const one of found ?? []) {
    if (!output.isOpen) break
    await output.write(`${values.json ? shownJson(one.session) : line(one, values)}\n`)
  }
  if (!found?.length && !values.json) program.terminal.error.write(`${nothing(values, directory)}\n`)
  return output.exitCode
}

async function newest(
  store: Store,
  { directory, limit }: { directory: string | undefined; limit: number },
): Promise<Found[]> {
  const query = directory === undefined ? {} : { directory, parentID: null, archived: false }
  return (await store.sessions({ ...query, limit })).items.map((session) => ({ session }))
}

async function searched(
  store: Store,
  { directory, limit, text }: { directory: string | undefined; limit: number; text: string },
): Promise<Found[]> {
  const found = new Map<string, Found>()
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

function line({ session, snippet }: Found, values: Values): string {
  const { id, title, history, time, directory } = session
  const words = [
    id,
    minute(time.updated),
    `${String(history.count).padStart(4)} ${history.count === 1 ? "message " : "messages"}`,
    shownLine(title, 80),
    ...(session.parentID === undefined ? [] : ["(a child)"]),
    ...(time.archived === undefined ? [] : ["(archived)"]),
    ...(values.all ? [`in ${shownLine(directory)}`] : []),
  ]
  return words.join("  ") + (snippet === undefined ? "" : `\n    ${shownLine(snippet, 160)}`)
}

/** The time in the time zone of whoever reads it. */
export function minute(timeMs: number): string {
  const date = new Date(timeMs)
  const two = (value: number) => String(value).padStart(2, "0")
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`
}

function nothing(values: Values, directory: string | undefined): string {
  if (values.search !== undefined) return "Nothing was found."
  return directory === undefined
    ? 'There are no sessions yet. Begin one: stemma run "..."'
    : `There are no sessions of ${shownLine(directory)}. See those of every directory with --all.`
}

async function realOr(path: string): Promise<string> {
  return realpath(path).catch(() => path)
}
