import { runBenchmark } from "../run-groups.ts"
import { benchMany } from "./groups/many.ts"
import { benchMemory } from "./groups/memory.ts"
import { benchOne } from "./groups/one.ts"

await runBenchmark({
  about: "Times tasks beside plain sessions that make as many calls of models and tools, and prints a table.",
  script: "bench:tasks",
  groups: {
    one: benchOne,
    many: benchMany,
    memory: benchMemory,
  },
  isStrict: true,
})
