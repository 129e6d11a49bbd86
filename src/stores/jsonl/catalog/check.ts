import { checkState } from "../../plain/index.ts"
import type { Core, TrackedSession } from "../core.ts"
import { findUnfinishedLine, unfinishedText } from "../disk/torn-lines.ts"
import { parseLines } from "../format/lines.ts"
import { follow } from "./follow.ts"
import { asStemmaError, load, readSession } from "./loader.ts"
import { missingFileProblems } from "./missing-files.ts"

/** Reads every session and returns one sentence for each problem. */
export async function findProblems(core: Core): Promise<string[]> {
  const problems: string[] = []
  for (const tracked of [...core.tracked.values()]) {
    if (core.tracked.get(tracked.id) !== tracked) continue
    const wasLoaded = tracked.appendState !== undefined
    try {
      await load(core, tracked)
      const session = core.state.sessions.get(tracked.id)
      if (!session || !tracked.appendState) continue
      problems.push(
        ...checkState({ ...core.state, sessions: new Map([[tracked.id, session]]) }).filter(isOwn(core)),
      )
      if (!wasLoaded && tracked.pins === 0 && !core.adoptedInMemoryOnly) core.unload(tracked)
      await checkFileEnd(core, tracked)
    } catch (error) {
      follow(core)
      if (core.tracked.get(tracked.id) === tracked) problems.push(asStemmaError(error).message)
    }
  }
  return [...problems, ...unfinishedFiles(core), ...(await missingFileProblems(core))]
}

/** Throws if the main file is too short, or if lines that other programs appended cannot be parsed. */
async function checkFileEnd(core: Core, tracked: TrackedSession): Promise<void> {
  const file = core.mainFile(tracked)
  const size = core.files.stat(file)?.size
  if (size === undefined || size === tracked.main) return
  if (size < tracked.main) await readSession(core, tracked)
  else await parseLines(await core.files.readLater(file), { file })
}

/** Returns a sentence for each main file that ends in the middle of a line. */
function unfinishedFiles(core: Core): string[] {
  return [...core.tracked.values()].flatMap((tracked) => {
    if (tracked.problem) return []
    const file = core.mainFile(tracked)
    const rest = findUnfinishedLine(core, file, tracked.main)
    return rest && !rest.whole ? [unfinishedText(file, rest.bytes.length)] : []
  })
}

/** Ignores a missing parent that exists in the whole state, because each session was checked in a state of its own. */
function isOwn(core: Core): (problem: string) => boolean {
  return (problem) => {
    const parent = / its parent (\S+) is missing$/.exec(problem)?.[1]
    return parent === undefined || !core.state.sessions.has(parent)
  }
}
