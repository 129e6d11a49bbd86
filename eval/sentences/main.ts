import { readFile, writeFile } from "node:fs/promises"
import { parseArgs } from "node:util"
import { crossValidate } from "./cross-validate.ts"
import { readExamples } from "./examples.ts"
import { dataDirectory, weightsFile, weightsPath } from "./weights-file.ts"

const help = `npm run train:sentences -- [options]

Trains the models with which the ledger judges sentences, from the examples in eval/sentences/data, and writes
src/session/ledger/rank/sentence-weights.ts.

  --cross   only train without one file of examples at a time and print how well the others tell it
  --check   only say whether the weights are those of the examples
  --help    print this`

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
    console.log(isSame ? "The weights are those of the examples." : "The weights are of other examples.")
    if (!isSame) process.exitCode = 1
    return
  }
  await writeFile(weightsPath, file)
  console.log(`${examples.length} examples; the weights ${isSame ? "stay as they were" : "were written"}.`)
}
