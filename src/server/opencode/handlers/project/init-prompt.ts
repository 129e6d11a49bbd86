import type { PromptRun } from "../../../../run/index.ts"
import type { ServerContext } from "../../../http/call.ts"

/** A config may have a command of this name, which is then used instead of `instructions`. */
const command = "init"

const instructions = `Look at this project and write AGENTS.md in its root directory, for agents that will work here.

Say how to build, lint and test, and how to run one test. Say which conventions the code follows, and where things are.
Keep it to about 20 lines. If there is an AGENTS.md already, improve it. Take over what CLAUDE.md, .cursorrules or
.github/copilot-instructions.md say, if they exist.`

/** Sends the prompt that describes a project to agents. The run is wrapped, because it is a promise of the reply. */
export async function initRun(
  { stemma }: ServerContext,
  sessionID: string,
  options: { messageID?: string | undefined; model?: string | undefined },
): Promise<{ run: PromptRun }> {
  const session = await stemma.sessions.get(sessionID)
  const { loaded } = await (await stemma.project((await session.info()).directory)).setup()
  const run = loaded.commands.has(command)
    ? session.command(command, "", options)
    : session.prompt(instructions, { ...options, references: "none" })
  await run.admitted
  return { run }
}
