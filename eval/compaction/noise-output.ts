import type { Language } from "./phrasings/phrasing.ts"
import type { Values } from "./values.ts"

const comments: Record<Language, readonly string[]> = {
  en: [
    "The caller holds the lock.",
    "Empty means all.",
    "Sorted by time, newest last.",
    "Also used by the worker.",
  ],
  zh: ["调用方已持有锁。", "空表示全部。", "按时间排序，最新的在后。", "worker 也会用到。"],
}

/** A source file as output of the read tool. */
export function sourceFile(
  values: Values,
  { lines, language }: { lines: number; language: Language },
): string {
  const { draw } = values
  const text: string[] = []
  while (text.length < lines) {
    const [name, argument] = [values.fn(), values.noun()]
    text.push(
      `/** ${draw.one(comments[language])} */`,
      `export async function ${name}(${argument}: ${cap(values.noun())}, limit = ${draw.int(1, 500)}) {`,
    )
    for (let i = draw.int(3, 9); i > 0; i--) text.push(`  ${statement(values, argument)}`)
    text.push(`  return ${values.fn()}(${argument})`, "}", "")
  }
  return [
    ...text.slice(0, lines),
    `(Lines 1 to ${lines} of ${lines + draw.int(10, 400)}. Go on with offset ${lines + 1}.)`,
  ].join("\n")
}

function statement(values: Values, argument: string): string {
  const { draw } = values
  return draw.one([
    () =>
      `const ${values.noun()} = await ${values.fn()}(${argument}.${values.noun()}, { retries: ${draw.int(1, 9)} })`,
    () =>
      `if (${argument}.${values.noun()} > ${draw.int(1, 999)}) throw new Error("${values.noun()} is too large")`,
    () => `for (const each of ${argument}.${values.noun()}s ?? []) ${values.fn()}(each)`,
    () =>
      `logger.debug("${values.noun()} of ${values.noun()}", { id: ${argument}.id, took: ${draw.int(1, 900)} })`,
    () => `import { ${values.fn()} } from "../${values.noun()}/${values.noun()}.ts"`,
    () => `${argument}.${values.noun()} ??= new Map<string, ${cap(values.noun())}>()`,
  ])()
}

export function logLines(values: Values, lines: number): string {
  const { draw } = values
  let at = Date.UTC(2025, draw.int(0, 11), draw.int(1, 28), draw.int(0, 23), draw.int(0, 59))
  return Array.from({ length: lines }, () => {
    at += draw.int(1, 4000)
    const level = draw.one(["INFO ", "INFO ", "DEBUG", "WARN ", "ERROR"])
    return `${new Date(at).toISOString()} ${level} [${values.service()}] ${logMessage(values)}`
  }).join("\n")
}

function logMessage(values: Values): string {
  const { draw } = values
  return draw.one([
    () =>
      `GET /${values.noun()}/${draw.int(1, 99999)} ${draw.one([200, 204, 304, 404, 500])} ${draw.int(1, 900)}ms`,
    () => `request ${values.uuid()} took ${draw.int(1, 9000)} ms`,
    () => `${values.code()} while ${draw.one(["reading", "writing", "closing"])} ${values.path()}`,
    () => `checked out ${values.hash()} on ${values.host()}`,
    () =>
      `retry ${draw.int(1, 5)} of ${values.fn()}: connection reset by 10.${draw.int(0, 99)}.3.${draw.int(2, 99)}`,
    () => `queue ${values.noun()}.${values.noun()} has ${draw.int(0, 9000)} messages`,
  ])()
}

export function grepResult(values: Values, pattern: string): string {
  const { draw } = values
  const files = Array.from({ length: draw.int(4, 9) }, () => {
    const hits = Array.from(
      { length: draw.int(1, 6) },
      () => `${draw.int(1, 900)}: ${statement(values, values.noun()).replace(/\w+\(/, `${pattern}(`)}`,
    )
    return [values.path(), ...hits].join("\n")
  })
  return files.join("\n\n")
}

export function jsonDocument(values: Values, entries: number): string {
  const { draw } = values
  const rows = Array.from({ length: entries }, () => ({
    id: values.uuid(),
    [values.noun()]: values.fn(),
    state: draw.one(["active", "closed", "waiting"]),
    total: draw.int(1, 99999) / 100,
    source: { host: values.host(), version: values.version(), commit: values.hash() },
    tags: [values.noun(), values.noun()],
  }))
  return JSON.stringify({ next: draw.hex(16), items: rows }, null, 2)
}

/** Read-only commands and their output. */
export function lookAround(values: Values): { command: string; output: string } {
  const { draw } = values
  const many = (count: number, make: () => string) => Array.from({ length: count }, make).join("\n")
  return draw.one([
    () => ({ command: "git status --short", output: many(draw.int(2, 9), () => ` M ${values.path()}`) }),
    () => ({
      command: `git log --oneline -${draw.int(10, 40)}`,
      output: many(
        draw.int(15, 40),
        () => `${values.hash()} ${values.noun()}: ${values.fn()} and ${values.noun()}`,
      ),
    }),
    () => ({
      command: "ls -la",
      output: many(
        draw.int(12, 40),
        () =>
          `-rw-r--r-- 1 dev dev ${draw.int(100, 90000)} May ${draw.int(1, 28)} 10:${draw.int(10, 59)} ${values.noun()}.${draw.one(["ts", "md", "json"])}`,
      ),
    }),
    () => ({
      command: `cat ${values.path()} | head -60`,
      output: many(60, () => statement(values, values.noun())),
    }),
    () => ({
      command: `find . -name '${values.noun()}*'`,
      output: many(draw.int(5, 40), () => `./${values.path()}`),
    }),
    () => ({ command: `tail -n 80 /var/log/${values.service()}.log`, output: logLines(values, 80) }),
    () => ({ command: `git diff ${values.path()}`, output: diff(values) }),
    () => ({ command: `wc -l ${values.path()}`, output: `${draw.int(10, 2000)} ${values.path()}` }),
  ])()
}

function diff(values: Values): string {
  const { draw } = values
  const path = values.path()
  const lines = Array.from(
    { length: draw.int(20, 70) },
    () => `${draw.one([" ", " ", "+", "-"])}${statement(values, values.noun())}`,
  )
  return `diff --git a/${path} b/${path}\nindex ${values.hash()}..${values.hash()} 100644\n--- a/${path}\n+++ b/${path}\n${lines.join("\n")}`
}

/** Text that users paste into a message: a log, a stack trace, code or a server response. */
export function paste(values: Values, language: Language): string {
  const { draw } = values
  return draw.one([
    () => logLines(values, draw.int(8, 18)),
    () =>
      `\`\`\`\n${sourceFile(values, { lines: draw.int(18, 40), language }).replace(/\n[^\n]*$/, "")}\n\`\`\``,
    () => jsonDocument(values, draw.int(2, 4)),
    () => stackTrace(values),
  ])()
}

function stackTrace(values: Values): string {
  const { draw } = values
  const frames = Array.from(
    { length: draw.int(8, 16) },
    () => `    at ${values.fn()} (/srv/app/${values.path()}:${draw.int(1, 900)}:${draw.int(1, 80)})`,
  )
  return `TypeError: Cannot read properties of undefined (reading '${values.noun()}')\n${frames.join("\n")}`
}

function cap(word: string): string {
  return `${word[0]!.toUpperCase()}${word.slice(1)}`
}
