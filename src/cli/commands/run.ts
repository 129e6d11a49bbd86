import { realpath } from "node:fs/promises"
import { resolve } from "node:path"
import { text } from "node:stream/consumers"
import type { Client, SessionClient } from "../../client/index.ts"
import { type Message, type Session, StemmaError } from "../../protocol/index.ts"
import { command, helpOf, type OptionValues, parseCommand } from "../arguments.ts"
import { checkChoices } from "../choices.ts"
import { type Connected, connect } from "../connect.ts"
import { Conversation } from "../conversation.ts"
import { checkDirectory } from "../directory.ts"
import type { Command } from "../program.ts"
import { outlivesTerminal } from "../terminal/hangup.ts"
import { jsonPrinter, type Printer, TextPrinter } from "../terminal/printer.ts"
import { Questions } from "../terminal/questions.ts"
import { Output, onLostOutput, type Terminal } from "../terminal/terminal.ts"

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
Exit code: 0 when it was answered, also if a tool was refused, 1 when that failed, 130 after Ctrl-C, 143 after SIGTERM. A
terminal that closes stops it too, with 129, unless it was started with nohup.`,
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
  const directory = await realOr(resolve(program.directory, values.directory ?? "."))
  // Those of a server may be on another machine, even if its address looks like this one.
  if (values.server === undefined) checkDirectory(directory)
  const prompt = await promptOf(operands, terminal)
  const isInteractive = terminal.input.isTTY === true && terminal.error.isTTY === true
  using stop = new Stop(terminal)
  await using connected = await connect(program, { server: values.server, directory, isInteractive })
  const { session, isNew } = await chooseSession(connected, { values, directory })
  const client = connected.client.session(session.id)
  try {
    const output = new Output(terminal.output)
    const printer: Printer = values.json ? jsonPrinter(output, terminal) : new TextPrinter(output, terminal)
    await tellNotices(connected.client, { session, printer })
    stop.onStop = () => {
      connected.hurry()
      abort(client, printer)
    }
    // Whoever stopped it may have stopped its reader with the same key.
    onLostOutput(terminal.output, ({ exitCode }) => stop.code === undefined && stop.now(exitCode))
    const questions = isInteractive ? new Questions(terminal) : undefined
    const { agent, model } = values
    const conversation = new Conversation(client, { printer, questions })
    const message = await stop.orElse(
      conversation.prompt({
        text: prompt,
        ...(agent !== undefined && { agent }),
        ...(model !== undefined && { model }),
      }),
    )
    conversation.close()
    return stop.code ?? outcome(message, printer)
  } catch (error) {
    if (isNew && isRefusal(error)) await removeEmpty(client)
    throw error
  }
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
): Promise<{ session: Session; isNew: boolean }> {
  // A server on another machine has directories of its own.
  const place = isHere || values.directory !== undefined ? { directory } : {}
  const found = await findSession(client, { values, place })
  const { agent, model } = values
  await checkChoices(client, { agent, model, where: found ? { directory: found.directory } : place })
  return { session: found ?? (await client.sessions.create(place)), isNew: !found }
}

/** Undefined if a new one is wanted. */
async function findSession(
  client: Client,
  { values, place }: { values: Values; place: { directory?: string } },
): Promise<Session | undefined> {
  if (values.session !== undefined) return client.session(values.session).info()
  if (!values.continue) return undefined
  let cursor: string | undefined
  do {
    const query = { ...place, parentID: "none" as const, archived: false, limit: 20 }
    const page = await client.sessions.list({ ...query, ...(cursor !== undefined && { cursor }) })
    // One in which nothing was said is nothing to continue.
    const last = page.items.find(({ history }) => history.count > 0)
    if (last) return last
    cursor = page.next
  } while (cursor !== undefined)
  throw new StemmaError(
    "not_found",
    "There is no session here to continue. Leave out --continue to begin one.",
  )
}

const refusals = ["invalid", "not_found", "denied", "conflict", "unsupported"] as const

/** A server that only cannot be reached may have taken the prompt. */
function isRefusal(error: unknown): boolean {
  return refusals.some((code) => StemmaError.is(error, code))
}

/** What nobody wanted is not kept. */
async function removeEmpty(session: SessionClient): Promise<void> {
  try {
    if ((await session.info()).history.count === 0) await session.remove()
  } catch {
    // The failure that led here is the one to tell.
  }
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
  const signal = AbortSignal.timeout(stopMs)
  session.abort({ reason: "A person stopped it on the terminal." }, { signal }).catch((error: unknown) => {
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

const signals = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const
const stopMs = 5000

/** What a person says who wants it to end: the first time the run is stopped, the second time the process ends. */
class Stop implements Disposable {
  /** The exit code, once it was said. */
  code: number | undefined
  /** Undefined until there is something to stop. */
  onStop: (() => void) | undefined
  readonly #terminal: Terminal
  readonly #said = Promise.withResolvers<void>()
  readonly #listeners = Object.entries(signals).map(([signal, code]) => {
    const listener = () => {
      if (signal !== "SIGHUP" || this.#isHangup()) this.now(code)
    }
    process.on(signal, listener)
    return { signal, listener }
  })

  constructor(terminal: Terminal) {
    this.#terminal = terminal
  }

  now(code: number): void {
    if (this.code !== undefined || !this.onStop) process.exit(code)
    this.code = code
    this.onStop()
    this.#said.resolve()
  }

  /** A terminal that closes may say so more than once. */
  #isHangup(): boolean {
    return this.code === undefined && !outlivesTerminal(this.#terminal)
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
