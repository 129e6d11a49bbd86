import { writeFile } from "node:fs/promises"
import { parseArgs } from "node:util"
import type { Group } from "./bench.ts"
import { Report } from "./figure.ts"
import { benchChanges } from "./groups/changes.ts"
import { benchCommit } from "./groups/commit.ts"
import { benchDisk } from "./groups/disk.ts"
import { benchFork } from "./groups/fork.ts"
import { benchProcesses } from "./groups/processes.ts"
import { benchSearch } from "./groups/search.ts"
import { benchSessions } from "./groups/sessions.ts"
import { table } from "./table.ts"

const groups: Record<string, Group> = {
  commit: benchCommit,
  fork: benchFork,
  sessions: benchSessions,
  search: benchSearch,
  changes: benchChanges,
  disk: benchDisk,
  processes: benchProcesses,
}

const help = `Times the SQLite store beside bare node:sqlite and prints a table.

  npm run bench:store -- [options]

  --only NAME[,NAME]  only these groups: ${Object.keys(groups).join(", ")}
  --quick             small sizes, to try the code; the figures say little
  --json FILE         write the figures to a file too
  --cache DIR         keep the corpus of the search group there and use it again
  --help              say this
`

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      only: { type: "string" },
      quick: { type: "boolean", default: false },
      json: { type: "string" },
      cache: { type: "string" },
      help: { type: "boolean", default: false },
    },
  })
  if (values.help) {
    process.stdout.write(help)
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
        cacheDirectory: values.cache,
      })
    } catch (error) {
      // The figures of the other groups took long to get: they are still worth printing.
      process.exitCode = 1
      progress(`failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
    }
    progress(`done in ${((performance.now() - start) / 1000).toFixed(1)} s`)
  }
  process.stdout.write(`${table(report.figures)}\n\n${summary(report, values.quick)}\n`)
  if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(report.toJSON(), null, 2)}\n`)
}

function summary(report: Report, quick: boolean): string {
  const judged = report.figures.filter((figure) => figure.ok !== undefined)
  const met = judged.filter((figure) => figure.ok).length
  const said = `${met} of ${judged.length} targets met.`
  return quick ? `${said} Quick run with small sizes: the figures do not count.` : said
}

try {
  await main()
} catch (error) {
  console.error(error instanceof Error ? (error.stack ?? error.message) : error)
  process.exitCode = 1
}
