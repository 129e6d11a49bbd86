import { dirname } from "node:path"
import { currentHolder } from "../holder.ts"
import type { Core } from "./core.ts"
import { writeIndex } from "./index-file.ts"

/** Writes the indexes that do not tell what is so. To be called under the lock. */
export async function writeIndexes(core: Core, options: { sync: boolean } = { sync: false }): Promise<void> {
  for (const folder of [...core.staleIndexes]) {
    if (core.files.stat(folder)) await writeIndex(core, folder, options)
    core.staleIndexes.delete(folder)
  }
}

/** Makes sure that everything is in the files for good, then begins the journal again. To be called under the lock. */
export async function checkpoint(core: Core): Promise<void> {
  await writeIndexes(core, { sync: true })
  const folders = new Set<string>()
  for (const file of core.unsynced) {
    folders.add(dirname(file))
    if (core.files.stat(file)) await core.files.sync(file)
  }
  for (const folder of folders) if (core.files.stat(folder)) await core.files.syncDirectory(folder)
  core.unsynced.clear()
  const { n } = core.journal
  await core.journal.restart({ n, version: core.state.version, boot: currentHolder().bootID, sync: true })
}
