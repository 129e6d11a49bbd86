import { runBenchmark } from "../run-groups.ts"
import { benchBuild } from "./groups/build.ts"
import { benchCompact } from "./groups/compact.ts"
import { benchFirst } from "./groups/first.ts"
import { benchOpen } from "./groups/open.ts"
import { benchPlan } from "./groups/plan.ts"
import { benchText } from "./groups/text.ts"
import { benchTurn } from "./groups/turn.ts"

await runBenchmark({
  about: "Times what a long history costs beside one that has only what is shown of it, and prints a table.",
  script: "bench:context",
  groups: {
    open: benchOpen,
    plan: benchPlan,
    build: benchBuild,
    compact: benchCompact,
    turn: benchTurn,
    first: benchFirst,
    text: benchText,
  },
  isStrict: true,
})
