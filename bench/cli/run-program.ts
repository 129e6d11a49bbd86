import { spawn } from "node:child_process"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import { median, percentile } from "../measure.ts"
import { onStop } from "../on-stop.ts"

const usage = fileURLToPath(new URL("./children/usage.cjs", import.meta.url))

/** What one process took, from before its start until it has ended. */
export interface Ran {
  wallMs: number
  /** Of all threads. */
  cpuMs: number
  /** The largest resident set. */
  memoryMB: number
  stdout: string
}

/** Runs a script with this Node, without a terminal. Throws if it fails. */
export async function runProgram(
  args: readonly string[],
  { env, cwd }: { env: Record<string, string>; cwd: string },
): Promise<Ran> {
  const startMs = performance.now()
  const child = spawn(process.execPath, ["--require", usage, ...args], {
    env,
    cwd,
    stdio: ["ignore", "pipe", "pipe", "pipe"],
  })
  const forget = onStop(() => child.kill("SIGKILL"))
  const outputs = Promise.all([1, 2, 3].map((index) => text(child.stdio[index] as NodeJS.ReadableStream)))
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject)
    child.once("close", resolve)
  })
  const wallMs = performance.now() - startMs
  forget()
  const [stdout, stderr, used] = (await outputs) as [string, string, string]
  if (code !== 0) throw new Error(`${args.join(" ")} ended with ${code}:\n${stderr}`)
  const { userCPUTime, systemCPUTime, maxRSS } = JSON.parse(used) as NodeJS.ResourceUsage
  return { wallMs, cpuMs: (userCPUTime + systemCPUTime) / 1000, memoryMB: (maxRSS * 1024) / 1e6, stdout }
}

export type Way = () => Promise<Ran>

/** The processes of one way, in the order in which they ran. */
export interface Series {
  /** The process before the measured ones: it finds no compiled code. */
  first: Ran
  value(of: keyof Ran & ("wallMs" | "cpuMs" | "memoryMB")): number
  p90(of: keyof Ran & ("wallMs" | "cpuMs" | "memoryMB")): number
}

/** Runs several ways in turn, so that all have the same machine. */
export async function inTurn<Name extends string>(
  ways: Record<Name, Way>,
  { rounds }: { rounds: number },
): Promise<Record<Name, Series>> {
  const names = Object.keys(ways) as Name[]
  const ran = Object.fromEntries(names.map((name) => [name, [] as Ran[]])) as Record<Name, Ran[]>
  for (let round = 0; round <= rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) ran[name].push(await ways[name]())
  }
  const series = names.map((name): [Name, Series] => {
    const [first, ...measured] = ran[name] as [Ran, ...Ran[]]
    return [
      name,
      {
        first,
        value: (of) => median(measured.map((one) => one[of])),
        p90: (of) =>
          percentile(
            measured.map((one) => one[of]),
            0.9,
          ),
      },
    ]
  })
  return Object.fromEntries(series) as Record<Name, Series>
}
