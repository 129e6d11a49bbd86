import { Files } from "../../src/stores/jsonl/disk/files.ts"

/** Decides for each call that changes a file: let it pass, write half of the bytes and then fail, or fail. */
export type Fault = (call: { name: string; method: string; bytes?: Buffer }) => "pass" | "half" | Error

/** A file layer whose calls can fail one by one. */
export class FaultyFiles extends Files {
  fault: Fault = () => "pass"

  #meet(method: string, name: string, bytes?: Buffer): "pass" | "half" {
    const outcome = this.fault({ method, name, ...(bytes ? { bytes } : {}) })
    if (outcome instanceof Error) throw outcome
    return outcome
  }

  override append(name: string, bytes: Buffer): number {
    if (this.#meet("append", name, bytes) === "pass") return super.append(name, bytes)
    super.append(name, bytes.subarray(0, Math.floor(bytes.length / 2)))
    throw this.fault({ method: "append", name }) as Error
  }

  override truncate(name: string, size: number): void {
    this.#meet("truncate", name)
    super.truncate(name, size)
  }

  override rename(from: string, to: string): void {
    this.#meet("rename", to)
    super.rename(from, to)
  }

  override remove(name: string): void {
    this.#meet("remove", name)
    super.remove(name)
  }

  override makeDirectory(name: string): void {
    this.#meet("makeDirectory", name)
    super.makeDirectory(name)
  }

  override async sync(name: string): Promise<void> {
    this.#meet("sync", name)
    await super.sync(name)
  }
}
