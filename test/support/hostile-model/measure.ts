import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import { startChild } from "../child-process.ts"
import type { HostileGo, HostileProgress, HostileReport } from "../children/hostile-answer-child.ts"
import { temporaryDirectory } from "../temporary-directory.ts"
import type { HostileAnswer } from "./answers.ts"
import { type HostileServer, hostileModel, shortModel } from "./server.ts"

const token = "token-of-the-hostile-test"

export interface MeasureOptions {
  answers: readonly HostileAnswer[]
  /** The `answer` of the config. */
  bounds?: { bytesMax?: number; argumentBytesMax?: number; callsMax?: number }
  /** How long the process may take to give its memory back, and how much it may keep of each answer. */
  restMs?: number
  restBytes?: number
  limitMs?: number
  keepsHeapSmall?: boolean
}

/** Lets a Stemma in a process of its own, with a subscriber, take hostile answers, and returns what it reports. */
export async function measureAnswers(
  server: HostileServer,
  options: MeasureOptions,
): Promise<HostileReport[]> {
  const {
    answers,
    bounds = {},
    restMs = 0,
    restBytes = 0,
    limitMs = 120_000,
    keepsHeapSmall = false,
  } = options
  await using temporary = await temporaryDirectory()
  const [directory, data] = [join(temporary.path, "project"), join(temporary.path, "data")]
  await mkdir(directory)
  await using child = startChild("hostile-answer-child.ts", {
    output: join(temporary.path, "output"),
    limitMs,
  })
  await child.ready
  child.process.on("message", async (progress: HostileProgress) => {
    if (progress === "ready") return
    await subscribe(progress.url)
    child.process.send("go")
  })
  child.process.send({
    directory,
    data,
    token,
    warm: [...new Set(answers.map(({ api }) => `${api}/${shortModel}`))],
    models: answers.map(hostileModel),
    restMs,
    restBytes,
    keepsHeapSmall,
    config: {
      model: `chat/${shortModel}`,
      title: false,
      snapshot: false,
      permission: { "*": "allow" },
      provider: server.provider,
      answer: bounds,
    },
  } satisfies HostileGo)
  const { code } = await child.ended
  if (code !== 0) throw new Error(`The process ended with ${code}: ${child.errors()}`)
  return child.lines<HostileReport>()
}

/** Reads the events of the server until it closes. */
async function subscribe(url: string): Promise<void> {
  const response = await fetch(`${url}/event`, { headers: { authorization: `Bearer ${token}` } })
  const read = async () => {
    for await (const _ of response.body!);
  }
  read().catch(() => {})
}
