import { existsSync, globSync, readFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import config from "../vitest.config.ts"
import soak from "../vitest.soak.config.ts"

interface Project {
  name: string
  include: string[]
  exclude?: string[]
  isolate?: boolean
}

const projects = (config.test!.projects as { test: Project }[]).map(({ test }) => test)
const filesOf = ({ include, exclude = [] }: Project): string[] => {
  const left = new Set(globSync(exclude))
  return globSync(include).filter((file) => !left.has(file))
}

/** What a test may not do in a process that other test files use too. */
const forbidden: [RegExp, string][] = [
  [/\bprocess\.(chdir|umask|exit|abort|on|once|setMaxListeners)\(/, "changes its process"],
  [/\bprocess\.env(\.\w+|\[[^\]]+\]) (\?\?)?= |delete process\.env/, "changes the environment"],
  [/\bvi\.(mock|doMock|stubEnv|stubGlobal|useFakeTimers)\(/, "replaces what other tests use"],
  [/\.prototype, "|\bstartTraces\(/, "replaces what other tests use"],
  [/\bmemoryUsage\(|getActiveResourcesInfo|setFlagsFromString/, "measures its process"],
  [/\bstartChild\(|program-process\.ts|CrashLane\(/, "starts Stemma as another process"],
]

/** These have the words in a pattern, or in a script that they give to another process. */
const onlyNames = ["test/projects.test.ts", "test/boundaries.test.ts"]

describe("the projects of vitest.config.ts", () => {
  test("have each test file once", () => {
    const all = globSync(["src/**/*.test.ts", "test/**/*.test.ts"]).filter(
      (file) => !file.startsWith("test/soak/"),
    )
    expect(projects.flatMap(filesOf).sort()).toEqual(all.sort())
  })

  test("name only test files that are there", () => {
    const { include } = projects.find(({ name }) => name === "processes")!
    const names = include.flatMap((pattern) => {
      const [, start, list, end] = /^(.*)\{(.*)\}(.*)$/.exec(pattern) ?? []
      return list === undefined ? [] : list.split(",").map((name) => `${start}${name}${end}`)
    })
    expect(names.length).toBeGreaterThan(0)
    expect(names.filter((name) => !existsSync(name))).toEqual([])
  })

  test("leave no random test short that has no long form in the soak", () => {
    const soaked = new Set(globSync(soak.test!.include!))
    const repeating = projects
      .flatMap(filesOf)
      .filter((file) => /import \{[^}]*\brepeats\b[^}]*\} from/.test(readFileSync(file, "utf8")))
    expect(repeating.length).toBeGreaterThan(5)
    expect(repeating.filter((file) => !soaked.has(file))).toEqual([])
  })

  const shared = projects.filter(({ isolate }) => isolate === false)
  test.each(shared)("$name: no test changes or measures the process that it shares", (project) => {
    const found = filesOf(project).flatMap((file) => {
      if (onlyNames.includes(file)) return []
      const source = readFileSync(file, "utf8")
      return forbidden
        .filter(([pattern]) => pattern.test(source))
        .map(([, what]) => `${file} ${what}: name it in the list \`processes\` of vitest.config.ts`)
    })
    expect(found).toEqual([])
  })
})
