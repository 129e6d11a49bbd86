import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { onStop } from "../on-stop.ts"

/** Runs a script of `children/` in a fresh process and returns its one answer. */
export async function askChild<Answer>(script: string, args: readonly string[]): Promise<Answer> {
  const path = fileURLToPath(new URL(`./children/${script}`, import.meta.url))
  const child = spawn(process.execPath, ["--expose-gc", path, ...args], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    serialization: "advanced",
  })
  const forget = onStop(() => child.kill("SIGKILL"))
  try {
    return await new Promise<Answer>((resolve, reject) => {
      let answer: Answer | undefined
      child.once("message", (message) => {
        answer = message as Answer
      })
      child.once("error", reject)
      child.once("exit", (code) => {
        if (code === 0 && answer !== undefined) resolve(answer)
        else reject(new Error(`${script} ended with ${code}${answer ? "" : " before it answered"}.`))
      })
    })
  } finally {
    forget()
  }
}

/** The child's side. */
export async function answerParent(answer: object): Promise<void> {
  await new Promise<void>((resolve) => process.send!(answer, () => resolve()))
  process.disconnect()
}
