import { type Client, createClient } from "../client/index.ts"
import { dataDirectory } from "../config/paths.ts"
import { findToken } from "../config/secrets/token.ts"
import { StemmaError } from "../protocol/index.ts"
import type { Program } from "./program.ts"
import { printableLine } from "./terminal/terminal.ts"

/** How long the process stays after its answer, for the title of a new session. */
const titleGraceMs = 3000

/** A connection to a server, which may be in this process. */
export interface Connected extends AsyncDisposable {
  client: Client
  /** True if the server uses the files of this machine. */
  isHere: boolean
  /** On close, runs and titles are cut off instead of awaited. */
  cutOffOnClose(): void
}

/** The server at an address, or a private server inside this process. */
export async function connect(
  program: Program,
  options: { server: string | undefined; directory: string; isInteractive: boolean },
): Promise<Connected> {
  return options.server === undefined ? openHere(program, options) : connectTo(program, options.server)
}

async function openHere(
  { terminal, openStemma }: Program,
  { directory, isInteractive }: { directory: string; isInteractive: boolean },
): Promise<Connected> {
  const onWarning = (error: unknown) => {
    const text = error instanceof Error ? error.message : String(error)
    terminal.error.write(`${printableLine(text, 1000)}\n`)
  }
  const [{ createServer }, stemma] = await Promise.all([
    import("../server/index.ts"),
    openStemma({ directory, env: terminal.env, onWarning, timing: { titleGraceMs } }),
  ])
  const server = createServer(stemma, { interactive: isInteractive, onWarning })
  let isCutOff = false
  let closing: Promise<void> | undefined
  return {
    client: createClient({ fetch: server.app.fetch }),
    isHere: true,
    cutOffOnClose() {
      isCutOff = true
      // The second call of `close` cuts off what the first one waits for.
      if (closing) stemma.close().catch(() => {})
    },
    async [Symbol.asyncDispose]() {
      await server.close()
      closing = stemma.close()
      await (isCutOff ? stemma.close() : closing)
    },
  }
}

async function connectTo({ terminal: { env } }: Program, address: string): Promise<Connected> {
  const url = URL.parse(address)
  if (!url || !/^https?:$/.test(url.protocol)) {
    // The address is not repeated: it may contain a token or a password.
    throw new StemmaError("invalid", "--server takes an address such as http://127.0.0.1:4096.")
  }
  const isHere = /^(localhost|\[::1\]|127(\.\d+){3})$/.test(url.hostname)
  const printed = new URLSearchParams(url.hash.slice(1)).get("token")
  // The token in the file belongs to the server on this machine, and is sent to no other server.
  const found = printed ?? (isHere || env.STEMMA_TOKEN ? await ownToken(env) : undefined)
  return {
    client: createClient({ baseUrl: address, ...(found !== undefined && { token: found }) }),
    isHere,
    cutOffOnClose() {},
    async [Symbol.asyncDispose]() {},
  }
}

async function ownToken(env: Record<string, string | undefined>): Promise<string | undefined> {
  return (await findToken({ env, dataDirectory: dataDirectory(env) }))?.value
}
