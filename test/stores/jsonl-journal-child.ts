/** Makes the change of the first scenario and kills itself at the given call that changes a file. */
import { writeSync } from "node:fs"
import { openJsonlStoreOn } from "../../src/stores/jsonl/index.ts"
import { FaultyFiles } from "./jsonl-faults.ts"
import { scenarios } from "./jsonl-journal-scenarios.ts"

const [directory, call] = process.argv.slice(2) as [string, string]
const files = new FaultyFiles(directory)
const store = await openJsonlStoreOn(files, {})
const [scenario] = scenarios
const fence = await scenario!.claim(store)
let calls = 0
files.fault = () => {
  calls++
  if (calls === Number(call)) process.kill(process.pid, "SIGKILL")
  return "pass"
}
await scenario!.change(store, fence)
writeSync(1, `${JSON.stringify({ answered: true })}\n`)
process.kill(process.pid, "SIGKILL")
