#!/usr/bin/env node
// Even a Node from before ES modules can parse this file, so that an old one gives a sentence instead of a syntax error.
const major = Number.parseInt(process.versions.node, 10)

if (major < 24) {
  console.error(`stemma needs Node.js 24 or newer; this is ${process.version}.`)
  process.exitCode = 1
} else {
  keepCompiledCode()
    .then(() => import("../src/cli/main.ts"))
    .catch((error) => {
      // The published package has no sources; a checkout runs them, whatever was built of it at some time.
      if (error.code !== "ERR_MODULE_NOT_FOUND" || !String(error.url).endsWith("/src/cli/main.ts"))
        throw error
      return import("../dist/cli/main.js")
    })
    .then((cli) => cli.main(process.argv.slice(2)))
    .then(
      (exitCode) => {
        process.exitCode = exitCode
      },
      (error) => {
        console.error(error)
        process.exitCode = 1
      },
    )
}

/** The next start is faster by half. Only where nobody else can write, and never a reason to fail. */
function keepCompiledCode() {
  const first = process.argv[2]
  if (first === undefined || first.charAt(0) === "-") return Promise.resolve()
  return Promise.all([import("node:module"), import("node:path"), import("node:os")])
    .then((modules) => {
      const path = modules[1]
      const env = process.env
      const cache =
        env.XDG_CACHE_HOME && path.isAbsolute(env.XDG_CACHE_HOME)
          ? env.XDG_CACHE_HOME
          : path.join(modules[2].homedir(), ".cache")
      modules[0].enableCompileCache(path.join(cache, "stemma", "compiled"))
    })
    .catch(() => undefined)
}
