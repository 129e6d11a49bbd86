import type { PermissionRequest, SessionHandle, StemmaEvent } from "../../src/index.ts"
import { worker } from "./rights-scene.ts"
import { type RunSceneOptions, runScene, until } from "./run-scene.ts"
import { answersTo, task } from "./task-script.ts"

const write = (name: string) => ({ tool: "write", input: { filePath: name, content: "x" } })
const echo = (name: string) => ({ tool: "bash", input: { command: `echo x > ${name}` } })
export const askEdit = { permission: { edit: "ask" as const } }

/**
 * "Go" gives a task that writes a.txt with the write tool and then b.txt with the shell. "Go deep" has one session
 * between.
 */
export function askingScene(options: RunSceneOptions = {}) {
  return runScene({
    interactive: true,
    ...options,
    config: { task: { depth: 2 }, agent: { worker }, ...options.config },
    script: answersTo({
      Go: [{ calls: [task("Write", { agent: "worker" })] }, { text: "I see." }],
      "Go deep": [{ calls: [task("Pass on", { agent: "worker" })] }, { text: "I see." }],
      "Go twice": [
        { calls: [task("Write", { agent: "worker" }), task("Write too", { agent: "worker" })] },
        { text: "I see." },
      ],
      "Pass on": [{ calls: [task("Write", { agent: "worker" })] }, { text: "Passed on." }],
      Write: [{ calls: [write("a.txt")] }, { calls: [echo("b.txt")] }, { text: "I wrote." }],
      "Write too": [{ calls: [write("c.txt")] }, { text: "I wrote too." }],
      "Go further": [{ calls: [task("Write more", { agent: "worker" })] }, { text: "I see." }],
      "Write more": [{ calls: [write("e.txt")] }, { text: "Written." }],
      "Write yourself": [{ calls: [write("d.txt")] }, { text: "Written." }],
    }),
  })
}

export async function question(session: SessionHandle, count = 1): Promise<PermissionRequest> {
  await until(`${count} are asked`, async () => (await session.questions()).length >= count)
  return (await session.questions()).at(-1)!
}

/** Collects the questions and replies that a subscriber receives, until the events end. */
export function questionEvents(events: AsyncIterable<StemmaEvent>) {
  const received: string[] = []
  const count = { events: 0 }
  const listen = async () => {
    for await (const event of events) {
      count.events++
      if (event.type === "permission.asked") {
        const { request } = event.properties
        received.push(`asked ${request.id} ${request.path?.join(" ")}`)
      }
      if (event.type === "permission.replied") {
        received.push(`${event.properties.reply} ${event.properties.permissionID}`)
      }
    }
  }
  return { received, count, done: listen() }
}
