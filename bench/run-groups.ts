import { writeFile } from "node:fs/promises"
import { parseArgs } from "node:util"
import type { Group } from "./bench.ts"
import { Report } from "./figure.ts"
import { table } from "./table.ts"

export interface Benchmark {
  /** What the benchmark does, in a sentence. */
  about: string
  /** The npm script that runs it. */
  script: string
  groups: Record<string, Group>
  /** What `--cache` keeps; absent if there is nothing to keep. */
  cached?: string
  /** The process ends with an error if a target is missed. */
  isStrict?: boolean
}

/** Reads the command line, runs the named groups and prints one table. */
export async function runBenchmark(benchmark: Benchmark): Promise<void> {
  try {
    await run(benchmark)
  } catch (error) {
    console.error(textOf(error))
    process.exitCode = 1
  }
}

async function run(benchmark: Benchmark): Promise<void> {
  const { groups } = benchmark
  const { values } = parseArgs({
    options: {
      only: { type: "string" },
      quick: { type: "boolean", default: false },
      json: { type: "string" },
      help: { type: "boolean", default: false },
      cache: { type: "string" },
    },
  })
  if (values.help) {
    process.stdout.write(help(benchmark))
    return
  }
  const names = values.only?.split(",") ?? Object.keys(groups)
  const unknown = names.find((name) => groups[name] === undefined)
  if (unknown !== undefined) {
    throw new Error(`There is no group ${unknown}. There are: ${Object.keys(groups).join(", ")}.`)
  }
  const report = new Report()
  for (const name of names) {
    const start = performance.now()
    const progress = (text: string) => process.stderr.write(`${name}: ${text}\n`)
    progress("begins")
    try {
      await groups[name]!({
        quick: values.quick,
        add: (figure) => report.add(name, figure),
        progress,
        ...(benchmark.cached && { cacheDirectory: values.cache }),
      })
    } catch (error) {
      // The figures of the other groups took long to measure, so they are printed even after a failure.
      process.exitCode = 1
      progress(`failed: ${textOf(error)}`)
    }
    progress(`done in ${((performance.now() - start) / 1000).toFixed(1)} s`)
  }
  process.stdout.write(`${table(report.figures)}\n\n${summary(report, values.quick)}\n`)
  if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(report.toJSON(), null, 2)}\n`)
  const isMissed = report.figures.some((figure) => figure.ok === false)
  if (benchmark.isStrict && isMissed && !values.quick) process.exitCode = 1
}

function help({ about, script, groups, cached }: Benchmark): string {
  const cache = cached && `\n  --cache DIR         keep ${cached} there and use it again`
  return `${about}

  npm run ${script} -- [options]

  --only NAME[,NAME]  only these groups: ${Object.keys(groups).join(", ")}
  --quick             small sizes, to try the code; the figures say little
  --json FILE         write the figures to a file too${cache ?? ""}
  --help              say this
`
}

function summary(report: Report, quick: boolean): string {
  const judged = report.figures.filter((figure) => figure.ok !== undefined)
  const met = judged.filter((figure) => figure.ok).length
  const said = `${met} of ${judged.length} targets met.`
  return quick ? `${said} Quick run with small sizes: the figures do not count.` : said
}

function textOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
