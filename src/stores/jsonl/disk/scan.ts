import type { Core } from "../core.ts"
import { mainOf, sessionIDOf, stateName } from "../format/header.ts"
import type { FileStat } from "./files.ts"
import { indexName } from "./index-file.ts"

/** The files of a session as they were found on disk. */
export interface FoundFiles {
  id: string
  folder: string
  name: string
  main: FileStat
  /** Undefined for a session that another program or a person wrote. */
  state: FileStat | undefined
}

const sliceMs = 8

/** Returns all directories that may contain sessions. */
export function sessionFolders(core: Core): string[] {
  const agents = core.files.list("agents").filter((item) => item.directory)
  return agents.map(({ name }) => `agents/${name}/sessions`)
}

/**
 * Finds the files of all sessions. `missingMain` are main files that do not exist although their state files do. With
 * `tidy`, removes temporary files that a dead process left.
 */
export async function scanFiles(
  core: Core,
  options: { tidy: boolean },
): Promise<{ found: FoundFiles[]; missingMain: string[] }> {
  const found: FoundFiles[] = []
  const missingMain: string[] = []
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
      if (beside !== undefined && !names.has(beside)) missingMain.push(`${folder}/${beside}`)
      if (fileName.endsWith(".tmp") && options.tidy) core.files.remove(`${folder}/${fileName}`)
      const id = fileName === indexName ? undefined : sessionIDOf(fileName)
      const main = id === undefined ? undefined : core.files.stat(`${folder}/${fileName}`)
      if (id === undefined || !main) continue
      const name = fileName.slice(0, -".jsonl".length)
      found.push({ id, folder, name, main, state: core.files.stat(`${folder}/${stateName(name)}`) })
    }
  }
  return { found, missingMain }
}
