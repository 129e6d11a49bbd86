import { checkState } from "../../plain/index.ts"
import type { Core, Entry } from "../core.ts"
import { restOf, unfinishedText } from "../disk/torn-lines.ts"
import { parseLines } from "../format/lines.ts"
import { follow } from "./follow.ts"
import { asStemmaError, load, readSession } from "./loader.ts"
import { lostProblems } from "./missing-files.ts"

/** Reads every session and says what is wrong. */
export async function findProblems(core: Core): Promise<string[]> {
  const problems: string[] = []
  for (const replicaPart of [...core.entries.values()]) {
    if (core.entries.get(replicaPart.id) !== replicaPart) continue
    const wasLoaded = replicaPart.appendState !== undefined
    try {
      await load(core, replicaPart)
      const session = core.state.sessions.get(replicaPart.id)
      if (!session || !replicaPart.appendState) continue
      problems.push(
        ...checkState({ ...core.state, sessions: new Map([[replicaPart.id, session]]) }).filter(isOwn(core)),
      )
      if (!wasLoaded && replicaPart.pins === 0 && !core.provisional) core.unload(replicaPart)
      await checkEnd(core, replicaPart)
    } catch (error) {
      follow(core)
      if (core.entries.get(replicaPart.id) === replicaPart) problems.push(asStemmaError(error).message)
    }
  }
  return [...problems, ...tornFiles(core), ...(await lostProblems(core))]
}

/** Fails if the main file lacks something, or if what others appended to it cannot be taken in. */
async function checkEnd(core: Core, replicaPart: Entry): Promise<void> {
  const file = core.mainFile(replicaPart)
  const size = core.files.stat(file)?.size
  if (size === undefined || size === replicaPart.main) return
  if (size < replicaPart.main) await readSession(core, replicaPart)
  else await parseLines(await core.files.readLater(file), { file })
}

/** Main files that end in the middle of a line. */
function tornFiles(core: Core): string[] {
  return [...core.entries.values()].flatMap((replicaPart) => {
    if (replicaPart.problem) return []
    const file = core.mainFile(replicaPart)
    const rest = restOf(core, file, replicaPart.main)
    return rest && !rest.whole ? [unfinishedText(file, rest.bytes.length)] : []
  })
}

/** A parent that is not in the small state that was checked may well be in the whole one. */
function isOwn(core: Core): (problem: string) => boolean {
  return (problem) => {
    const parent = / its parent (\S+) is missing$/.exec(problem)?.[1]
    return parent === undefined || !core.state.sessions.has(parent)
  }
}
