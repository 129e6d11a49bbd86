import { setTimeout as sleep } from "node:timers/promises"
import type { Core } from "../core.ts"
import { scanFiles } from "../disk/scan.ts"
import { follow } from "./follow.ts"

/** Longer than another process takes from its journal to its files. */
const transientMs = 50

/** Those of some main files that are gone for good: no other process was about to write or to remove them. */
export async function stillLost(core: Core, files: string[]): Promise<Set<string>> {
  if (files.length === 0) return new Set()
  await sleep(transientMs)
  follow(core)
  return new Set(files.filter((file) => !core.files.isFile(file)))
}

/** Remembers and tells that the main files of sessions are gone, though nobody removed the sessions. */
export function noteLost(core: Core, files: Iterable<string>): void {
  for (const file of files) {
    core.lost.add(file)
    core.warnOnce(file, lostText(core, file))
  }
}

/** What `check` says of main files that are gone. */
export async function lostProblems(core: Core): Promise<string[]> {
  const { lost } = await scanFiles(core, { tidy: false })
  const gone = await stillLost(core, [...new Set([...lost, ...core.lost])])
  const hasState = (file: string) => core.files.stat(stateBeside(file)) !== undefined
  noteLost(
    core,
    lost.filter((file) => gone.has(file) && hasState(file)),
  )
  for (const file of core.lost) if (!gone.has(file)) core.lost.delete(file)
  return [...core.lost].map((file) => lostText(core, file))
}

export function stateBeside(file: string): string {
  return file.replace(/\.jsonl$/, ".state.jsonl")
}

function lostText(core: Core, file: string): string {
  const state = stateBeside(file)
  if (!core.files.stat(state))
    return `${file} is gone, though nobody removed its session. Restore it from a copy.`
  return `${file} is gone, or is no file. Restore it from a copy, or give the session up by removing ${state}.`
}
