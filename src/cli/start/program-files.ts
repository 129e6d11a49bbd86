import { existsSync, readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { Script } from "node:vm"
import { crc32 } from "node:zlib"
import { CompiledCode, type CompiledFile, writeCompiledCode } from "./compiled-code.ts"

/** Different prompts need different code. After this many processes, most of what a command needs is known. */
const teachersMax = 5

interface Loaded {
  script: Script
  sourceCrc: number
  /** False if V8 had to compile the file. */
  wasCompiled: boolean
}

/** The value of a file of the program: the build makes a function of each CommonJS module. */
type ProgramFile = (
  exports: object,
  require: (id: string) => unknown,
  module: { exports: object },
  filename: string,
) => void

/**
 * Loads the files of a built program, and keeps for the next process what V8 compiled of them. Node's own compile cache keeps
 * only what V8 compiles while it loads a file; a function is compiled when it is first called.
 */
export class ProgramFiles {
  readonly #directory: string
  /** Undefined: nothing is kept. */
  readonly #keptAt: string | undefined
  readonly #compile: <T>(work: () => T) => T
  readonly #require: NodeJS.Require
  readonly #modules = new Map<string, { exports: object }>()
  readonly #loaded = new Map<string, Loaded>()
  readonly #kept: CompiledCode | undefined

  constructor({
    directory,
    keptAt,
    compile,
  }: {
    directory: string
    keptAt: string | undefined
    /** Called with work that reads or makes compiled code. */
    compile: <T>(work: () => T) => T
  }) {
    this.#directory = directory
    this.#compile = compile
    this.#keptAt = keptAt
    this.#require = createRequire(join(directory, "start.cjs"))
    this.#kept = keptAt === undefined ? undefined : new CompiledCode(keptAt)
  }

  /** The exports of a file of the program. */
  load(name: string): object {
    const known = this.#modules.get(name)
    if (known) return known.exports
    const path = join(this.#directory, name)
    const bytes = readFileSync(path)
    const sourceCrc = crc32(bytes)
    const kept = this.#kept?.get(name)
    const cachedData = kept?.sourceCrc === sourceCrc ? kept.data : undefined
    // The build escapes all other characters: a text with one byte for each character takes half the memory.
    const options = { filename: path, ...(cachedData && { cachedData }) }
    const script = this.#compile(() => new Script(bytes.toString("latin1"), options))
    const wasCompiled = cachedData !== undefined && script.cachedDataRejected === false
    this.#loaded.set(name, { script, sourceCrc, wasCompiled })
    const module = { exports: {} }
    this.#modules.set(name, module)
    const run = script.runInThisContext() as ProgramFile
    run(module.exports, (id) => this.#resolve(id), module, path)
    return module.exports
  }

  #resolve(id: string): unknown {
    return id.startsWith("./") ? this.load(id.slice(2)) : this.#require(id)
  }

  /**
   * At the end of a process: keeps the code of every file that it has loaded, with every function that was called. Does nothing
   * if earlier processes have kept all of it.
   */
  keep(): void {
    if (!this.#kept) return
    const isNew = [...this.#loaded.values()].some(({ wasCompiled }) => !wasCompiled)
    if (!isNew && this.#kept.taughtBy >= teachersMax) return
    const files = new Map([...this.#loaded.keys()].map((name) => [name, this.#compiled(name)]))
    this.#write(files, { taughtBy: this.#kept.taughtBy + 1 })
  }

  /**
   * For a process that may be killed: keeps what was called so far, in short pieces of work. Does nothing if an earlier process
   * has kept anything.
   */
  async keepEarly(): Promise<void> {
    if (!this.#kept?.isEmpty) return
    const files = new Map<string, CompiledFile>()
    for (const name of [...this.#loaded.keys()]) {
      files.set(name, this.#compiled(name))
      await new Promise((resolve) => setTimeout(resolve, 10).unref())
    }
    this.#write(files, { taughtBy: 0 })
  }

  #compiled(name: string): CompiledFile {
    const { script, sourceCrc } = this.#loaded.get(name)!
    return { sourceCrc, data: this.#compile(() => script.createCachedData()) }
  }

  /** Files that this process did not need stay as they were kept, except files of an earlier version of the program. */
  #write(files: Map<string, CompiledFile>, { taughtBy }: { taughtBy: number }): void {
    for (const name of this.#kept!.names) {
      if (files.has(name) || !existsSync(join(this.#directory, name))) continue
      const kept = this.#kept!.get(name)
      if (kept) files.set(name, kept)
    }
    writeCompiledCode(this.#keptAt!, { taughtBy, files })
  }
}
