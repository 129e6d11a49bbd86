import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { type ModelServer, startModelServer } from "../support/model-server/server.ts"

const stemmaProgram = fileURLToPath(new URL("../../bin/stemma.js", import.meta.url))
const startMs = 30_000

export const token = "a-token-for-clients-0123456789"

export interface ClientScene extends AsyncDisposable {
  /** The address of `stemma serve`. */
  url: string
  model: ModelServer
  /** A git repository with one commit: README.md and src/app.ts. */
  project: string
  /** The environment of a client: its own directories, and no requests but to loopback. */
  env: Record<string, string>
}

/** A model server, a project and `stemma serve` as a person starts it, all in a temporary directory. */
export async function clientScene(): Promise<ClientScene> {
  const root = await mkdtemp(join(tmpdir(), "stemma-clients-"))
  const project = join(root, "project")
  await makeProject(project)
  const model = await startModelServer()
  const config = {
    ...model.config("openai"),
    title: false,
    permission: { bash: "ask", edit: "allow" },
    command: { shout: { template: "echo $ARGUMENTS!", description: "Says it loudly" } },
  }
  await mkdir(join(root, "config"))
  await writeFile(join(root, "config", "stemma.json"), JSON.stringify(config))
  const base = {
    PATH: process.env.PATH ?? "",
    LANG: "C.UTF-8",
    TERM: "xterm-256color",
    COLORTERM: "truecolor",
  }
  const server = spawn(
    process.execPath,
    [stemmaProgram, "serve", "--port", "0", "--quiet", "--directory", project],
    {
      cwd: root,
      stdio: ["ignore", "pipe", "inherit"],
      env: {
        ...base,
        HOME: join(root, "home"),
        STEMMA_DATA: join(root, "data"),
        STEMMA_CONFIG: join(root, "config"),
        STEMMA_TOKEN: token,
      },
    },
  )
  const url = await addressOf(server)
  return {
    url,
    model,
    project,
    env: {
      ...base,
      HOME: join(root, "client"),
      OPENCODE_DISABLE_AUTOUPDATE: "1",
      OPENCODE_DISABLE_MODELS_FETCH: "1",
      OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
      OPENCODE_DISABLE_SHARE: "1",
      OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
    },
    async [Symbol.asyncDispose]() {
      server.kill("SIGKILL")
      if (server.exitCode === null && server.signalCode === null) await once(server, "exit")
      await model.close()
      await rm(root, { recursive: true, force: true })
    },
  }
}

async function makeProject(directory: string): Promise<void> {
  await mkdir(join(directory, "src"), { recursive: true })
  await writeFile(join(directory, "README.md"), "# A project\n")
  await writeFile(join(directory, "src", "app.ts"), 'export const greeting = "hello"\n')
  const git = (...args: string[]) => execFileSync("git", args, { cwd: directory, stdio: "ignore" })
  git("init", "--quiet", "--initial-branch=trunk")
  git("add", ".")
  git("-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "--quiet", "-m", "first")
}

async function addressOf(server: ChildProcess): Promise<string> {
  let text = ""
  const timer = setTimeout(() => server.kill("SIGKILL"), startMs)
  try {
    for await (const chunk of server.stdout!) {
      text += String(chunk)
      const found = /http:\/\/\S+/.exec(text)
      if (found) return found[0]
    }
  } finally {
    clearTimeout(timer)
  }
  throw new Error(`stemma serve did not start: ${text}`)
}
