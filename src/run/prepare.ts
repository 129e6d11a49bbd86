import { setImmediate as nextTick } from "node:timers/promises"
import type { Project } from "./project.ts"
import { schemaOf } from "./step/tools/toolbox.ts"

/**
 * Loads what the first turn in a directory needs: its config, the package of its model's provider, and the schemas of the
 * tools. For a process that has nothing else to do: it works in short pieces, and sends no request.
 */
export async function prepareFirstTurn(project: Project): Promise<void> {
  const { loaded, models, tools } = await project.setup()
  await nextTick()
  const name = loaded.config.model ?? models.standardAtHand()
  if (name !== undefined) await models.get(name)
  for (const tool of tools.values()) {
    await nextTick()
    schemaOf(tool)
  }
  await nextTick()
  // Node loads its implementation of `fetch` when it is first used.
  new Request("http://localhost")
}
