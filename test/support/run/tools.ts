import { appendFileSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { z } from "zod"
import type { Tool } from "../../../src/index.ts"

/** A line of the file that records which tools ran. */
export interface Ran {
  tool: string
  callID: string
  pid: number
}

const Input = z.object({ number: z.number(), waitMs: z.number() })
type Input = z.infer<typeof Input>

/**
 * Tools that record each run in a durable line before they do anything else: `look` may be repeated; `note`, `put`
 * (which writes a file) and `wish` (which asks a person) may not; `die` kills its process but may be repeated.
 */
export function createRunTools({ ran }: { ran: string }): readonly Tool<never>[] {
  const tool = (
    name: string,
    options: Partial<Omit<Tool<Input>, "execute">> & {
      work?: (input: Input, directory: string) => Promise<void>
    },
  ): Tool<Input> => {
    const { work, ...rest } = options
    return {
      name,
      description: `Does ${name}.`,
      input: Input,
      replay: "never",
      writes: false,
      wants: async () => [{ permission: name, patterns: ["*"] }],
      async execute(input, context) {
        const line: Ran = { tool: name, callID: context.callID, pid: process.pid }
        appendFileSync(ran, `${JSON.stringify(line)}\n`)
        context.print(`${name} ${input.number} begins\n`)
        await work?.(input, context.workspace.directory)
        await pause(input.waitMs, context.signal)
        return { title: name, output: `${name} ${input.number} is done` }
      },
      ...rest,
    }
  }
  return [
    tool("look", { replay: "safe" }),
    tool("note", {}),
    tool("put", {
      writes: true,
      work: ({ number }, directory) => writeFile(join(directory, `put-${number}.txt`), `put ${number}\n`),
    }),
    tool("wish", {
      wants: async ({ number }) => [{ permission: "wish", patterns: [String(number)] }],
    }),
    tool("die", {
      replay: "safe",
      work: async () => {
        process.kill(process.pid, "SIGKILL")
      },
    }),
  ] as readonly unknown[] as readonly Tool<never>[]
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  signal.addEventListener("abort", () => {
    clearTimeout(timer)
    reject(signal.reason)
  })
  return promise
}
