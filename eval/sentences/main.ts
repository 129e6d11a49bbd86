import { readFile, writeFile } from "node:fs/promises"
import { parseArgs } from "node:util"
import { crossValidate } from "./cross-validate.ts"
import { readExamples } from "./examples.ts"
import { dataDirectory, weightsFile, weightsPath } from "./weights-file.ts"

const help = `npm run train:sentences -- [options]

Trains the models with which the ledger rates sentences, from the examples in eval/sentences/data, and writes
src/session/ledger/rank/sentence-weights.ts.

  --cross   writes nothing; for each file, trains on the other files and prints how well they label this one
  --check   writes nothing; prints whether the weights are those of the examples
  --help    print this text`

const { values } = parseArgs({
  options: {
    cross: { type: "boolean", default: false },
    check: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
})

if (values.help) console.log(help)
else await main()

async function main(): Promise<void> {
  const examples = await readExamples(dataDirectory)
  if (values.cross) {
    console.log(crossValidate(examples))
    return
  }
  const file = await weightsFile(examples)
  const isSame = file === (await readFile(weightsPath, "utf8").catch(() => ""))
  if (values.check) {
    console.log(isSame ? "The weights are up to date." : "The weights are not those of the examples.")
    if (!isSame) process.exitCode = 1
    return
  }
  await writeFile(weightsPath, file)
  console.log(`${examples.length} examples; the weights ${isSame ? "have not changed" : "were written"}.`)
}
