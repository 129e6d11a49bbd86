/** Sends a prompt, or a command, to a session and lives until it is killed. */
import { join } from "node:path"
import { createScriptedModel, openStemma, openStore, type PromptPart } from "../../../src/index.ts"
import { type Moment, mortalStore } from "../tasks/moments.ts"
import { dieWithParent } from "./lifeline.ts"

export interface PromptGo {
  directory: string
  data: string
  config: Record<string, unknown>
  sessionID: string
  messageID: string
  prompt: string | PromptPart[]
  /** The command to run; the prompt becomes its arguments. */
  command?: string
  /** The answer of its model to every prompt; without it the model never answers. */
  answer?: string
  /** The process kills itself at this moment, if it gets there. */
  dieAt?: Moment
}

async function work(go: PromptGo): Promise<void> {
  const ref = { providerID: "scripted", modelID: "m" }
  const { directory, data, config, messageID, prompt, command, answer, dieAt } = go
  const model = createScriptedModel(() => (answer === undefined ? new Promise(() => {}) : { text: answer }), {
    ref,
  })
  const store = await openStore({ path: join(data, "stemma.db") })
  const stemma = await openStemma({
    directory,
    data,
    store: dieAt ? mortalStore(store, { rootID: go.sessionID, dieAt, onCommit: () => {} }) : store,
    config,
    env: { PATH: process.env.PATH, HOME: data },
    models: { scripted: () => model },
    interactive: true,
  })
  const session = await stemma.sessions.create({ id: go.sessionID })
  if (command === undefined) await session.prompt(prompt, { messageID })
  else await session.command(command, String(prompt), { messageID })
}

dieWithParent()
process.once("message", (go: PromptGo) => void work(go))
process.send!("ready")
