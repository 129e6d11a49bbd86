import { fileURLToPath } from "node:url"
import { type Bench, scratchDirectory } from "../../bench.ts"
import { makeGitProject } from "../../run/git-project.ts"
import type { BuiltPackage } from "../../server/built-package.ts"
import { startChild } from "../../server/child.ts"
import type { ModelHandlers } from "../../server/children/model.ts"
import { makeHome } from "../../server/home.ts"
import { marksPrompt } from "../../server/stage.ts"
import { inTurn, runProgram } from "../run-program.ts"

const bareFetch = fileURLToPath(new URL("../children/bare-fetch.mjs", import.meta.url))
const marks = 50

/** `stemma run`: one prompt, one answer, one process. */
export async function benchRun(bench: Bench, built: BuiltPackage): Promise<void> {
  await using scratch = await scratchDirectory()
  await using model = await startChild<ModelHandlers>("model.ts")
  const baseURL = await model.ask("baseURL")
  const env = await makeHome(scratch.path("home"), baseURL)
  const titled = await makeHome(scratch.path("titled"), baseURL, { title: true })
  const cwd = scratch.path("project")
  await makeGitProject(cwd)
  const program = await built.path("bin/stemma.js")
  const text = marksPrompt({ marks })

  const ran = await inTurn(
    {
      bare: () => runProgram([bareFetch, baseURL, text], { env, cwd }),
      run: () => runProgram([program, "run", text], { env, cwd }),
      named: () =>
        runProgram([program, "run", "--model", "local/m1", "--agent", "build", text], { env, cwd }),
      continued: () => runProgram([program, "run", "--continue", text], { env, cwd }),
      titled: () => runProgram([program, "run", text], { env: titled, cwd }),
    },
    { rounds: bench.quick ? 2 : 21 },
  )
  if (ran.run.first.stdout.trim() === "") throw new Error("The run printed no answer.")

  const { bare, run } = ran
  const wall = (name: keyof typeof ran) => ({
    value: ran[name].value("wallMs"),
    p90: ran[name].p90("wallMs"),
    raw: bare.value("wallMs"),
    unit: "ms",
  })
  bench.add({ name: "one-shot run", ...wall("run"), first: run.first.wallMs, target: { under: 350 } })
  bench.add({
    name: "CPU of a one-shot run",
    value: run.value("cpuMs"),
    p90: run.p90("cpuMs"),
    raw: bare.value("cpuMs"),
    first: run.first.cpuMs,
    unit: "ms",
  })
  bench.add({
    name: "memory of a one-shot run",
    value: run.value("memoryMB"),
    p90: run.p90("memoryMB"),
    raw: bare.value("memoryMB"),
    first: run.first.memoryMB,
    unit: "MB",
    target: { under: 100 },
  })
  bench.add({ name: "one-shot run, --model and --agent", ...wall("named"), target: { under: 350 } })
  bench.add({ name: "one-shot run, --continue", ...wall("continued") })
  bench.add({ name: "one-shot run and its title", ...wall("titled") })
}
