import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { answersTo, task } from "./task-script.ts"

/** The file of attempt `n`; it contains "one" before the attempt. */
const fileOf = (n: number) => `file-${n}.txt`

/** Ways to change a file: the tools, and commands that a model may try in a shell. */
const ways: readonly ((file: string) => { tool: string; input: object })[] = [
  (file) => ({ tool: "write", input: { filePath: `new-${file}`, content: "x" } }),
  (file) => ({ tool: "edit", input: { filePath: file, oldString: "one", newString: "two" } }),
  ...[
    (file: string) => `echo two > ${file}`,
    (file: string) => `sed -i s/one/two/ ${file}`,
    (file: string) => `python3 -c 'open("${file}", "w").write("two")'`,
    (file: string) => `git apply ${file}.patch`,
    (file: string) => `echo two | tee ${file}`,
    (file: string) => `cat > ${file} <<'END'\ntwo\nEND`,
    (file: string) => `node -e 'require("fs").writeFileSync("${file}", "two")'`,
    (file: string) => `bash -c 'echo two >> ${file}'`,
    (file: string) => `awk 'BEGIN { print "two" > "${file}" }'`,
    (file: string) => `sed -n 'w new-${file}' ${file}`,
    (file: string) => `find . -maxdepth 1 -name ${file} -exec rm {} +`,
    (file: string) => `git -c alias.x='!touch new-${file}' x`,
    (file: string) => `ls; (printf two > ${file})`,
    (file: string) => `cp ${file} new-${file}`,
  ].map((command) => (file: string) => ({ tool: "bash", input: { command: command(file) } })),
]

/** Ways that do not exist on every machine. */
const rareWays = [
  (file: string) => `python -c 'open("${file}", "w").write("two")'`,
  (file: string) => `perl -pi -e s/one/two/ ${file}`,
  (file: string) => `patch -p1 < ${file}.patch`,
].map((command) => (file: string) => ({ tool: "bash", input: { command: command(file) } }))

/** One call for each way to change a file. */
export const attempts = [...ways, ...rareWays].map((way, n) => way(fileOf(n)))
/** The ways that exist on every machine on which the tests run. */
export const sureAttempts = attempts.slice(0, ways.length)

/** The files of the attempts. */
export const files = Object.fromEntries(
  attempts.flatMap((_, n) => {
    const file = fileOf(n)
    const head = `diff --git a/${file} b/${file}\n--- a/${file}\n+++ b/${file}\n`
    return [
      [file, "one\n"],
      [`${file}.patch`, `${head}@@ -1 +1 @@\n-one\n+two\n`],
    ]
  }),
)

/** The content of the directory, by file name. */
export async function filesIn(directory: string): Promise<Record<string, string>> {
  const names = (await readdir(directory)).filter((name) => name.endsWith(".txt") || name.endsWith(".patch"))
  const texts = await Promise.all(names.map((name) => readFile(join(directory, name), "utf8")))
  return Object.fromEntries(names.map((name, index) => [name, texts[index]!]))
}

/** Agents whose own rules allow everything. */
export const worker = {
  mode: "subagent" as const,
  permission: { "*": "allow" as const },
  tools: { task: true },
}

/** The reads that the edit tool requires before it changes a file. */
const reads = { calls: [{ tool: "read", input: { filePath: fileOf(1) } }] }

/** "Go" gives the task "Change", which tries every way; "Go deep" gives "Pass it on", which gives "Change". */
export const hostileScript = (calls: readonly { tool: string; input: object }[] = attempts) =>
  answersTo({
    Go: [{ calls: [task("Change", { agent: "worker" })] }, { text: "I see." }],
    "Go deep": [{ calls: [task("Pass it on", { agent: "worker" })] }, { text: "I see." }],
    "Pass it on": [{ calls: [task("Change", { agent: "worker" })] }, { text: "It came to nothing." }],
    Change: [reads, { calls }, { text: "I tried everything." }],
  })
