import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { delimiter } from "node:path"
import { fileURLToPath } from "node:url"

interface Step {
  name: string
  command: string
  args: string[]
}

interface Result {
  name: string
  code: number
  seconds: number
  output: string
}

const bin = (name: string): string => fileURLToPath(new URL(`../node_modules/.bin/${name}`, import.meta.url))
const tool = (name: string): string => fileURLToPath(new URL(name, import.meta.url))
const root = fileURLToPath(new URL("..", import.meta.url))

const steps: Step[] = [
  { name: "format and lint", command: bin("biome"), args: ["check", "--error-on-warnings", "."] },
  { name: "types", command: bin("tsc"), args: ["-p", "tsconfig.json"] },
  { name: "floating promises", command: process.execPath, args: [tool("floating-promises.ts")] },
  { name: "package and folder READMEs", command: process.execPath, args: [tool("package-check.ts")] },
  { name: "HTTP documents are current", command: process.execPath, args: [tool("openapi.ts")] },
  { name: "API page is current", command: process.execPath, args: [tool("api-doc.ts")] },
  {
    name: "import table",
    command: bin("vitest"),
    args: ["run", "--reporter=dot", "test/boundaries.test.ts"],
  },
]

async function run(step: Step): Promise<Result> {
  const start = performance.now()
  const env = { ...process.env, PATH: `${bin("")}${delimiter}${process.env.PATH ?? ""}` }
  const child = spawn(step.command, step.args, { cwd: root, env, stdio: ["ignore", "pipe", "pipe"] })
  let output = ""
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text
    })
  const code = await new Promise<number>((resolve) => {
    child.on("error", (error) => {
      output += `${error.message}\n`
      resolve(1)
    })
    child.on("close", (status) => resolve(status ?? 1))
  })
  return { name: step.name, code, seconds: (performance.now() - start) / 1000, output }
}

if (!existsSync(bin("biome"))) {
  console.error("The tools are not installed. Run: npm ci")
  process.exit(1)
}
const start = performance.now()
const results = await Promise.all(
  steps.map(async (step) => {
    const result = await run(step)
    console.log(`${result.code === 0 ? "ok  " : "FAIL"} ${result.name} (${result.seconds.toFixed(1)} s)`)
    return result
  }),
)
const failed = results.filter((result) => result.code !== 0)
for (const { name, output } of failed) console.log(`\n${name}:\n${output.trimEnd()}`)
const seconds = ((performance.now() - start) / 1000).toFixed(1)
console.log(failed.length === 0 ? `All good in ${seconds} s.` : `\n${failed.length} failed in ${seconds} s.`)
process.exitCode = failed.length === 0 ? 0 : 1
