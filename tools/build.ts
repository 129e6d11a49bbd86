import { spawnSync } from "node:child_process"
import { rmSync } from "node:fs"
import { resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { bundleProgram } from "./bundle-program.ts"

// Emits JavaScript and declarations for publishing; the sources themselves run without a build.
const root = fileURLToPath(new URL("..", import.meta.url))
const { values } = parseArgs({ options: { out: { type: "string", default: "dist" } } })
const out = resolve(root, values.out)

rmSync(out, { recursive: true, force: true })
const { status } = spawnSync(
  fileURLToPath(new URL("../node_modules/.bin/tsc", import.meta.url)),
  ["-p", "tsconfig.build.json", "--outDir", out],
  { cwd: root, stdio: "inherit" },
)
if (status === 0) await bundleProgram({ root, out })
process.exitCode = status ?? 1
