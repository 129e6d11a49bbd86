import type { Stats } from "node:fs"
import { lstat, readdir, realpath } from "node:fs/promises"
import { basename, join } from "node:path"
import { foldName } from "./guarded-names.ts"

export interface Disk {
  lstat(path: string): Promise<Stats>
  readdir(path: string): Promise<string[]>
  /** The path as the directories on it spell it. Absent where the system gives it back as it was asked for. */
  spelled?(path: string): Promise<string>
}

const saysSpelling = process.platform === "darwin" || process.platform === "win32"

const thisDisk: Disk = { lstat, readdir, ...(saysSpelling && { spelled: realpath }) }

const exactMax = 10_000

/**
 * How a file is really called. Where a disk takes `.ENV` for `.env`, rules must be asked about the name that is there and not
 * about the one that somebody chose. Directories that tell such names apart are remembered, so that asking costs nothing.
 */
export class Spelling {
  readonly disk: Disk
  readonly #exact = new Set<string>()

  constructor(disk: Disk = thisDisk) {
    this.disk = disk
  }

  /** True if a name in this directory can only be spelled in one way. `dev` is the device of what has the name. */
  isExact(directory: string, dev: number): boolean {
    return this.#exact.has(`${dev}:${directory}`)
  }

  /** The name of something that is there, as its directory spells it. */
  async nameOf(directory: string, { name, stats }: { name: string; stats: Stats }): Promise<string> {
    const path = join(directory, name)
    if (this.disk.spelled !== undefined) {
      const spelled = await this.disk.spelled(path).catch(() => path)
      return chosen(name, basename(spelled))
    }
    const other = swapCase(name)
    if (other === name) return name
    if ((await this.#stats(join(directory, other))) !== undefined)
      return this.#listed(directory, { name, stats })
    // Unless it went away meanwhile, what has no other name here is in a directory that minds the case.
    if ((await this.#stats(path)) !== undefined) this.#remember(`${stats.dev}:${directory}`)
    return name
  }

  async #listed(directory: string, { name, stats }: { name: string; stats: Stats }): Promise<string> {
    const names = await this.disk.readdir(directory).catch(() => [name])
    if (names.includes(name)) return name
    const folded = foldName(name)
    const alike = names.filter((one) => foldName(one) === folded)
    if (alike.length === 1) return chosen(name, alike[0]!)
    // Such as the short name that some disks give to a long one.
    for (const one of alike.length > 0 ? alike : names) {
      const found = await this.#stats(join(directory, one))
      if (found !== undefined && found.dev === stats.dev && found.ino === stats.ino) return chosen(name, one)
    }
    return name
  }

  #remember(key: string): void {
    if (this.#exact.size >= exactMax) this.#exact.clear()
    this.#exact.add(key)
  }

  async #stats(path: string): Promise<Stats | undefined> {
    return this.disk.lstat(path).catch(() => undefined)
  }
}

/** How accents are put together is left to whoever names the file: rules are written by people, who see no difference. */
function chosen(given: string, spelled: string): string {
  return given.normalize() === spelled.normalize() ? given : spelled
}

/** Only letters about whose case all disks agree. */
function swapCase(name: string): string {
  return name.replace(/[a-z]+|[A-Z]+/g, (letters) =>
    letters < "a" ? letters.toLowerCase() : letters.toUpperCase(),
  )
}
