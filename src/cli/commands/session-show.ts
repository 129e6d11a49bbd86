import { type HistoryItem, type Session, SessionID, StemmaError } from "../../protocol/index.ts"
import { transcript } from "../../session/index.ts"
import type { Store } from "../../stores/store.ts"
import { command, helpOf, parseCommand, wholeNumber } from "../arguments.ts"
import { asCalled, type Command } from "../program.ts"
import { readStore } from "../read-store.ts"
import { Output, printableJson, printableLine, printableText } from "../terminal/terminal.ts"
import { formatMinute } from "./session-list.ts"

export const showSpec = command({
  name: "session show",
  operands: "ID",
  operandsMax: 1,
  about: "Prints the messages and tool calls of a session, each call with its arguments and its result.",
  options: {
    last: { type: "string", value: "N", help: "only the last N messages" },
    json: { type: "boolean", help: "print lines of JSON: the session, then each message with its parts" },
  },
})

const pageMessages = 200

export const show: Command = async (args, program) => {
  const parsed = parseCommand(showSpec, args)
  const output = new Output(program.terminal.output)
  if (!parsed) {
    await output.write(asCalled(helpOf(showSpec), program.terminal.env))
    return 0
  }
  const { values, operands } = parsed
  const id = checkedID(operands[0])
  const last = wholeNumber(values.last, { option: "last", min: 1, max: 999_999_999 })
  const isThere = await readStore(program, async (store) => {
    const session = await store.session(id)
    await output.write(values.json ? `${printableJson(session)}\n` : `${heading(session)}\n\n`)
    for await (const items of pages(store, { id, count: session.history.count, last })) {
      if (!output.isOpen) break
      const lines = values.json
        ? items.map(printableJson).join("\n")
        : printableText(transcript(items, { withInput: true }))
      if (lines !== "") await output.write(`${lines}\n`)
    }
    return true
  })
  if (!isThere) throw new StemmaError("not_found", `There is no session ${id}: there are no sessions yet.`)
  return output.exitCode
}

function checkedID(text: string | undefined): string {
  if (SessionID.safeParse(text).success) return text!
  throw new StemmaError(
    "invalid",
    "Name a session by its id, such as ses_01k8.... List the ids with stemma session list --all.",
  )
}

/** Reads page by page from the oldest wanted message, so that a long history is never in memory as a whole. */
async function* pages(
  store: Store,
  { id, count, last }: { id: string; count: number; last: number | undefined },
): AsyncGenerator<readonly HistoryItem[]> {
  for (let from = Math.max(0, count - (last ?? count)); from < count; from += pageMessages) {
    const to = Math.min(count, from + pageMessages)
    const { items } = await store.history(id, { from, to, take: "start", limit: pageMessages })
    yield items
  }
}

function heading(session: Session): string {
  const { id, title, directory, agent, model, cost, time, history } = session
  const who = [agent, model && `${model.providerID}/${model.modelID}`].filter(Boolean).join(", ")
  const lines = [
    printableLine(title),
    `${id}  ${formatMinute(time.created)} to ${formatMinute(time.updated)}  ${history.count} messages  $${cost.toFixed(4)}`,
    printableLine(directory),
    ...(who ? [printableLine(who)] : []),
    ...(session.parentID ? [`a child of ${session.parentID}`] : []),
    ...(session.forkedFrom ? [`forked from ${session.forkedFrom.sessionID}`] : []),
    ...(session.revert ? [`reverted to before ${session.revert.messageID}: what follows it is hidden`] : []),
  ]
  return lines.join("\n")
}
