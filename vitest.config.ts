import { availableParallelism } from "node:os"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"
import { startsBuiltWorker } from "./test/support/built.ts"

// Types are stripped once and not in each process and thread: many threads that do so at once make V8 fail now and then.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL("node_modules/.cache/node", import.meta.url))

/**
 * Tests that start Stemma as other processes, and tests that change or measure their own process (environment, working
 * directory, listeners, memory, timers).
 */
const processes = [
  "test/cli/**/*.test.ts",
  "test/client/{replica,replica-crash}.test.ts",
  "test/models/{faults,hostile-answers,registry}.test.ts",
  "test/run/{compaction-crash,crash,promise-failure,prompt-iteration,shell-command,slow-disk,traces,two-processes}.test.ts",
  "test/server/{body-bounds,safety-closing,safety-requests,stalled}.test.ts",
  "test/stores/{bad-files,crash,jsonl-crowd,jsonl-journal,processes,sync}.test.ts",
  "test/tasks/{crash,references-run,subtask}.test.ts",
  "test/tools/{file-race,file-read,webfetch}.test.ts",
  "test/workspace/{paths,project-races,snapshot-hostile,snapshots}.test.ts",
  "test/{examples,package}.test.ts",
]

const timeouts = { testTimeout: 120_000, hookTimeout: 120_000 }
const build = { globalSetup: ["test/support/global-setup.ts"] }

/** CONTRIBUTING.md says which project a new test belongs to. */
export default defineConfig({
  test: {
    // Many tests wait for other processes or for the disk: with as many files at once as cores, cores are idle.
    maxWorkers: Math.ceil(availableParallelism() * 1.5),
    sequence: { sequencer: byProject() },
    projects: [
      {
        plugins: [startsBuiltWorker()],
        test: { name: "processes", include: processes, ...timeouts, ...build },
      },
      {
        plugins: [startsBuiltWorker()],
        test: {
          name: "engine",
          include: ["test/*/**/*.test.ts"],
          exclude: ["test/soak/**", ...processes],
          isolate: false,
          ...timeouts,
          ...build,
        },
      },
      {
        test: {
          name: "unit",
          include: ["src/**/*.test.ts", "test/*.test.ts"],
          exclude: processes,
          isolate: false,
          ...timeouts,
        },
      },
    ],
  },
})

/**
 * Runs one project after the other, the one with the longest tests first. A process that several files share is kept only
 * as long as the next file is of the same project.
 */
function byProject() {
  const order = ["processes", "engine", "unit"]
  const rank = ({ project }: TestSpecification) => order.indexOf(project.name)
  return class extends BaseSequencer {
    override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
      return (await super.sort(files)).sort((a, b) => rank(a) - rank(b))
    }
  }
}
