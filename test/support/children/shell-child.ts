/** Runs a person's command in a session and lives until it is killed. */
import { openStemma } from "../../../src/index.ts"
import { dieWithParent } from "./lifeline.ts"

export interface ShellGo {
  directory: string
  data: string
  sessionID: string
  command: string
}

async function work({ directory, data, sessionID, command }: ShellGo): Promise<void> {
  const stemma = await openStemma({
    directory,
    data,
    config: { model: "demo/guide", title: false },
    env: { PATH: process.env.PATH, HOME: data },
  })
  const session = await stemma.sessions.create({ id: sessionID })
  await session.shell(command)
}

dieWithParent()
process.once("message", (go: ShellGo) => void work(go))
process.send!("ready")
