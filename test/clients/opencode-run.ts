import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { type ClientScene, token } from "./scene.ts"

const runMs = 60_000

/** One `opencode run --attach`, as a script calls it. Fails unless it prints the whole answer. */
export async function runAttached(program: string, scene: ClientScene, round: number): Promise<void> {
  const answer = `Answer ${round} ${"has many words ".repeat(40)}and its end is here.`
  scene.model.script({ text: answer })
  const args = ["run", "--attach", scene.url, "--password", token, `Question ${round}`]
  const running = promisify(execFile)(program, args, {
    cwd: scene.project,
    env: scene.env,
    timeout: runMs,
  })
  running.child.stdin?.end()
  const { stdout } = await running
  if (stdout.trim() !== answer) throw new Error(`It printed ${JSON.stringify(stdout)} instead of the answer.`)
}
