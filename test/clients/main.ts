import { generatorChecks } from "./generators.ts"
import { installOpencode } from "./install.ts"
import { runAttached } from "./opencode-run.ts"
import { opencodeStory } from "./opencode-story.ts"
import { type ClientScene, clientScene, token } from "./scene.ts"
import { ClientTerminal } from "./terminal.ts"

const version = "1.18.33"
const runs = 20

let failed = 0

/** Prints whether a step passed, with its time, and the screen if it did not. */
async function check(name: string, work: () => Promise<void>): Promise<void> {
  const startMs = performance.now()
  try {
    await work()
    process.stdout.write(`  passed  ${name} (${Math.round(performance.now() - startMs)} ms)\n`)
  } catch (error) {
    failed++
    process.stdout.write(`  FAILED  ${name}\n${(error as Error).message.replace(/^/gm, "    ")}\n`)
  }
}

async function story(program: string, scene: ClientScene): Promise<void> {
  process.stdout.write(`opencode ${version} attach: what a person sees\n`)
  await using terminal = new ClientTerminal({
    program,
    args: ["attach", scene.url, "--password", token],
    directory: scene.project,
    env: scene.env,
  })
  for (const step of opencodeStory) await check(step.name, () => step.run(terminal, scene))
}

async function manyRuns(program: string, scene: ClientScene): Promise<void> {
  process.stdout.write(`opencode ${version} run --attach: the whole answer is printed\n`)
  for (let round = 1; round <= runs; round++)
    await check(`run ${round} of ${runs}`, () => runAttached(program, scene, round))
}

async function generators(scene: ClientScene): Promise<void> {
  process.stdout.write("generators of clients read /openapi.json\n")
  for (const { name, run } of generatorChecks) await check(name, () => run(scene))
}

const program = await installOpencode(version)
const scene = await clientScene()
try {
  await story(program, scene)
  await manyRuns(program, scene)
  await generators(scene)
} finally {
  await scene[Symbol.asyncDispose]()
}
process.stdout.write(failed === 0 ? "All passed.\n" : `${failed} failed.\n`)
process.exitCode = failed === 0 ? 0 : 1
