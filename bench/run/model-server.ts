import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { onStop } from "../on-stop.ts"

const script = fileURLToPath(new URL("../../test/support/model-server/main.ts", import.meta.url))

export interface ServerProcess extends AsyncDisposable {
  baseURL: string
}

/** The test server in a separate process, so that its cost is not counted. */
export async function startServer(): Promise<ServerProcess> {
  const child = spawn(process.execPath, [script], { stdio: ["pipe", "pipe", "inherit"] })
  const forget = onStop(() => child.kill("SIGKILL"))
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()))
  const line = await new Promise<string>((resolve, reject) => {
    child.stdout.once("data", (bytes: Buffer) => resolve(bytes.toString()))
    child.once("exit", (code) => reject(new Error(`The model server ended with ${code}.`)))
  })
  const { url } = JSON.parse(line) as { url: string }
  return {
    baseURL: `${url}/v1`,
    async [Symbol.asyncDispose]() {
      child.stdin.end()
      child.kill("SIGKILL")
      await exited
      forget()
    },
  }
}
