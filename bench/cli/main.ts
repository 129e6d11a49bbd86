import { runBenchmark } from "../run-groups.ts"
import { builtPackage } from "../server/built-package.ts"
import { benchCommands } from "./groups/commands.ts"
import { benchRun } from "./groups/run.ts"

await using built = builtPackage()
await runBenchmark({
  about:
    "Times the program of the built package, each command in a process of its own, beside bare Node processes, and prints a table.",
  script: "bench:cli",
  groups: {
    run: (bench) => benchRun(bench, built),
    commands: (bench) => benchCommands(bench, built),
  },
  isStrict: true,
})
