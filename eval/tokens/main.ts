import { writeFile } from "node:fs/promises"
import { parseArgs } from "node:util"
import { type NewFigure, Report } from "../../bench/figure.ts"
import { median } from "../../bench/measure.ts"
import { table } from "../../bench/table.ts"
import { estimateTokens, estimateTokensPlainly } from "../../src/session/usage/tokens.ts"
import { type Comparison, compare, compareKinds, errorPercent } from "./compare.ts"
import { judgedKinds, readSamples, type Sample } from "./samples.ts"
import { loadTokenizers, type TokenizerName, type Tokenizers, tokenizerNames } from "./tokenizers.ts"

const help = `Compares the token estimate with two real tokenizers. A line has the error in percent of the real count, under "raw"
the error of the plain rule (a quarter token per character, half a token per Chinese, Japanese or Korean one), and in brackets
the estimated and the real number of tokens.

  npm run eval:tokens -- [options]

  --json FILE  also write the figures to a file
  --help       print this text
`

const judgedErrorMax = 25
const otherErrorMax = 40

/** A figure, with fields for the table only. */
type Line = NewFigure & { group: string; counts?: string }

interface Compared {
  group: string
  name: string
  found: Comparison
  /** The largest allowed error for each tokenizer; not judged if absent. */
  errorMax?: Partial<Record<TokenizerName, number>>
}

function errorLines({ group, name, found, errorMax }: Compared): Line[] {
  return tokenizerNames.map((tokenizer) => {
    const real = found.real[tokenizer]
    const atMost = errorMax?.[tokenizer]
    return {
      group,
      name: `${name}, ${tokenizer}`,
      counts: `${found.estimate.toLocaleString("en-US")} for ${real.toLocaleString("en-US")}`,
      value: Math.abs(errorPercent(found.estimate, real)),
      unit: "%",
      raw: Math.abs(errorPercent(found.plain, real)),
      ...(atMost !== undefined && { target: { atMost } }),
    }
  })
}

/**
 * Kinds without a strict target have a wider bound, and only for the newer vocabulary: the older one needs far more
 * tokens for many scripts.
 */
function kindLines(samples: readonly Sample[], tokenizers: Tokenizers): Line[] {
  const kinds = [...compareKinds(samples, tokenizers)]
  const judged = judgedKinds.map((kind) => kinds.find(([name]) => name === kind)!)
  const other = kinds.filter(([kind]) => !judgedKinds.includes(kind))
  const both = { o200k_base: judgedErrorMax, cl100k_base: judgedErrorMax }
  const newer = { o200k_base: otherErrorMax }
  return [
    ...judged.flatMap(([name, found]) => errorLines({ group: "judged", name, found, errorMax: both })),
    ...other.flatMap(([name, found]) => errorLines({ group: "other", name, found, errorMax: newer })),
  ]
}

/** One line for each text of the judged kinds. */
function textLines(samples: readonly Sample[], tokenizers: Tokenizers): Line[] {
  return samples
    .filter(({ kind }) => judgedKinds.includes(kind))
    .flatMap(({ kind, name, text }) =>
      errorLines({ group: "texts", name: `${kind}/${name}`, found: compare([text], tokenizers) }),
    )
}

/** The samples that the costs were found with. If they are much better than the others, the costs are overfitted. */
function fitLines(tokenizers: Tokenizers): Line[] {
  const kinds = [...compareKinds(readSamples("fit"), tokenizers)]
  return kinds.flatMap(([name, found]) => errorLines({ group: "fit", name, found }))
}

function speedLines(samples: readonly Sample[]): Line[] {
  return judgedKinds.map((kind) => {
    const texts = samples.filter((sample) => sample.kind === kind).map((sample) => sample.text)
    const text = texts.join("")
    const long = text.repeat(Math.ceil(50_000 / text.length))
    const perCharacterNs = (estimate: (text: string) => number) =>
      (median(timesMs(() => estimate(long))) * 1e6) / long.length
    return {
      group: "speed",
      name: kind,
      value: perCharacterNs(estimateTokens),
      unit: "ns a character",
      raw: perCharacterNs(estimateTokensPlainly),
    }
  })
}

function timesMs(run: () => number): number[] {
  return Array.from({ length: 200 }, () => {
    const start = performance.now()
    run()
    return performance.now() - start
  })
}

async function main(jsonFile?: string): Promise<void> {
  const tokenizers = await loadTokenizers()
  const samples = readSamples("test")
  const lines = [
    ...kindLines(samples, tokenizers),
    ...textLines(samples, tokenizers),
    ...fitLines(tokenizers),
    ...speedLines(samples),
  ]
  const report = new Report()
  for (const { group, counts: _, ...figure } of lines) report.add(group, figure)
  const shown = report.figures.map((figure, index) => {
    const { counts } = lines[index]!
    return counts === undefined ? figure : { ...figure, name: `${figure.name} (${counts})` }
  })
  const judged = report.figures.filter((figure) => figure.ok !== undefined)
  const met = judged.filter((figure) => figure.ok).length
  process.stdout.write(`${table(shown)}\n\n${met} of ${judged.length} targets met.\n`)
  if (jsonFile !== undefined) await writeFile(jsonFile, `${JSON.stringify(report.toJSON(), null, 2)}\n`)
  if (met < judged.length) process.exitCode = 1
}

const { values } = parseArgs({ options: { json: { type: "string" }, help: { type: "boolean" } } })
if (values.help) process.stdout.write(help)
else await main(values.json)
