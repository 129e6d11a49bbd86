import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { onStop } from "../on-stop.ts"

/** A process of the benchmark: it prepares, waits for its order, and answers once. */
export interface Child<Answer> extends AsyncDisposable {
  /** Resolves when it has prepared. */
  ready: Promise<void>
  /** Lets the child work for this long; returns its answer. */
  go(seconds: number): Promise<Answer>
}

export function startChild<Answer>(script: string, args: readonly string[]): Child<Answer> {
  const path = fileURLToPath(new URL(`./children/${script}`, import.meta.url))
  const child = spawn(process.execPath, ["--expose-gc", path, ...args], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    serialization: "advanced",
  })
  const forget = onStop(() => child.kill("SIGKILL"))
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()))
  const nextMessage = () =>
    new Promise<unknown>((resolve, reject) => {
      child.once("message", resolve)
      child.once("error", reject)
      child.once("exit", (code) => reject(new Error(`${script} ended with ${code} before it answered.`)))
    })
  const ready = nextMessage().then(() => {})
  ready.catch(() => {})
  return {
    ready,
    async go(seconds) {
      const answer = nextMessage()
      child.send({ seconds })
      return (await answer) as Answer
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL")
      await exited
      forget()
    },
  }
}

/** The child's side: prepares, waits for its order, works, answers, and ends. */
export async function answerParent<Answer>(work: (seconds: number) => Promise<Answer>): Promise<void> {
  // Without a parent no process reads the answer.
  const orphaned = () => process.exit(1)
  process.once("disconnect", orphaned)
  const order = new Promise<{ seconds: number }>((resolve) => process.once("message", resolve))
  process.send!("ready")
  const { seconds } = await order
  const answer = await work(seconds)
  await new Promise<void>((resolve) => process.send!(answer as object, () => resolve()))
  process.off("disconnect", orphaned)
  process.disconnect()
}
