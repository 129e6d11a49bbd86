import { defineConfig } from "vitest/config"

/** Long random tests, by hand or at night: `npm run soak`. STEMMA_SOAK=3 makes them three times as long. */
export default defineConfig({
  test: {
    include: ["test/soak/**/*.test.ts"],
    testTimeout: 3_600_000,
    hookTimeout: 60_000,
    pool: "forks",
    maxWorkers: 2,
  },
})
