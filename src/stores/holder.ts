import { randomBytes } from "node:crypto"
import { readFileSync, readlinkSync } from "node:fs"
import { hostname } from "node:os"
import type { Holder } from "./store.ts"

function readOr(path: string, otherwise: string): string {
  try {
    return readFileSync(path, "utf8").trim()
  } catch {
    return otherwise
  }
}

/** State and start time (in clock ticks since boot) of a process; empty strings on systems without `/proc`. */
function processStat(pid: number): { state: string; start: string } {
  const stat = readOr(`/proc/${pid}/stat`, "")
  // The command's name is in parentheses and may contain spaces; the state is the first field after it.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  return { state: fields[0] ?? "", start: fields[19] ?? "" }
}

/** Identifies the boot and the PID namespace: the same pid in another container is another process. */
function bootID(): string {
  const boot = readOr("/proc/sys/kernel/random/boot_id", "")
  try {
    return `${boot} ${readlinkSync("/proc/self/ns/pid")}`.trim()
  } catch {
    return boot
  }
}

/** This process as a holder of leases. */
export function currentHolder(): Holder {
  return {
    host: hostname(),
    bootID: bootID(),
    pid: process.pid,
    start: processStat(process.pid).start,
    instance: randomBytes(6).toString("hex"),
  }
}

/**
 * True only if the holder's process is certainly gone: same host and namespace, and no such process, or an earlier
 * boot.
 */
export function isDead(holder: Holder, own: Holder): boolean {
  if (holder.host !== own.host) return false
  const [boot, space] = holder.bootID.split(" ")
  const [ownBoot, ownSpace] = own.bootID.split(" ")
  if (boot !== ownBoot) return Boolean(boot) && Boolean(ownBoot)
  if (space !== ownSpace) return false
  try {
    process.kill(holder.pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH"
  }
  const { state, start } = processStat(holder.pid)
  if (state === "Z" || state === "X") return true
  return start !== "" && holder.start !== "" && start !== holder.start
}

export function sameHolder(a: Holder, b: Holder): boolean {
  return a.instance === b.instance && a.pid === b.pid && a.host === b.host && a.bootID === b.bootID
}
