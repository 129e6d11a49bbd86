import { setTimeout as sleep } from "node:timers/promises"
import type { Core } from "../core.ts"
import { scanFiles } from "../disk/scan.ts"
import { follow } from "./follow.ts"

/** Longer than another process needs from writing its journal to writing its files. */
const transientMs = 50

/**
 * Waits, then returns the main files that are still missing, so that no other process was about to write or remove
 * them.
 */
export async function stillMissing(core: Core, files: string[]): Promise<Set<string>> {
  if (files.length === 0) return new Set()
  await sleep(transientMs)
  follow(core)
  return new Set(files.filter((file) => !core.files.isFile(file)))
}

/** Records and warns that main files are missing although their sessions were not removed. */
export function recordMissing(core: Core, files: Iterable<string>): void {
  for (const file of files) {
    core.missingFiles.add(file)
    core.warnOnce(file, missingFileText(core, file))
  }
}

/** Returns a sentence for each missing main file. */
export async function missingFileProblems(core: Core): Promise<string[]> {
  const { missingMain } = await scanFiles(core, { tidy: false })
  const missing = await stillMissing(core, [...new Set([...missingMain, ...core.missingFiles])])
  const hasState = (file: string) => core.files.stat(stateBeside(file)) !== undefined
  recordMissing(
    core,
    missingMain.filter((file) => missing.has(file) && hasState(file)),
  )
  for (const file of core.missingFiles) if (!missing.has(file)) core.missingFiles.delete(file)
  return [...core.missingFiles].map((file) => missingFileText(core, file))
}

/** Returns the state file that belongs to a main file. */
export function stateBeside(file: string): string {
  return file.replace(/\.jsonl$/, ".state.jsonl")
}

function missingFileText(core: Core, file: string): string {
  const state = stateBeside(file)
  if (!core.files.stat(state))
    return `${file} is gone, although its session was not removed. Restore the file from a backup.`
  return `${file} is gone, or is not a regular file. Restore the file from a backup, or delete ${state} to give the session up.`
}
