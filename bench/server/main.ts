import { runBenchmark } from "../run-groups.ts"
import { builtPackage } from "./built-package.ts"
import { benchAtOnce } from "./groups/at-once.ts"
import { benchCrowd } from "./groups/crowd.ts"
import { benchDelay } from "./groups/delay.ts"
import { benchFirst } from "./groups/first.ts"
import { benchMemory } from "./groups/memory.ts"
import { benchReads } from "./groups/reads.ts"
import { benchStalled } from "./groups/stalled.ts"
import { benchStart } from "./groups/start.ts"
import { benchStream } from "./groups/stream.ts"
import { benchTurn } from "./groups/turn.ts"
import { benchTurns } from "./groups/turns.ts"

await using built = builtPackage()
await runBenchmark({
  about:
    "Times the server beside a plain node:http server that only relays the model's stream, and prints a table.",
  script: "bench:server",
  groups: {
    delay: (bench) => benchDelay(bench, built),
    stream: (bench) => benchStream(bench, built),
    crowd: (bench) => benchCrowd(bench, built),
    turn: (bench) => benchTurn(bench, built),
    turns: (bench) => benchTurns(bench, built),
    reads: (bench) => benchReads(bench, built),
    "at-once": (bench) => benchAtOnce(bench, built),
    start: (bench) => benchStart(bench, built),
    first: (bench) => benchFirst(bench, built),
    memory: (bench) => benchMemory(bench, built),
    stalled: (bench) => benchStalled(bench, built),
  },
  isStrict: true,
})
