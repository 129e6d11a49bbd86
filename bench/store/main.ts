import { runBenchmark } from "../run-groups.ts"
import { benchChanges } from "./groups/changes.ts"
import { benchCommit } from "./groups/commit.ts"
import { benchDisk } from "./groups/disk.ts"
import { benchFork } from "./groups/fork.ts"
import { benchProcesses } from "./groups/processes.ts"
import { benchSearch } from "./groups/search.ts"
import { benchSessions } from "./groups/sessions.ts"

await runBenchmark({
  about: "Times the SQLite store beside bare node:sqlite and prints a table.",
  script: "bench:store",
  groups: {
    commit: benchCommit,
    fork: benchFork,
    sessions: benchSessions,
    search: benchSearch,
    changes: benchChanges,
    disk: benchDisk,
    processes: benchProcesses,
  },
  cached: "the corpus of the search group",
})
