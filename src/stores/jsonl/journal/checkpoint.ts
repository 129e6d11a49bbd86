import { dirname } from "node:path"
import { currentHolder } from "../../holder.ts"
import type { Core } from "../core.ts"
import { writeIndex } from "../disk/index-file.ts"

/** Writes the index files that are out of date. Must be called under the lock. */
export async function writeIndexes(core: Core, options: { sync: boolean } = { sync: false }): Promise<void> {
  for (const folder of [...core.staleIndexes]) {
    if (core.files.stat(folder)) await writeIndex(core, folder, options)
    core.staleIndexes.delete(folder)
  }
}

/** Syncs all files to disk, then starts a new journal. Must be called under the lock. */
export async function checkpoint(core: Core): Promise<void> {
  await writeIndexes(core, { sync: true })
  const files = [...core.unsynced].filter((file) => core.files.stat(file))
  await syncAll(core, files)
  await syncAll(core, [...new Set(files.map((file) => dirname(file)))])
  core.unsynced.clear()
  const { n } = core.journal
  await core.journal.restart({ n, version: core.state.version, boot: currentHolder().bootID, sync: true })
}

/** Syncs four files at a time, because the file system can combine the work. */
async function syncAll(core: Core, names: string[]): Promise<void> {
  const rest = names.values()
  const worker = async () => {
    for (const name of rest) await core.files.sync(name)
  }
  await Promise.all([worker(), worker(), worker(), worker()])
}
