#!/usr/bin/env node
// Even a Node from before ES modules can parse this file, so that an old one gives a sentence instead of a syntax error.
const major = Number.parseInt(process.versions.node, 10)

if (major < 24) {
  console.error(`stemma needs Node.js 24 or newer; this is ${process.version}.`)
  process.exitCode = 1
} else {
  import("../dist/cli/main.js")
    .catch((error) => {
      // A checkout that was not built has the sources instead; the published package has no sources.
      if (error.code !== "ERR_MODULE_NOT_FOUND" || !String(error.url).endsWith("/dist/cli/main.js"))
        throw error
      return import("../src/cli/main.ts")
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
