import { SentenceModel } from "../../src/session/ledger/rank/sentence-model.ts"
import type { Example } from "./examples.ts"
import { type Head, heads, labelled } from "./heads.ts"
import { train } from "./train.ts"

interface Judged {
  chance: number
  label: boolean
}

/** A table: for each head and each file, how well a model trained on the other files labels this file. */
export function crossValidate(examples: readonly Example[]): string {
  const lines = ["head              file                 examples     AUC   right"]
  for (const [name, head] of Object.entries<Head>(heads)) {
    for (const file of new Set(examples.filter(head.of).map((example) => example.file))) {
      const model = new SentenceModel(
        train(
          labelled(
            examples.filter((one) => one.file !== file),
            head,
          ),
        ),
      )
      const judged = examples
        .filter((one) => one.file === file)
        .map((one) => ({ chance: model.chance(one.text), label: head.finds(one) }))
      const right = judged.filter(({ chance, label }) => chance > 0.5 === label).length / judged.length
      lines.push(
        `${name.padEnd(18)}${file.padEnd(21)}${String(judged.length).padStart(8)}${percent(area(judged))}${percent(right)}`,
      )
    }
  }
  return lines.join("\n")
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`.padStart(8)
}

/** How often an example that must be found is ranked above one that must not (the AUC). */
function area(judged: readonly Judged[]): number {
  const sorted = judged.toSorted((a, b) => a.chance - b.chance)
  const found = judged.filter(({ label }) => label).length
  const ranks = sorted.reduce((sum, { label }, index) => sum + (label ? index + 1 : 0), 0)
  return (ranks - (found * (found + 1)) / 2) / (found * (judged.length - found))
}
