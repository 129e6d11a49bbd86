import { checkState } from "../plain/index.ts"
import type { Core } from "./core.ts"
import { asStemmaError, load } from "./loader.ts"

/** Reads every session and says what is wrong. What was torn and has been cut is right again. */
export async function findProblems(core: Core): Promise<string[]> {
  const problems: string[] = []
  for (const entry of [...core.entries.values()]) {
    if (core.entries.get(entry.id) !== entry) continue
    const wasLoaded = entry.book !== undefined
    try {
      await load(core, entry)
      const session = core.state.sessions.get(entry.id)
      if (!session || !entry.book) continue
      problems.push(
        ...checkState({ ...core.state, sessions: new Map([[entry.id, session]]) }).filter(isOwn(core)),
      )
      if (!wasLoaded && entry.pins === 0 && !core.provisional) core.unload(entry)
    } catch (error) {
      problems.push(asStemmaError(error).message)
    }
  }
  return [...problems, ...tornFiles(core)]
}

/** Files that end in the middle of a line: nobody has written them since, who would have cut it. */
function tornFiles(core: Core): string[] {
  return [...core.entries.values()].flatMap((entry) => {
    if (entry.problem) return []
    const file = core.mainFile(entry)
    const tail = core.files.read(file, entry.main)
    const end = tail.lastIndexOf(0x0a) + 1
    if (end === tail.length || isJson(tail.toString("utf8", end))) return []
    return [
      `${file} ends in the middle of a line: ${tail.length - end} bytes are cut off when it is written.`,
    ]
  })
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** A parent that is not in the small state that was checked may well be in the whole one. */
function isOwn(core: Core): (problem: string) => boolean {
  return (problem) => {
    const parent = / its parent (\S+) is missing$/.exec(problem)?.[1]
    return parent === undefined || !core.state.sessions.has(parent)
  }
}
