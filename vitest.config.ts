import { availableParallelism } from "node:os"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"

// Types are stripped once and not in each process and thread: many threads that do so at once make V8 fail now and then.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL("node_modules/.cache/node", import.meta.url))

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    exclude: ["test/soak/**", "node_modules/**"],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    pool: "forks",
    // Many tests wait for processes of their own: with as many files at once as cores, half of the time nobody works.
    maxWorkers: Math.ceil(availableParallelism() * 1.5),
  },
})
