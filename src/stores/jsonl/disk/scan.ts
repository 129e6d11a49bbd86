import type { Core } from "../core.ts"
import { mainOf, sessionIDOf, stateName } from "../format/header.ts"
import type { FileStat } from "./files.ts"
import { indexName } from "./index-file.ts"

/** A session's files as the file system shows them. */
export interface FoundFiles {
  id: string
  folder: string
  name: string
  main: FileStat
  /** Absent for a session that another program or a person wrote. */
  state: FileStat | undefined
}

const sliceMs = 8

/** All folders that have, or may have, sessions. */
export function sessionFolders(core: Core): string[] {
  const agents = core.files.list("agents").filter((item) => item.directory)
  return agents.map(({ name }) => `agents/${name}/sessions`)
}

/**
 * Looks at all files of sessions; `lost` are the main files that should be beside the state files that are there.
 * Drafts that a dead process left are removed if `tidy`.
 */
export async function scanFiles(
  core: Core,
  options: { tidy: boolean },
): Promise<{ found: FoundFiles[]; lost: string[] }> {
  const found: FoundFiles[] = []
  const lost: string[] = []
  let began = performance.now()
  for (const folder of sessionFolders(core)) {
    const list = core.files.list(folder)
    const names = new Set(list.filter(({ file }) => file).map(({ name }) => name))
    for (const { name: fileName, file } of list) {
      if (performance.now() - began > sliceMs) {
        await new Promise((resolve) => setImmediate(resolve))
        began = performance.now()
      }
      if (!file) continue
      const beside = mainOf(fileName)
      if (beside !== undefined && !names.has(beside)) lost.push(`${folder}/${beside}`)
      if (fileName.endsWith(".tmp") && options.tidy) core.files.remove(`${folder}/${fileName}`)
      const id = fileName === indexName ? undefined : sessionIDOf(fileName)
      const main = id === undefined ? undefined : core.files.stat(`${folder}/${fileName}`)
      if (id === undefined || !main) continue
      const name = fileName.slice(0, -".jsonl".length)
      found.push({ id, folder, name, main, state: core.files.stat(`${folder}/${stateName(name)}`) })
    }
  }
  return { found, lost }
}
