import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { onStop } from "../on-stop.ts"

/** The calls that a child answers. */
export type Handlers = { [name: string]: (...input: never[]) => unknown }

/** A process of the benchmark that answers calls. It ends with its scope. */
export interface Child<H extends Handlers> extends AsyncDisposable {
  pid: number
  ask<K extends keyof H & string>(name: K, ...input: Parameters<H[K]>): Promise<Awaited<ReturnType<H[K]>>>
}

interface Question {
  id: number
  name: string
  input: unknown[]
}

interface Answer {
  id: number
  value?: unknown
  error?: string
}

const endMs = 3000

/** Starts a script of `children/`; resolves when it can be called. */
export async function startChild<H extends Handlers>(
  script: string,
  options: { args?: readonly string[] } = {},
): Promise<Child<H>> {
  const path = fileURLToPath(new URL(`./children/${script}`, import.meta.url))
  const profile = process.env.BENCH_PROFILE === script ? ["--cpu-prof"] : []
  const child = spawn(process.execPath, ["--expose-gc", ...profile, path, ...(options.args ?? [])], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    serialization: "advanced",
  })
  const forget = onStop(() => child.kill("SIGKILL"))
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()))
  const waiting = new Map<number, PromiseWithResolvers<unknown>>()
  const ready = Promise.withResolvers<unknown>()
  waiting.set(0, ready)
  child.on("message", (message) => {
    const { id, value, error } = message as Answer
    const question = waiting.get(id)
    waiting.delete(id)
    if (error === undefined) question?.resolve(value)
    else question?.reject(new Error(`${script}: ${error}`))
  })
  const fail = (error: Error) => {
    for (const { reject } of waiting.values()) reject(error)
    waiting.clear()
  }
  child.once("error", fail)
  child.once("exit", (code, signal) => fail(new Error(`${script} ended with ${code ?? signal}.`)))
  let last = 0
  await ready.promise
  return {
    pid: child.pid!,
    ask(name, ...input) {
      const question: Question = { id: ++last, name, input }
      const answer = Promise.withResolvers<unknown>()
      waiting.set(question.id, answer)
      child.send(question)
      return answer.promise as Promise<never>
    },
    async [Symbol.asyncDispose]() {
      if (child.connected) child.disconnect()
      const timer = setTimeout(() => child.kill("SIGKILL"), endMs)
      await exited
      clearTimeout(timer)
      forget()
    },
  }
}

/** The child's side: answers until its parent is gone. */
export function answerParent(handlers: Handlers): void {
  process.once("disconnect", () => process.exit())
  process.on("message", ({ id, name, input }: Question) => {
    Promise.try(handlers[name] as (...input: unknown[]) => unknown, ...input).then(
      (value) => process.send!({ id, value } satisfies Answer),
      (error: unknown) => process.send!({ id, error: textOf(error) } satisfies Answer),
    )
  })
  process.send!({ id: 0 } satisfies Answer)
}

function textOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
