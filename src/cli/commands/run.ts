import { resolve } from "node:path"
import { text } from "node:stream/consumers"
import type { Client, SessionClient } from "../../client/index.ts"
import { type Message, type Session, StemmaError } from "../../protocol/index.ts"
import { Allowances } from "../allowances.ts"
import { command, helpOf, type OptionValues, parseCommand } from "../arguments.ts"
import { checkChoices } from "../choices.ts"
import { type Connected, connect } from "../connect.ts"
import { Conversation } from "../conversation.ts"
import { checkDirectory, realPathOrSame } from "../directory.ts"
import { asCalled, type Command } from "../program.ts"
import { outlivesTerminal } from "../terminal/hangup.ts"
import { jsonPrinter, type Printer, TextPrinter } from "../terminal/printer.ts"
import { Questions } from "../terminal/questions.ts"
import { Output, onLostOutput, type Terminal } from "../terminal/terminal.ts"

const spec = command({
  name: "run",
  operands: "PROMPT...",
  operandsMax: 1000,
  about:
    "Sends a prompt and prints the answer while it is written. The prompt - reads the prompt from stdin.",
  options: {
    session: { type: "string", short: "s", value: "ID", help: "use this session instead of a new one" },
    continue: { type: "boolean", short: "c", help: "use the most recent session of this directory" },
    agent: { type: "string", value: "NAME", help: "the agent that answers" },
    model: { type: "string", short: "m", value: "MODEL", help: "the model that answers, as provider/model" },
    directory: {
      type: "string",
      value: "DIR",
      help: "the directory of a new session; default: the current one",
    },
    server: { type: "string", value: "URL", help: "send the prompt to this running server" },
    allow: {
      type: "string",
      multiple: true,
      value: "RULE",
      help: 'answer yes to a permission question of this prompt: edit, "bash:npm test *"; repeatable',
    },
    strict: { type: "boolean", help: "exit with 3 if the prompt was answered but a tool call was refused" },
    json: { type: "boolean", help: "print each event as a line of JSON instead of the text" },
  },
  more: `The answer goes to stdout. Tool calls and notes go to stderr. On a terminal, you are asked for permission. Without a
terminal, every request for permission is refused, except those that --allow names. --allow never allows what a rule
denies. Ctrl-C stops the answer.
Exit code: 0 if the prompt was answered, even if a tool was refused; 3 instead of 0 if a tool was refused and --strict is
given; 1 if the prompt failed; 130 after Ctrl-C; 143 after SIGTERM.
Closing the terminal stops the answer with 129, unless the command was started with nohup.`,
})

const refusedCode = 3

type Values = OptionValues<typeof spec.options>

/** `stemma run "prompt"`: only a client of a server, which is remote or in this process. */
export const run: Command = async (args, program) => {
  const parsed = parseCommand(spec, args)
  const { terminal } = program
  if (!parsed) {
    terminal.output.write(asCalled(helpOf(spec), terminal.env))
    return 0
  }
  const { values, operands } = parsed
  if (values.session !== undefined && values.continue) {
    throw new StemmaError("invalid", "Use either --session or --continue, not both.")
  }
  const allowances = new Allowances(values.allow ?? [])
  const directory = await realPathOrSame(resolve(program.directory, values.directory ?? "."))
  // A directory of a server may be on another machine, even if the server's address is local (a tunnel).
  if (values.server === undefined) checkDirectory(directory)
  const prompt = await promptOf(operands, terminal)
  const isInteractive = terminal.input.isTTY === true && terminal.error.isTTY === true
  using stop = new StopSignals(terminal)
  const canAnswer = isInteractive || !allowances.isEmpty
  await using connected = await connect(program, {
    server: values.server,
    directory,
    isInteractive: canAnswer,
  })
  const { session, isNew } = await chooseSession(connected, { values, directory })
  const client = connected.client.session(session.id)
  try {
    const output = new Output(terminal.output)
    const printer: Printer = values.json ? jsonPrinter(output, terminal) : new TextPrinter(output, terminal)
    await printNotices(connected.client, { session, printer, env: terminal.env })
    stop.onStop = () => {
      connected.cutOffOnClose()
      abortRun(client, printer)
    }
    // The key that stopped the run may have stopped the reader of the pipe too.
    onLostOutput(terminal.output, ({ exitCode }) => stop.code === undefined && stop.stop(exitCode))
    const questions = isInteractive ? new Questions(terminal) : undefined
    const { agent, model } = values
    const conversation = new Conversation(client, { printer, questions, allowances })
    const message = await stop.waitFor(
      conversation.prompt({
        text: prompt,
        ...(agent !== undefined && { agent }),
        ...(model !== undefined && { model }),
      }),
    )
    conversation.close()
    const code = stop.code ?? exitCodeOf(message, printer)
    if (code !== 0 || !values.strict || !conversation.wasRefused) return code
    printer.note("A tool call was refused, so the exit code is 3 (--strict).")
    return refusedCode
  } catch (error) {
    if (isNew && isRefusal(error)) await removeEmpty(client)
    throw error
  }
}

async function promptOf(operands: readonly string[], { input }: Terminal): Promise<string> {
  const isRead = operands.length === 0 ? !input.isTTY : operands.length === 1 && operands[0] === "-"
  const prompt = (isRead ? await text(input) : operands.join(" ")).trim()
  if (prompt !== "") return prompt
  throw new StemmaError("invalid", 'There is no prompt. Write it after the command: stemma run "list files"')
}

async function chooseSession(
  { client, isHere }: Connected,
  { values, directory }: { values: Values; directory: string },
): Promise<{ session: Session; isNew: boolean }> {
  // A server on another machine has its own directories.
  const location = isHere || values.directory !== undefined ? { directory } : {}
  const found = await findSession(client, { values, location })
  const { agent, model } = values
  await checkChoices(client, { agent, model, where: found ? { directory: found.directory } : location })
  return { session: found ?? (await client.sessions.create(location)), isNew: !found }
}

/** Undefined if a new session is wanted. */
async function findSession(
  client: Client,
  { values, location }: { values: Values; location: { directory?: string } },
): Promise<Session | undefined> {
  if (values.session !== undefined) return client.session(values.session).info()
  if (!values.continue) return undefined
  let cursor: string | undefined
  do {
    const query = { ...location, parentID: "none" as const, archived: false, limit: 20 }
    const page = await client.sessions.list({ ...query, ...(cursor !== undefined && { cursor }) })
    // A session without messages is not worth continuing.
    const last = page.items.find(({ history }) => history.count > 0)
    if (last) return last
    cursor = page.next
  } while (cursor !== undefined)
  throw new StemmaError(
    "not_found",
    "There is no session to continue in this directory. Leave out --continue to start one.",
  )
}

const refusals = ["invalid", "not_found", "denied", "conflict", "unsupported"] as const

/** Only these codes mean that the prompt was refused. A server that cannot be reached may have accepted it. */
function isRefusal(error: unknown): boolean {
  return refusals.some((code) => StemmaError.is(error, code))
}

/** Removes a session that was created for a refused prompt. */
async function removeEmpty(session: SessionClient): Promise<void> {
  try {
    if ((await session.info()).history.count === 0) await session.remove()
  } catch {
    // The caller reports the error of the prompt instead.
  }
}

/** Prints notices about the config, and the session that the answer is in. */
async function printNotices(
  client: Client,
  { session, printer, env }: { session: Session; printer: Printer; env: Terminal["env"] },
): Promise<void> {
  const { notices, model } = await client.place.project({ directory: session.directory })
  for (const notice of notices) printer.note(asCalled(notice, env))
  printer.note(`Session ${session.id} in ${session.directory}, default model ${model}.`)
}

function abortRun(session: SessionClient, printer: Printer): void {
  const signal = AbortSignal.timeout(stopMs)
  session.abort({ reason: "A person stopped it on the terminal." }, { signal }).catch((error: unknown) => {
    printer.note(`The run could not be stopped: ${error instanceof Error ? error.message : String(error)}`)
  })
}

function exitCodeOf(message: Message | undefined, printer: Printer): number {
  if (message?.role !== "assistant") return 1
  if (message.error) {
    printer.note(message.error.data.message ?? message.error.name)
    return 1
  }
  if (message.finish !== "rejected") return 0
  printer.note("You said no, so the run ended here.")
  return 1
}

const signalCodes = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const
const stopMs = 5000

/** Stop signals. The first one stops the run, the second one ends the process. */
class StopSignals implements Disposable {
  /** The exit code, set by the first stop signal. */
  code: number | undefined
  /** Undefined while there is no run to stop. */
  onStop: (() => void) | undefined
  readonly #terminal: Terminal
  readonly #stopped = Promise.withResolvers<void>()
  readonly #listeners = Object.entries(signalCodes).map(([signal, code]) => {
    const listener = () => {
      if (signal !== "SIGHUP" || this.#isHangup()) this.stop(code)
    }
    process.on(signal, listener)
    return { signal, listener }
  })

  constructor(terminal: Terminal) {
    this.#terminal = terminal
  }

  stop(code: number): void {
    if (this.code !== undefined || !this.onStop) process.exit(code)
    this.code = code
    this.onStop()
    this.#stopped.resolve()
  }

  /** A closing terminal may send SIGHUP more than once. */
  #isHangup(): boolean {
    return this.code === undefined && !outlivesTerminal(this.#terminal)
  }

  /** The result of the work. Undefined if the run was stopped and did not end soon; errors after a stop are ignored. */
  async waitFor<T>(work: Promise<T>): Promise<T | undefined> {
    const late = this.#stopped.promise.then(
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
