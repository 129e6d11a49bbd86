import { createHash } from "node:crypto"
import { join, relative, sep } from "node:path"
import type { ConfigFile } from "../files/config-files.ts"
import { Records, recordName } from "../files/records.ts"

/** Records which directories' config files the user has trusted, and in which state. Shared by all processes. */
export class Trust {
  readonly #records: Records

  constructor(dataDirectory: string) {
    this.#records = new Records(join(dataDirectory, "trust"))
  }

  /** The file that records whether a directory is trusted. */
  path(directory: string): string {
    return this.#records.path(recordName(directory))
  }

  async has(directory: string, hash: string): Promise<boolean> {
    const record = (await this.#records.get(recordName(directory))) as Record<string, unknown> | undefined
    return record?.directory === directory && record.hash === hash
  }

  async give(directory: string, hash: string): Promise<void> {
    await this.#records.put(recordName(directory), { directory, hash })
  }

  async take(directory: string): Promise<void> {
    await this.#records.remove(recordName(directory))
  }
}

/** Changes when any file is added, removed, renamed or changed. */
export function hashOf(directory: string, files: readonly ConfigFile[]): string {
  const lines = files
    .map(({ path, text }) => [relative(directory, path).split(sep).join("/"), text] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return createHash("sha256").update(JSON.stringify(lines)).digest("hex")
}
