import { runBenchmark } from "../run-groups.ts"
import { benchDeltas } from "./groups/deltas.ts"
import { benchFirst } from "./groups/first.ts"
import { benchHistory } from "./groups/history.ts"
import { benchMany } from "./groups/many.ts"
import { benchTurn } from "./groups/turn.ts"

await runBenchmark({
  about: "Times runs beside a bare fetch loop and beside the AI SDK's doStream, and prints a table.",
  script: "bench:run",
  groups: {
    turn: benchTurn,
    history: benchHistory,
    deltas: benchDeltas,
    many: benchMany,
    first: benchFirst,
  },
  isStrict: true,
})
