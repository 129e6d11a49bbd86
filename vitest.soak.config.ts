import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"
import { startsBuiltWorker } from "./test/support/built.ts"

// Types are stripped once and not in each process and thread: many threads that do so at once make V8 fail now and then.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL("node_modules/.cache/node", import.meta.url))

/** Random tests of `npm test` that repeat more often here. */
const longer = [
  "test/client/replica-property.test.ts",
  "test/run/{ascending-ids,context-property,history-memo-property,slow-disk}.test.ts",
  "test/server/fuzz.test.ts",
  "test/server/share-secrets.test.ts",
  "test/session/{ledger,search}.test.ts",
  "test/stores/processes.test.ts",
  "test/stream/hub-property.test.ts",
  "test/tasks/crash.test.ts",
  "test/tools/{file-swapping,shell-property}.test.ts",
  "test/workspace/snapshot-take.test.ts",
]

/** Long random tests, by hand or at night: `npm run soak`. STEMMA_SOAK=3 makes them three times as long. */
export default defineConfig({
  plugins: [startsBuiltWorker()],
  test: {
    include: ["test/soak/**/*.test.ts", ...longer],
    // Tells the tests that they have time: `repeats` in test/support/seed.ts multiplies by it.
    env: { STEMMA_SOAK: process.env.STEMMA_SOAK ?? "1" },
    globalSetup: ["test/support/global-setup.ts"],
    testTimeout: 3_600_000,
    hookTimeout: 60_000,
    pool: "forks",
    maxWorkers: 2,
  },
})
