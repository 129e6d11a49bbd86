/**
 * Answers a prompt without a tracer provider, and another one after a provider that does nothing was registered. Prints
 * after each whether the tracing API was loaded. Started by `test/run/traces.test.ts` with its own directory.
 */
import { registerHooks } from "node:module"

const loaded = new Set<string>()
registerHooks({
  resolve(specifier, context, next) {
    loaded.add(specifier)
    return next(specifier, context)
  },
})

const { createScriptedModel, openStemma } = await import("../../../src/index.ts")

const data = process.argv[2]!
const model = createScriptedModel([{ text: "One." }, { text: "Two." }])
const stemma = await openStemma({
  directory: data,
  data,
  env: { PATH: process.env.PATH },
  models: { scripted: () => model },
  config: { model: "scripted/scripted", title: false },
})
const session = await stemma.sessions.create()

async function answer(): Promise<void> {
  const { text } = await session.prompt("Hello")
  const isLoaded = [...loaded].some((specifier) => specifier.includes("opentelemetry"))
  console.log(JSON.stringify({ text, isLoaded }))
}

await answer()
Object.assign(globalThis, { [Symbol.for("opentelemetry.js.api.1")]: { version: "1.9.1", trace: {} } })
await answer()
await stemma.close()
