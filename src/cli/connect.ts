import { type Client, createClient } from "../client/index.ts"
import { dataDirectory } from "../config/paths.ts"
import { findToken } from "../config/secrets/token.ts"
import { StemmaError } from "../protocol/index.ts"
import type { Program } from "./program.ts"
import { shownLine } from "./terminal/terminal.ts"

/** A way to a server, which may be in this very process. */
export interface Connected extends AsyncDisposable {
  client: Client
  /** True if the server's files are those of this machine. */
  isHere: boolean
  /** What still runs when this is closed is cut off instead of waited for. */
  hurry(): void
}

/** The server of an address, or one for this process alone that nobody else can reach. */
export async function connect(
  program: Program,
  options: { server: string | undefined; directory: string; isInteractive: boolean },
): Promise<Connected> {
  return options.server === undefined ? open(program, options) : reach(program, options.server)
}

async function open(
  { terminal, openStemma }: Program,
  { directory, isInteractive }: { directory: string; isInteractive: boolean },
): Promise<Connected> {
  const onWarning = (error: unknown) => {
    const text = error instanceof Error ? error.message : String(error)
    terminal.error.write(`${shownLine(text, 1000)}\n`)
  }
  const [{ createServer }, stemma] = await Promise.all([
    import("../server/index.ts"),
    openStemma({ directory, env: terminal.env, onWarning }),
  ])
  const server = createServer(stemma, { interactive: isInteractive, onWarning })
  let isHurried = false
  return {
    client: createClient({ fetch: server.app.fetch }),
    isHere: true,
    hurry() {
      isHurried = true
    },
    async [Symbol.asyncDispose]() {
      await server.close()
      const closing = stemma.close()
      // The second call is the one that does not wait.
      await (isHurried ? stemma.close() : closing)
    },
  }
}

async function reach({ terminal: { env } }: Program, address: string): Promise<Connected> {
  const url = URL.parse(address)
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new StemmaError("invalid", "--server takes an address such as http://127.0.0.1:4096.")
  }
  const isHere = /^(localhost|\[::1\]|127(\.\d+){3})$/.test(url.hostname)
  const printed = new URLSearchParams(url.hash.slice(1)).get("token")
  // The token in the file is for the server on this machine, and told to no other.
  const found = printed ?? (isHere || env.STEMMA_TOKEN ? await ownToken(env) : undefined)
  return {
    client: createClient({ baseUrl: address, ...(found !== undefined && { token: found }) }),
    isHere,
    hurry() {},
    async [Symbol.asyncDispose]() {},
  }
}

async function ownToken(env: Record<string, string | undefined>): Promise<string | undefined> {
  return (await findToken({ env, dataDirectory: dataDirectory(env) }))?.value
}
