import { Buffer } from "node:buffer"
import { cleanText } from "../../session/index.ts"
import { limitOutput, pointerNotice } from "../../tools/output.ts"
import type { ToolContext, Wanted } from "../../tools/tool.ts"
import { withGrace } from "../step/tools/abort-grace.ts"
import { sessionHistory } from "../step/tools/session-history.ts"
import { mayUse } from "../step/tools/toolbox.ts"
import type { Resolving } from "./prompt-references.ts"

/** Characters with which a command can name a path outside of the workspace. */
const namesOutside = /[~$`]|\.\.|(?:^|[\s"'=:<>(,])\//

/** True for a path that the command text does not name: a symlink led there, so trust in the template does not cover it. */
function leadsElsewhere({ permission, patterns }: Wanted, command: string): boolean {
  if (permission === "external_directory") {
    return patterns.some((pattern) => pattern !== "*") && !namesOutside.test(command)
  }
  return permission === "read"
}

export interface CommandOutput {
  output: string
  /** The blob with the whole output, if the output was cut. */
  outputBlob?: string
}

/** Runs a command reference with the bash tool of this session and returns its output. */
export async function commandOutput(command: string, resolving: Resolving): Promise<CommandOutput> {
  const { run, setup, ask, judge, agent, prompt } = resolving
  const tool = setup.tools.get("bash")
  if (!tool) throw new Error("There is no bash tool in this project.")
  const value: unknown = tool.input.parse({ command })
  const now = await judge()
  const { store } = run.engine
  const wants = {
    agent: agent.name,
    decide: (wanted: Wanted) => now.decide(wanted, tool.name).action,
    sessionID: run.sessionID,
    workspace: run.project.workspace,
    signal: run.signal,
    reads: run.reads,
  }
  for (const wanted of await tool.wants(value, wants)) {
    await ask({ wanted, tool: tool.name, isElsewhere: leadsElsewhere(wanted, command) })
  }
  if (!mayUse(tool.name, await judge())) throw new Error("Commands are switched off here.")
  const context: ToolContext = {
    ...wants,
    messageID: prompt.id,
    callID: "reference",
    progress() {},
    print() {},
    ask: (wanted) => ask({ wanted, tool: tool.name }),
    environment: setup.environment,
    todos: { read: () => store.todos(run.sessionID), write: async () => {} },
    blobs: { put: (bytes) => store.blobs.put(bytes), get: (hash) => store.blobs.get(hash) },
    history: sessionHistory({
      store,
      sessionID: run.sessionID,
      signal: run.signal,
      mask: setup.mask,
      shown: () => ({}),
    }),
    async delegate() {
      throw new Error("A reference gives no tasks.")
    },
  }
  run.signal.throwIfAborted()
  const { toolGraceMs } = run.engine.timing
  const { output } = await withGrace((async () => tool.execute(value, context))(), run.signal, toolGraceMs)
  const whole = cleanText(setup.mask(output))
  const limited = limitOutput(whole)
  if (!limited.cut) return { output: limited.output }
  const hash = await store.blobs.put(Buffer.from(whole))
  const notice = pointerNotice({ hash, lines: limited.lines, bytes: limited.bytes })
  return { output: `${limited.output}${notice}`, outputBlob: `blob:${hash}` }
}
