import type { FileState, ReadLedger } from "../../../tools/tool.ts"

const filesMax = 2000
/** A path, its entry in the map, and its state. */
const fileBytes = 250

/** The files that a session has read in this process. Above the limit, the files read longest ago are dropped. */
export class ReadFiles implements ReadLedger {
  readonly #files = new Map<string, FileState>()

  /** About how much memory the list uses. */
  get bytes(): number {
    return this.#files.size * fileBytes
  }

  note(path: string, state: FileState): void {
    this.#files.delete(path)
    this.#files.set(path, { mtimeMs: state.mtimeMs, size: state.size })
    if (this.#files.size > filesMax) this.#files.delete(this.#files.keys().next().value!)
  }

  known(path: string): FileState | undefined {
    return this.#files.get(path)
  }
}
