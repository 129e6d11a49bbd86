import type { Stats } from "node:fs"
import { lstat, readdir, realpath } from "node:fs/promises"
import { basename, join } from "node:path"
import { foldName } from "./guarded-names.ts"

export interface Disk {
  lstat(path: string): Promise<Stats>
  readdir(path: string): Promise<string[]>
  /** The path as its directories spell it. Absent where the system returns the path as it was given. */
  realName?(path: string): Promise<string>
}

const hasRealNames = process.platform === "darwin" || process.platform === "win32"

const thisDisk: Disk = { lstat, readdir, ...(hasRealNames && { realName: realpath }) }

const caseSensitiveMax = 10_000

/**
 * Finds the real name of a file. On a case-insensitive file system `.ENV` opens `.env`, and permission rules must match
 * the real name, not the given one. Case-sensitive directories are remembered, so that further lookups cost nothing.
 */
export class DiskNames {
  readonly disk: Disk
  readonly #exact = new Set<string>()

  constructor(disk: Disk = thisDisk) {
    this.disk = disk
  }

  /** True if names in this directory are known to be case-sensitive. `dev` is the device of the named file. */
  isCaseSensitive(directory: string, dev: number): boolean {
    return this.#exact.has(`${dev}:${directory}`)
  }

  /** The name of an existing file, as its directory spells it. */
  async nameOnDisk(directory: string, { name, stats }: { name: string; stats: Stats }): Promise<string> {
    const path = join(directory, name)
    if (this.disk.realName !== undefined) {
      const spelled = await this.disk.realName(path).catch(() => path)
      return givenOrSpelled(name, basename(spelled))
    }
    const other = swapCase(name)
    if (other === name) return name
    if ((await this.#stats(join(directory, other))) !== undefined)
      return this.#listed(directory, { name, stats })
    // The name with swapped case does not exist, so the directory is case-sensitive, unless the file was removed
    // meanwhile.
    if ((await this.#stats(path)) !== undefined) this.#remember(`${stats.dev}:${directory}`)
    return name
  }

  async #listed(directory: string, { name, stats }: { name: string; stats: Stats }): Promise<string> {
    const names = await this.disk.readdir(directory).catch(() => [name])
    if (names.includes(name)) return name
    const folded = foldName(name)
    const alike = names.filter((one) => foldName(one) === folded)
    if (alike.length === 1) return givenOrSpelled(name, alike[0]!)
    // More than one name, or none, folds to this one: for example a short name that the file system gives to a long
    // one.
    for (const one of alike.length > 0 ? alike : names) {
      const found = await this.#stats(join(directory, one))
      if (found !== undefined && found.dev === stats.dev && found.ino === stats.ino)
        return givenOrSpelled(name, one)
    }
    return name
  }

  #remember(key: string): void {
    if (this.#exact.size >= caseSensitiveMax) this.#exact.clear()
    this.#exact.add(key)
  }

  async #stats(path: string): Promise<Stats | undefined> {
    return this.disk.lstat(path).catch(() => undefined)
  }
}

/** The composition of accents stays as given: people write rules, and they see no difference. */
function givenOrSpelled(given: string, spelled: string): string {
  return given.normalize() === spelled.normalize() ? given : spelled
}

/** Swaps only ASCII letters, because all file systems agree about their case. */
function swapCase(name: string): string {
  return name.replace(/[a-z]+|[A-Z]+/g, (letters) =>
    letters < "a" ? letters.toLowerCase() : letters.toUpperCase(),
  )
}
