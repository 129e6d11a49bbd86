import { execFile, spawn } from "node:child_process"
import { promisify } from "node:util"
import { onStop } from "../on-stop.ts"

export interface ServerProcess extends AsyncDisposable {
  url: string
  pid: number
}

/** Starts a program that prints its address once it listens. */
export async function startServer(
  args: string[],
  { env, cwd }: { env: Record<string, string>; cwd: string },
): Promise<ServerProcess> {
  const child = spawn(process.execPath, args, { env, cwd, stdio: ["ignore", "pipe", "inherit"] })
  const forget = onStop(() => child.kill("SIGKILL"))
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()))
  const line = await new Promise<string>((resolve, reject) => {
    child.stdout.once("data", (bytes: Buffer) => resolve(bytes.toString()))
    child.once("exit", (code) => reject(new Error(`${args[0]} ended with ${code}.`)))
  })
  return {
    url: line.trim(),
    pid: child.pid!,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM")
      await exited
      forget()
    },
  }
}

/** The resident memory of a process, as `ps` reports it. */
export async function residentMB(pid: number): Promise<number> {
  const { stdout } = await promisify(execFile)("ps", ["-o", "rss=", "-p", String(pid)])
  return (Number(stdout) * 1024) / 1e6
}
