import { realpath } from "node:fs/promises"
import { resolve } from "node:path"
import { text } from "node:stream/consumers"
import type { Client, SessionClient } from "../client/index.ts"
import { type Message, type Session, StemmaError } from "../protocol/index.ts"
import { command, helpOf, type OptionValues, parseCommand } from "./arguments.ts"
import { type Connected, connect } from "./connect.ts"
import { Conversation } from "./conversation.ts"
import { jsonPrinter, type Printer, TextPrinter } from "./printer.ts"
import type { Command } from "./program.ts"
import { Questions } from "./questions.ts"
import { closedPipeCode, Output, onClosedPipe, type Terminal } from "./terminal.ts"

const spec = command({
  name: "run",
  operands: "PROMPT...",
  operandsMax: 1000,
  about: "Sends a prompt and shows the answer as it comes. A prompt of - is read from the input.",
  options: {
    session: { type: "string", short: "s", value: "ID", help: "in this session; else in a new one" },
    continue: { type: "boolean", short: "c", help: "in the session of this directory that was used last" },
    agent: { type: "string", value: "NAME", help: "who answers" },
    model: { type: "string", short: "m", value: "MODEL", help: "which model, as provider/model" },
    directory: { type: "string", value: "DIR", help: "where a new session works; here if absent" },
    server: { type: "string", value: "URL", help: "asks a server that runs, instead of opening Stemma here" },
    json: { type: "boolean", help: "a line of JSON for each event instead of the text" },
  },
  more: `The answer goes to the output, what tools do to the error output. On a terminal you are asked for permission; without one,
what must be asked is refused. Ctrl-C stops the answer.
Exit code: 0 when it was answered, 1 when that failed, 130 after Ctrl-C.`,
})

type Values = OptionValues<typeof spec.options>

/** `stemma run "prompt"`: a client of a server, in this process or elsewhere, and nothing more. */
export const run: Command = async (args, program) => {
  const parsed = parseCommand(spec, args)
  const { terminal } = program
  if (!parsed) {
    terminal.output.write(helpOf(spec))
    return 0
  }
  const { values, operands } = parsed
  if (values.session !== undefined && values.continue) {
    throw new StemmaError("invalid", "Give --session or --continue, not both.")
  }
  const prompt = await promptOf(operands, terminal)
  const directory = await realOr(resolve(program.directory, values.directory ?? "."))
  const isInteractive = terminal.input.isTTY === true && terminal.error.isTTY === true
  using stop = new Stop()
  await using connected = await connect(program, { server: values.server, directory, isInteractive })
  const session = await chooseSession(connected, { values, directory })
  const output = new Output(terminal.output)
  const printer: Printer = values.json ? jsonPrinter(output, terminal) : new TextPrinter(output, terminal)
  await tellNotices(connected.client, { session, printer })
  const client = connected.client.session(session.id)
  onClosedPipe(terminal.output, () => stop.now(closedPipeCode))
  stop.onStop = () => {
    connected.hurry()
    abort(client, printer)
  }
  const questions = isInteractive ? new Questions(terminal) : undefined
  const { agent, model } = values
  const message = await stop.orElse(
    new Conversation(client, { printer, questions }).prompt({
      text: prompt,
      ...(agent !== undefined && { agent }),
      ...(model !== undefined && { model }),
    }),
  )
  return stop.code ?? outcome(message, printer)
}

async function promptOf(operands: readonly string[], { input }: Terminal): Promise<string> {
  const isRead = operands.length === 0 ? !input.isTTY : operands.length === 1 && operands[0] === "-"
  const prompt = (isRead ? await text(input) : operands.join(" ")).trim()
  if (prompt !== "") return prompt
  throw new StemmaError("invalid", 'There is no prompt. Write it behind the command: stemma run "list files"')
}

async function chooseSession(
  { client, isHere }: Connected,
  { values, directory }: { values: Values; directory: string },
): Promise<Session> {
  if (values.session !== undefined) return client.session(values.session).info()
  // A server on another machine has directories of its own.
  const place = isHere || values.directory !== undefined ? { directory } : {}
  if (!values.continue) return client.sessions.create(place)
  const { items } = await client.sessions.list({ ...place, parentID: "none", archived: false, limit: 1 })
  if (items[0]) return items[0]
  throw new StemmaError(
    "not_found",
    "There is no session here to continue. Leave out --continue to begin one.",
  )
}

/** What of the config was ignored, and in which session the answer is. */
async function tellNotices(
  client: Client,
  { session, printer }: { session: Session; printer: Printer },
): Promise<void> {
  const { notices, model } = await client.place.project({ directory: session.directory })
  for (const notice of notices) printer.note(notice)
  printer.note(`Session ${session.id} in ${session.directory}, ${model} unless told otherwise.`)
}

function abort(session: SessionClient, printer: Printer): void {
  session.abort({ reason: "A person stopped it on the terminal." }).catch((error: unknown) => {
    printer.note(`It could not be stopped: ${error instanceof Error ? error.message : String(error)}`)
  })
}

function outcome(message: Message | undefined, printer: Printer): number {
  if (message?.role !== "assistant") return 1
  if (message.error) {
    printer.note(message.error.data.message ?? message.error.name)
    return 1
  }
  if (message.finish !== "rejected") return 0
  printer.note("You said no, so it ended here.")
  return 1
}

/** Not SIGHUP: whoever starts it with nohup wants it to go on. */
const signals = { SIGINT: 130, SIGTERM: 143 } as const
const stopMs = 5000

/** What a person says who wants it to end: the first time the run is stopped, the second time the process ends. */
class Stop implements Disposable {
  /** The exit code, once it was said. */
  code: number | undefined
  /** Undefined until there is something to stop. */
  onStop: (() => void) | undefined
  readonly #said = Promise.withResolvers<void>()
  readonly #listeners = Object.entries(signals).map(([signal, code]) => {
    const listener = () => this.now(code)
    process.on(signal, listener)
    return { signal, listener }
  })

  now(code: number): void {
    if (this.code !== undefined || !this.onStop) process.exit(code)
    this.code = code
    this.onStop()
    this.#said.resolve()
  }

  /** What the work gives; undefined if it was stopped and did not end soon. A failure after that is none. */
  async orElse<T>(work: Promise<T>): Promise<T | undefined> {
    const late = this.#said.promise.then(
      () => new Promise<undefined>((resolve) => setTimeout(resolve, stopMs, undefined).unref()),
    )
    try {
      return await Promise.race([work, late])
    } catch (error) {
      if (this.code === undefined) throw error
      return undefined
    }
  }

  [Symbol.dispose](): void {
    for (const { signal, listener } of this.#listeners) process.off(signal, listener)
  }
}

async function realOr(path: string): Promise<string> {
  return realpath(path).catch(() => path)
}
