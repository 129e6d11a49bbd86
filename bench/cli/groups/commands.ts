import { writeFile } from "node:fs/promises"
import { type Bench, scratchDirectory } from "../../bench.ts"
import type { BuiltPackage } from "../../server/built-package.ts"
import { startChild } from "../../server/child.ts"
import type { ModelHandlers } from "../../server/children/model.ts"
import { makeHome } from "../../server/home.ts"
import { marksPrompt } from "../../server/stage.ts"
import { inTurn, runProgram, type Way } from "../run-program.ts"

/** Commands that ask no model, beside a Node that does nothing. */
export async function benchCommands(bench: Bench, built: BuiltPackage): Promise<void> {
  await using scratch = await scratchDirectory()
  await using model = await startChild<ModelHandlers>("model.ts")
  const env = await makeHome(scratch.path("home"), await model.ask("baseURL"))
  const cwd = env.HOME
  const bare = scratch.path("bare.mjs")
  await writeFile(bare, "")
  const program = await built.path("bin/stemma.js")
  const stemma = (...args: string[]) => runProgram([program, ...args], { env, cwd })
  for (let i = 0; i < 3; i++) await stemma("run", marksPrompt({ marks: 50 }))
  const { stdout } = await stemma("session", "list")
  const id = /ses_\w+/.exec(stdout)?.[0]
  if (id === undefined) throw new Error(`There is no session in the list:\n${stdout}`)

  const commands = {
    "--version": { args: ["--version"], timesRawAtMost: 1.5 },
    "--help": { args: ["--help"], timesRawAtMost: 1.5 },
    "session list": { args: ["session", "list"], timesRawAtMost: 4 },
    "session show": { args: ["session", "show", id], timesRawAtMost: 4 },
    "run --help": { args: ["run", "--help"], timesRawAtMost: 4 },
  }
  const ways: Record<string, Way> = { bare: () => runProgram([bare], { env, cwd }) }
  for (const [name, { args }] of Object.entries(commands)) ways[name] = () => stemma(...args)
  const ran = await inTurn(ways, { rounds: bench.quick ? 2 : 15 })
  for (const [name, { timesRawAtMost }] of Object.entries(commands)) {
    bench.add({
      name: `stemma ${name}`,
      value: ran[name]!.value("wallMs"),
      p90: ran[name]!.p90("wallMs"),
      raw: ran.bare!.value("wallMs"),
      unit: "ms",
      target: { timesRawAtMost },
    })
  }
}
