/** How many calls of each kind are made. */
export interface Calls {
  model: number
  task: number
  read: number
}

/** A prompt for each session, and the calls that are made until all prompts are answered. */
export interface Work {
  prompts: string[]
  calls: Calls
}

/** All calls are in one step: the fewer steps a child has, the more its start and its end weigh. */
export const readsOfChild = 3
/** One step with the calls, one with the final text. */
const stepsOfSession = 2
const filesOfProject = 500

/** Parents that each give this many tasks in one step; a child reads some files and answers. */
export function taskWork(size: { parents: number; children: number; agent?: string }): Work {
  const { agent = "explore" } = size
  const prompts = repeat(size.parents, () => repeat(size.children, (i) => taskLine(i, agent)).join("\n"))
  const task = size.parents * size.children
  return {
    prompts,
    calls: { model: stepsOfSession * (size.parents + task), task, read: task * readsOfChild },
  }
}

/** A session for each number, which reads this many files and answers. */
export function readWork(reads: readonly number[]): Work {
  const read = reads.reduce((sum, count) => sum + count, 0)
  return { prompts: reads.map(readLines), calls: { model: stepsOfSession * reads.length, task: 0, read } }
}

function repeat(count: number, make: (index: number) => string): string[] {
  return Array.from({ length: count }, (_, index) => make(index))
}

/** The test server makes calls of these lines, and answers their results with a final text. */
function readLines(count: number): string {
  return repeat(count, readLine).join("\n")
}

let nextFile = 0

/** Another file for each call, because three identical calls would look like a loop. */
function readLine(): string {
  const index = nextFile++ % filesOfProject
  return `tool read ${JSON.stringify({ filePath: `src/part-${index % 25}/file-${index}.ts` })}`
}

function taskLine(index: number, agent: string): string {
  const prompt = readLines(readsOfChild)
  return `tool task ${JSON.stringify({ description: `part ${index}`, prompt, subagent_type: agent })}`
}
