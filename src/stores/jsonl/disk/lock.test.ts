import { spawnSync } from "node:child_process"
import { linkSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { currentHolder } from "../../holder.ts"
import type { Holder } from "../../store.ts"
import { StoreLock } from "./lock.ts"

let directory: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "stemma-lock-"))
})

afterEach(() => rmSync(directory, { recursive: true, force: true }))

/** Returns the pid of a process that has ended. */
function deadPid(): number {
  return spawnSync(process.execPath, ["--version"]).pid
}

/** Writes the file of a dead process and returns its path. */
function deadHolder(instance: string): string {
  const holder: Holder = { ...currentHolder(), pid: deadPid(), instance }
  const path = join(directory, `lock.own.${instance}`)
  writeFileSync(path, JSON.stringify(holder))
  return path
}

function presentInstance(): string {
  return (JSON.parse(readFileSync(join(directory, "lock"), "utf8")) as Holder).instance
}

describe("the lock", () => {
  it("is held by one process at a time", async () => {
    let inside = 0
    let acquired = 0
    const work = async () => {
      const lock = new StoreLock(directory)
      for (let count = 0; count < 20; count++) {
        await lock.acquire({ timeoutMs: 20_000 })
        expect(++inside).toBe(1)
        await new Promise((resolve) => setImmediate(resolve))
        inside--
        acquired++
        lock.release()
      }
      lock.close()
    }
    await Promise.all([work(), work(), work(), work()])
    expect(acquired).toBe(80)
    expect(readdirSync(directory)).toEqual([])
  })

  it("is waited for without blocking the event loop, until the timeout", async () => {
    const holder = new StoreLock(directory)
    await holder.acquire({ timeoutMs: 100 })
    let ticks = 0
    const timer = setInterval(() => ticks++, 5)
    const error: unknown = await new StoreLock(directory)
      .acquire({ timeoutMs: 200 })
      .catch((thrown: unknown) => thrown)
    clearInterval(timer)
    expect(error).toMatchObject({ code: "unavailable", details: { holder: { pid: process.pid } } })
    expect(ticks).toBeGreaterThan(5)
  })

  it("of a dead process is taken over by exactly one waiting process", async () => {
    linkSync(deadHolder("dead"), join(directory, "lock"))
    let inside = 0
    const results = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const lock = new StoreLock(directory)
        const takenOver = await lock.acquire({ timeoutMs: 20_000 })
        expect(++inside).toBe(1)
        await new Promise((resolve) => setTimeout(resolve, 5))
        inside--
        lock.release()
        return takenOver
      }),
    )
    expect(results.filter(Boolean)).toHaveLength(1)
  })

  it("is taken over from a process that died while it took the lock over", async () => {
    linkSync(deadHolder("first"), join(directory, "lock"))
    linkSync(deadHolder("second"), join(directory, "lock.after.first"))
    linkSync(deadHolder("third"), join(directory, "lock.after.second"))
    const lock = new StoreLock(directory)
    expect(await lock.acquire({ timeoutMs: 5000 })).toBe(true)
    lock.sweep()
    expect(readdirSync(directory).filter((name) => /first|second|third/.test(name))).toEqual([])
    lock.release()
    expect(await new StoreLock(directory).acquire({ timeoutMs: 1000 })).toBe(false)
  })

  it("is not taken over a second time after another process took it over", async () => {
    linkSync(deadHolder("dead"), join(directory, "lock"))
    const quick = new StoreLock(directory)
    await quick.acquire({ timeoutMs: 1000 })
    const held = presentInstance()
    await expect(new StoreLock(directory).acquire({ timeoutMs: 100 })).rejects.toMatchObject({
      code: "unavailable",
    })
    expect(presentInstance()).toBe(held)
    expect(readdirSync(directory).filter((name) => name.startsWith("lock.after."))).toEqual([])
  })

  it("that cannot be read is not replaced, and the error says what to do", async () => {
    writeFileSync(join(directory, "lock"), "?")
    await expect(new StoreLock(directory).acquire({ timeoutMs: 50 })).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("remove the file lock"),
    })
  })
})
