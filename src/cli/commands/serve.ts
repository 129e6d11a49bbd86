import { resolve } from "node:path"
import { setFlagsFromString } from "node:v8"
import { configDirectory, dataDirectory } from "../../config/paths.ts"
import { openToken, type Token, tokenVariable } from "../../config/secrets/token.ts"
import { readServerConfig } from "../../config/server-config.ts"
import { version } from "../../protocol/index.ts"
import type { Stemma } from "../../run/index.ts"
import type { ServerOptions, StemmaServer } from "../../server/index.ts"
import { command, helpOf, type OptionValues, parseCommand, wholeNumber } from "../arguments.ts"
import { checkDirectory } from "../directory.ts"
import type { Command, Program } from "../program.ts"
import { outlivesTerminal } from "../terminal/hangup.ts"
import { shownLine, type Terminal } from "../terminal/terminal.ts"

const spec = command({
  name: "serve",
  about: "Serves sessions over HTTP, and goes on with what a process before it left.",
  options: {
    port: { type: "string", value: "PORT", help: "4096 if absent; 0 takes any that is free" },
    host: { type: "string", value: "HOST", help: "the address to listen on; 127.0.0.1 if absent" },
    "no-auth": { type: "boolean", help: "asks for no token; only on loopback" },
    directory: { type: "string", value: "DIR", help: "where new sessions work unless they say otherwise" },
    "public-url": {
      type: "string",
      value: "URL",
      help: "the address that people outside use, for shared sessions",
    },
    quiet: { type: "boolean", help: "prints the address and nothing else, not even the token" },
  },
  more: `The token is ${tokenVariable} of the environment, else the file "token" in the data directory, which is made on first use.
Ctrl-C or SIGTERM ends it: what runs gets a few seconds; a second one cuts it off, and the next start goes on with it. So does
a terminal that closes, unless it was started with nohup.`,
})

type Values = OptionValues<typeof spec.options>

/** `stemma serve`: ready means ready; a signal drains. */
export const serve: Command = async (args, program) => {
  const parsed = parseCommand(spec, args)
  const { terminal } = program
  if (!parsed) {
    terminal.output.write(helpOf(spec))
    return 0
  }
  const { values } = parsed
  const port = wholeNumber(values.port, { option: "port", min: 0, max: 65_535 }) ?? 4096
  const host = values.host ?? "127.0.0.1"
  const directory = resolve(program.directory, values.directory ?? ".")
  checkDirectory(directory)
  using signals = new Signals(terminal)

  // Of what is made while code is loaded nearly all stays. The engine takes that for a sign that its space for new objects is
  // too small and would keep several megabytes for good.
  setFlagsFromString("--semi-space-growth-factor=1")
  const { server, stemma, token } = await start({ ...program, directory }, values)
  try {
    // Whoever stops it while it starts wants no server.
    if (signals.code !== undefined) return signals.code
    const { url } = await server.listen({ port, host })
    setFlagsFromString("--semi-space-growth-factor=2")
    if (!signals.started()) return signals.code!
    terminal.output.write(values.quiet ? `${url}\n` : greeting({ url, token, program }))
    keepCompiledCode()
    await signals.isOver
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
  for (const notice of config.notices) terminal.error.write(`${shownLine(notice, 1000)}\n`)
  const onWarning = (error: unknown) => {
    const text = error instanceof Error ? error.message : String(error)
    terminal.error.write(`${shownLine(redacted(text, token), 1000)}\n`)
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
    recover: true,
    // With the token among them, it is a secret like a key: tools do not get it, and texts are shown without it.
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

/** How long a start that nobody wants any more may take to come to an end in which nothing is left open. */
const lastStartMs = 1000

/**
 * The first signal ends the work in order, the second cuts off what runs, the third ends the process. While it still starts the
 * first one ends it soon, and the second at once.
 */
class Signals implements Disposable {
  /** What a start that was stopped ends with. */
  code: number | undefined
  onCut: () => void = () => process.exit(this.code)
  readonly #terminal: Terminal
  readonly #over = Promise.withResolvers<void>()
  #count = 0
  #isStarted = false
  #deadline: NodeJS.Timeout | undefined

  constructor(terminal: Terminal) {
    this.#terminal = terminal
    for (const signal of endSignals) process.on(signal, this.#take)
  }

  /** Resolves with the first signal. */
  get isOver(): Promise<void> {
    return this.#over.promise
  }

  /** Says that it listens. False if a signal came before. */
  started(): boolean {
    this.#isStarted = this.code === undefined
    return this.#isStarted
  }

  /** From now on it ends in order. */
  draining(onCut: () => void): void {
    clearTimeout(this.#deadline)
    this.#isStarted = true
    this.onCut = onCut
    if (this.code !== undefined) onCut()
  }

  readonly #take = (signal: EndSignal) => {
    // A terminal that closes may say so more than once.
    if (signal === "SIGHUP" && (this.#count > 0 || outlivesTerminal(this.#terminal))) return
    this.#count++
    if (this.#count > 2) process.exit(1)
    if (this.#count === 2) this.onCut()
    else if (this.#isStarted) this.#over.resolve()
    else this.#endStart(signalCodes[signal])
  }

  #endStart(code: number): void {
    this.code = code
    this.#terminal.error.write("It was told to end while it still started.\n")
    this.#deadline = setTimeout(() => process.exit(code), lastStartMs)
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#deadline)
    for (const signal of endSignals) {
      process.off(signal, this.#take)
      // What is over is not killed on its last few milliseconds.
      if (!process.listeners(signal).includes(ignore)) process.on(signal, ignore)
    }
  }
}

async function drain(parts: { server: StemmaServer; stemma: Stemma; signals: Signals }): Promise<void> {
  const { server, stemma, signals } = parts
  const cut = () => {
    // The second call of close is the one that does not wait.
    void stemma.close().catch(() => {})
    void stemma.close().catch(() => {})
  }
  signals.draining(cut)
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
  const stemma = nameOf(env)
  const secret = token?.path ? `$(cat ${quoted(token.path)})` : `$${tokenVariable}`
  const header = token ? ` -H "Authorization: Bearer ${secret}"` : ""
  // Whoever set the variable knows it; where nobody looks, the output is a log.
  const isShown = token && (token.path !== undefined || program.terminal.output.isTTY)
  const fragment = isShown ? `/#token=${encodeURIComponent(token.value)}` : "/"
  const where = token && !token.path ? `, with the same ${tokenVariable}` : ""
  return `Stemma ${version} serves at ${url}${fragment}

Try it in another terminal${where}:
  curl${header} ${url}/sessions
  ${stemma} run --server ${url} "list files"

What it can do: ${url}/docs. Ctrl-C ends it.
`
}

/** How the program is called from where it was started: in a checkout or a project it has no name in the PATH. */
function nameOf(env: Terminal["env"]): string {
  if (/^(start|stemma)$/.test(env.npm_lifecycle_event ?? "")) return "npm run -s stemma --"
  return env.npm_command === "exec" ? "npx stemma" : "stemma"
}

function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`
}

function redacted(text: string, token: Token | undefined): string {
  return token ? text.replaceAll(token.value, "[secret]") : text
}

/** A server is often killed; what Node has compiled is kept for its next start all the same. */
function keepCompiledCode(): void {
  setTimeout(() => {
    import("node:module").then(({ flushCompileCache }) => flushCompileCache()).catch(() => {})
  }, 1000).unref()
}
