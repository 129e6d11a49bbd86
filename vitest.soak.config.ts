import { tmpdir } from "node:os"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"
import { startsBuiltWorker } from "./test/support/built.ts"

/** Long random tests, by hand or at night: `npm run soak`. STEMMA_SOAK=3 makes them three times as long. */
// Types are stripped once and not in each process and thread: many threads that do so at once make V8 fail now and then.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL("node_modules/.cache/node", import.meta.url))
// Stores are on the disk here, and in memory in `npm test`.
process.env.TMPDIR ??= tmpdir()

export default defineConfig({
  plugins: [startsBuiltWorker()],
  test: {
    include: ["test/soak/**/*.test.ts"],
    globalSetup: ["test/support/global-setup.ts"],
    testTimeout: 3_600_000,
    hookTimeout: 60_000,
    pool: "forks",
    maxWorkers: 2,
  },
})
