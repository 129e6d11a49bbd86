import { join } from "node:path"
import { createID, type SessionHandle } from "../../src/index.ts"
import { startChild } from "./child-process.ts"
import type { PromptGo } from "./children/prompt-child.ts"
import type { RunScene } from "./run-scene.ts"

export interface KilledPrompt extends Pick<PromptGo, "prompt" | "command" | "answer" | "dieAt"> {
  config?: Record<string, unknown>
}

/** Another process sends a prompt to a new session and is killed as soon as `isTime`, or kills itself at `dieAt`. */
export async function killedPrompt(
  scene: RunScene,
  { config, ...given }: KilledPrompt,
  isTime?: (session: SessionHandle) => Promise<void>,
): Promise<{ session: SessionHandle; messageID: string }> {
  const { directory, data, stemma } = scene
  const session = await stemma.sessions.create()
  const messageID = createID("message", Date.now())
  await using child = startChild("prompt-child.ts", { output: join(data, `child-${messageID}`) })
  await child.ready
  child.process.send({
    ...given,
    directory,
    data,
    config: { model: "scripted/m", title: false, permission: { edit: "allow", bash: "allow" }, ...config },
    sessionID: session.id,
    messageID,
  } satisfies PromptGo)
  if (isTime) {
    await isTime(session)
    child.process.kill("SIGKILL")
  }
  const { signal } = await child.ended
  if (signal !== "SIGKILL") throw new Error(`It ended by itself: ${child.errors()}`)
  return { session, messageID }
}
