import { resolve } from "node:path"
import { configDirectory, dataDirectory } from "../../config/paths.ts"
import { openToken, type Token, tokenVariable } from "../../config/secrets/token.ts"
import { readServerConfig } from "../../config/server-config.ts"
import { version } from "../../protocol/index.ts"
import type { Stemma } from "../../run/index.ts"
import type { ServerOptions, StemmaServer } from "../../server/index.ts"
import { command, helpOf, type OptionValues, parseCommand, wholeNumber } from "../arguments.ts"
import { checkDirectory } from "../directory.ts"
import { asCalled, type Command, type Program, programName } from "../program.ts"
import { outlivesTerminal } from "../terminal/hangup.ts"
import { printableLine, type Terminal } from "../terminal/terminal.ts"

const spec = command({
  name: "serve",
  about: "Serves sessions over HTTP, and continues runs that an earlier process left unfinished.",
  options: {
    port: { type: "string", value: "PORT", help: "the port; default: 4096; 0: any free port" },
    host: { type: "string", value: "HOST", help: "the address to listen on; default: 127.0.0.1" },
    "no-auth": { type: "boolean", help: "require no token; only on a loopback address" },
    directory: { type: "string", value: "DIR", help: "the default directory of new sessions" },
    "public-url": {
      type: "string",
      value: "URL",
      help: "the public address of this server, for links to shared sessions",
    },
    quiet: { type: "boolean", help: "print only the address, not the token" },
  },
  more: `The token is the environment variable ${tokenVariable}, or else the file "token" in the data directory, which is
created on first use.
Ctrl-C or SIGTERM ends the server: runs get a few seconds to finish. A second signal cuts them off, and the next start
continues them. Closing the terminal ends the server too, unless it was started with nohup.`,
})

type Values = OptionValues<typeof spec.options>

/** `stemma serve`: prints the address once the server accepts requests, and drains on a signal. */
export const serve: Command = async (args, program) => {
  const parsed = parseCommand(spec, args)
  const { terminal } = program
  if (!parsed) {
    terminal.output.write(asCalled(helpOf(spec), terminal.env))
    return 0
  }
  const { values } = parsed
  const port = wholeNumber(values.port, { option: "port", min: 0, max: 65_535 }) ?? 4096
  const host = values.host ?? "127.0.0.1"
  const directory = resolve(program.directory, values.directory ?? ".")
  checkDirectory(directory)
  using signals = new Signals(terminal)

  const { server, stemma, token } = await start({ ...program, directory }, values)
  try {
    // A signal during the start means that no server is wanted.
    if (signals.code !== undefined) return signals.code
    const { url } = await server.listen({ port, host })
    program.endStart({ isServer: true })
    if (!signals.markStarted()) return signals.code!
    // A process that cannot listen must not call a model, so runs are continued only now.
    stemma.recover()
    terminal.output.write(values.quiet ? `${url}\n` : greeting({ url, token, program }))
    prepareFirstTurn(stemma)
    keepCompiledCode(program)
    await signals.firstSignal
  } finally {
    await drain({ server, stemma, signals })
  }
  return 0
}

async function start(
  { terminal, directory, openStemma }: Program,
  values: Values,
): Promise<{ server: StemmaServer; stemma: Stemma; token: Token | undefined }> {
  const { env } = terminal
  const data = dataDirectory(env)
  const [{ createServer }, config, token] = await Promise.all([
    import("../../server/index.ts"),
    readServerConfig({ configDirectory: configDirectory(env), env }),
    values["no-auth"] ? undefined : openToken({ env, dataDirectory: data }),
  ])
  for (const notice of config.notices) terminal.error.write(`${printableLine(asCalled(notice, env), 1000)}\n`)
  const onWarning = (error: unknown) => {
    const text = error instanceof Error ? error.message : String(error)
    terminal.error.write(`${printableLine(withoutToken(text, token), 1000)}\n`)
  }
  const publicUrl = values["public-url"] ?? config.server.publicUrl
  const options: ServerOptions = {
    ...(token ? { token: token.value } : { auth: false }),
    ...(config.server.hosts && { hosts: config.server.hosts }),
    ...(config.server.origins && { origins: config.server.origins }),
    ...(publicUrl !== undefined && { publicUrl }),
    onWarning,
  }
  const stemma = await openStemma({
    directory,
    // With the token in `env` it counts as a secret: tools do not receive it, and texts are shown without it.
    env: { ...env, ...(token && { [tokenVariable]: token.value }) },
    onWarning,
  })
  try {
    return { server: createServer(stemma, options), stemma, token }
  } catch (error) {
    await stemma.close()
    throw error
  }
}

const signalCodes = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const
type EndSignal = keyof typeof signalCodes
const endSignals = Object.keys(signalCodes) as EndSignal[]

const ignore = () => {}

/** How long an interrupted start may take to close everything in order. */
const interruptedStartMs = 1000

/**
 * The first signal ends the work in order, the second cuts off runs, the third ends the process. During the start, the
 * first signal ends it soon and the second at once.
 */
class Signals implements Disposable {
  /** The exit code of a start that was interrupted. */
  code: number | undefined
  onCut: () => void = () => process.exit(this.code)
  readonly #terminal: Terminal
  readonly #firstSignal = Promise.withResolvers<void>()
  #count = 0
  #isStarted = false
  #deadline: NodeJS.Timeout | undefined

  constructor(terminal: Terminal) {
    this.#terminal = terminal
    for (const signal of endSignals) process.on(signal, this.#onSignal)
  }

  /** Resolves with the first signal. */
  get firstSignal(): Promise<void> {
    return this.#firstSignal.promise
  }

  /** Marks the server as started. False if a signal came before. */
  markStarted(): boolean {
    this.#isStarted = this.code === undefined
    return this.#isStarted
  }

  /** Marks the begin of the orderly end. `onCut` runs on the next signal. */
  startDraining(onCut: () => void): void {
    clearTimeout(this.#deadline)
    this.#isStarted = true
    this.onCut = onCut
    if (this.code !== undefined) onCut()
  }

  readonly #onSignal = (signal: EndSignal) => {
    // A closing terminal may send SIGHUP more than once.
    if (signal === "SIGHUP" && (this.#count > 0 || outlivesTerminal(this.#terminal))) return
    this.#count++
    if (this.#count > 2) process.exit(1)
    if (this.#count === 2) this.onCut()
    else if (this.#isStarted) this.#firstSignal.resolve()
    else this.#endStart(signalCodes[signal])
  }

  #endStart(code: number): void {
    this.code = code
    this.#terminal.error.write("The server was told to end while it was starting.\n")
    this.#deadline = setTimeout(() => process.exit(code), interruptedStartMs)
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#deadline)
    for (const signal of endSignals) {
      process.off(signal, this.#onSignal)
      // After the end, a late signal must not kill the process in its last milliseconds.
      if (!process.listeners(signal).includes(ignore)) process.on(signal, ignore)
    }
  }
}

async function drain(parts: { server: StemmaServer; stemma: Stemma; signals: Signals }): Promise<void> {
  const { server, stemma, signals } = parts
  const cut = () => {
    // The second call of `close` cuts off runs instead of waiting.
    void stemma.close().catch(() => {})
    void stemma.close().catch(() => {})
  }
  signals.startDraining(cut)
  await server.close()
  cut()
  await stemma.close()
}

function greeting({
  url,
  token,
  program,
}: {
  url: string
  token: Token | undefined
  program: Program
}): string {
  const { env } = program.terminal
  const stemma = programName(env)
  const secret = token?.path ? `$(cat ${shellQuoted(token.path)})` : `$${tokenVariable}`
  const header = token ? ` -H "Authorization: Bearer ${secret}"` : ""
  // A token from the environment is known to the user. Without a terminal, the output may be a log file.
  const isShown = token && (token.path !== undefined || program.terminal.output.isTTY)
  const fragment = isShown ? `/#token=${encodeURIComponent(token.value)}` : "/"
  const where = token && !token.path ? `, with the same ${tokenVariable}` : ""
  return `Stemma ${version} serves at ${url}${fragment}

Try it in another terminal${where}:
  curl${header} ${url}/sessions
  ${stemma} run --server ${url} "list files"

API documentation: ${url}/docs. Press Ctrl-C to stop the server.
`
}

function shellQuoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`
}

function withoutToken(text: string, token: Token | undefined): string {
  return token ? text.replaceAll(token.value, "[secret]") : text
}

/** The wait between the first line of output and further work, so that a caller who waits for that line is not delayed. */
const prepareMs = 50

/** Loads what the first turn needs while there is nothing else to do. A problem is reported by the turn that meets it. */
function prepareFirstTurn(stemma: Stemma): void {
  const prepare = async () => {
    // A turn that already runs has loaded everything.
    if (stemma.statuses().size > 0) return
    const engine = await import("../../run/index.ts")
    await engine.prepareFirstTurn(await stemma.project())
  }
  setTimeout(() => prepare().catch(() => {}), prepareMs).unref()
}

/** A server is often killed, so its compiled code is written now and not only at exit. */
function keepCompiledCode(program: Program): void {
  setTimeout(() => {
    program.keepCompiledCode().catch(() => {})
  }, 1000).unref()
}
