#!/usr/bin/env node
// Even a Node from before ES modules can parse this file, so that an old one gives a sentence instead of a syntax error.
const major = Number.parseInt(process.versions.node, 10)

if (major < 24) {
  console.error(`stemma needs Node.js 24 or newer; this is ${process.version}.`)
  process.exitCode = 1
} else {
  start(process.argv.slice(2)).then(
    (exitCode) => {
      process.exitCode = exitCode
    },
    (error) => {
      console.error(error)
      process.exitCode = 1
    },
  )
}

/** The published package has no sources; a checkout runs them, whatever was built of it at some time. */
function start(args) {
  // Faster than an import, which loads everything that a module of Node could need.
  const node = (name) => process.getBuiltinModule(name)
  const here = node("node:fs").realpathSync(process.argv[1])
  const sources = node("node:path").join(here, "../../src/cli/main.ts")
  if (node("node:fs").existsSync(sources)) return startSources(args)
  return import("../dist/cli/start.cjs").then((program) => program.start(args))
}

function startSources(args) {
  return keepCompiledCode(args[0])
    .then(() => import("../src/cli/main.ts"))
    .then((cli) => cli.main(args))
}

/** The next start is faster by half. Only where nobody else can write, and never a reason to fail. */
function keepCompiledCode(first) {
  if (first === undefined || first.charAt(0) === "-") return Promise.resolve()
  return Promise.all([import("node:module"), import("node:path"), import("node:os")])
    .then((modules) => {
      const path = modules[1]
      const env = process.env
      const cache =
        env.XDG_CACHE_HOME && path.isAbsolute(env.XDG_CACHE_HOME)
          ? env.XDG_CACHE_HOME
          : path.join(modules[2].homedir(), ".cache")
      if (path.isAbsolute(cache)) modules[0].enableCompileCache(path.join(cache, "stemma", "compiled"))
    })
    .catch(() => undefined)
}
