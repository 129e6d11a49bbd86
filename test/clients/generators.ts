import { execFile } from "node:child_process"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { installPackages } from "./install.ts"
import { type ClientScene, token } from "./scene.ts"

const packages = [
  "@redocly/cli@2.73.0",
  "openapi-typescript@7.13.0",
  "openapi-fetch@0.17.0",
  "@hey-api/openapi-ts@0.95.0",
  "typescript@5.9.3",
]

const compilerOptions = {
  strict: true,
  noEmit: true,
  target: "es2023",
  module: "esnext",
  moduleResolution: "bundler",
  lib: ["es2023", "dom", "dom.iterable"],
  types: [],
  skipLibCheck: true,
}

/** A program against each generated client: it lists sessions, creates one and reads it. */
const programs = {
  "openapi-typescript.ts": `import createClient from "openapi-fetch"
import type { paths } from "./openapi-typescript/api.ts"

const client = createClient<paths>({ baseUrl: "", headers: {} })
const made = await client.POST("/sessions", { body: { title: "Tea" } })
const id: string = made.data!.id
const read = await client.GET("/sessions/{id}", { params: { path: { id } } })
export const title: string = read.data!.title
`,
  "hey-api.ts": `import { client } from "./hey-api/client.gen.ts"
import { sessionInfo, sessionsCreate } from "./hey-api/index.ts"

client.setConfig({ baseUrl: process.argv[2]!, auth: () => process.argv[3]! })
const made = await sessionsCreate({ body: { title: "Tea" }, throwOnError: true })
const read = await sessionInfo({ path: { id: made.data.id }, throwOnError: true })
console.log(read.data.title)
declare const process: { argv: string[] }
`,
}

interface GeneratorCheck {
  name: string
  run(scene: ClientScene): Promise<void>
}

/** Each check uses the files of the checks before it. */
export const generatorChecks: readonly GeneratorCheck[] = [
  {
    name: "redocly lint (recommended) finds no error",
    async run(scene) {
      const directory = await prepare(scene)
      await start(directory, "redocly", ["lint", "--extends", "recommended", "openapi.json"])
    },
  },
  {
    name: "openapi-typescript generates types that compile in a program",
    async run(scene) {
      const directory = await prepare(scene)
      await start(directory, "openapi-typescript", ["openapi.json", "-o", "openapi-typescript/api.ts"])
      await compile(directory, "openapi-typescript.ts")
    },
  },
  {
    name: "@hey-api/openapi-ts generates a client that compiles",
    async run(scene) {
      const directory = await prepare(scene)
      await start(directory, "openapi-ts", ["-i", "openapi.json", "-o", "hey-api"])
      await compile(directory, "hey-api.ts")
    },
  },
]

/** The directory with the generators, the server's document and the programs. */
async function prepare(scene: ClientScene): Promise<string> {
  const directory = await installPackages("generators", packages)
  const response = await fetch(new URL("/openapi.json", scene.url), {
    headers: { authorization: `Bearer ${token}` },
  })
  await writeFile(join(directory, "openapi.json"), await response.text())
  for (const [name, text] of Object.entries(programs)) await writeFile(join(directory, name), text)
  return directory
}

async function compile(directory: string, program: string): Promise<void> {
  const config = join(directory, "tsconfig.json")
  const options = { ...compilerOptions, allowImportingTsExtensions: true }
  await writeFile(config, JSON.stringify({ compilerOptions: options, files: [program] }))
  await start(directory, "tsc", ["-p", config])
}

async function start(directory: string, name: string, args: readonly string[]): Promise<void> {
  const program = join(directory, "node_modules/.bin", name)
  try {
    await promisify(execFile)(process.execPath, [program, ...args], { cwd: directory, timeout: 300_000 })
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    throw new Error(`${name} failed:\n${`${stdout}${stderr}`.slice(-3000)}`, { cause: error })
  }
}
