import { z } from "zod"
import type { Tool, ToolContext, ToolResult, Wanted, WantsContext } from "../tool.ts"
import { editIsDenied, isReadOnly, shellWants } from "./analyse/wants.ts"
import { ShellOutput } from "./run/output.ts"
import { runShell, type ShellEnd } from "./run/process.ts"

const timeoutDefaultMs = 120_000
const timeoutMaxMs = 600_000
/** How much of the output is stored for clients, which show it beside the call. */
const shownCharacters = 30_000

const input = z.object({
  command: z.string().min(1).max(100_000).describe("What bash runs."),
  description: z.string().max(200).optional().describe("What it does, in five to ten words."),
  timeout: z
    .number()
    .int()
    .min(1)
    .max(timeoutMaxMs)
    .optional()
    .describe(`Milliseconds after which it is ended; ${timeoutDefaultMs} if absent.`),
  workdir: z
    .string()
    .min(1)
    .max(4_096)
    .optional()
    .describe("Where it starts: relative to the session's directory, or absolute. Use this instead of cd."),
})
type Input = z.infer<typeof input>

const description = `Runs a command with bash and gives what it printed, both outputs together, and its exit code.

- Each call is a new shell in the session's directory; variables and cd do not last from one call to the next.
- There is no input and no terminal: do not start editors, pagers or anything that asks.
- Prefer the tools read, write, edit, glob and grep to cat, sed, find and grep.
- Each command of a line, each redirect and each path is checked against the permission rules. Simple lines with the
  names of commands and files spelled out pass most easily; a line that cannot be analysed before it runs is asked about.
- What is started with & may go on after the call; its output is then lost.`

/** The directory that permission was requested for, by input. */
const askedFor = new WeakMap<Input, string>()
let calls = 0

export const bashTool: Tool<Input> = {
  name: "bash",
  description,
  input,
  replay: "never",
  writes: async ({ command }) => !(await isReadOnly(command)),

  async wants(given, context) {
    checkCommand(given.command)
    const { directory, wanted } = await startIn(given, context)
    askedFor.set(given, directory)
    const metadata = {
      command: given.command,
      ...(given.description ? { description: given.description } : {}),
    }
    return [...wanted, ...(await shellWants({ command: given.command, directory, metadata }, context))]
  },

  async execute(given, context) {
    checkCommand(given.command)
    const { directory, wanted } = await startIn(given, context)
    if (askedFor.get(given) !== directory) for (const one of wanted) await context.ask(one)
    const output = new ShellOutput((text) => context.print(text))
    const timeoutMs = given.timeout ?? timeoutDefaultMs
    const end = await runShell({
      command: given.command,
      directory,
      project: context.workspace.root,
      environment: context.environment,
      readsOnly: editIsDenied(context),
      timeoutMs,
      signal: context.signal,
      mark: `${process.pid}-${++calls}-${context.callID}`,
      onOutput: (bytes) => output.write(bytes),
    })
    return toResult(given, { end, output: output.end(), timeoutMs })
  },
}

function checkCommand(command: string): void {
  if (command.includes("\0"))
    throw new Error("A command cannot contain a NUL character. Write the command without it.")
}

async function startIn(
  { workdir }: Input,
  context: WantsContext | ToolContext,
): Promise<{ directory: string; wanted: Wanted[] }> {
  if (workdir === undefined) return { directory: context.workspace.directory, wanted: [] }
  const location = await context.workspace.resolve(workdir)
  if (location.forbidden)
    throw new Error(`${location.name} is never shown to a model. Use another directory.`)
  if (!location.exists)
    throw new Error(`There is no directory ${location.name}. Create it first, or use another one.`)
  if (!location.external) return { directory: location.path, wanted: [] }
  const pattern = location.path.endsWith("/") ? `${location.path}*` : `${location.path}/*`
  return {
    directory: location.path,
    wanted: [
      {
        permission: "external_directory",
        patterns: [pattern],
        always: [pattern],
        metadata: { filepath: location.path },
      },
    ],
  }
}

interface Outcome {
  end: ShellEnd
  output: string
  timeoutMs: number
}

function toResult(given: Input, { end, output, timeoutMs }: Outcome): ToolResult {
  const ending = endingOf(end, timeoutMs)
  const printed = output === "" && ending === undefined ? "(no output)" : output
  return {
    title: given.description ?? firstLine(given.command),
    output: ending === undefined ? printed : `${printed}${/(?:^|\n)$/.test(printed) ? "" : "\n"}${ending}`,
    metadata: {
      exit: end.exit ?? null,
      output: output.slice(0, shownCharacters),
      ...(given.description ? { description: given.description } : {}),
      ...(end.stopped === "timeout" ? { timedOut: true } : {}),
      ...(end.stopped === "abort" ? { aborted: true } : {}),
    },
  }
}

/** The line after the output that tells the model how the command ended; undefined after success. */
function endingOf(end: ShellEnd, timeoutMs: number): string | undefined {
  if (end.stopped === "timeout") {
    return `The command was ended after ${timeoutMs} ms, its time limit. What it printed until then is above.`
  }
  if (end.stopped === "abort") return "The command was aborted. What it printed until then is above."
  if (end.killedBy !== undefined) return `ended by ${end.killedBy}`
  return end.exit === 0 ? undefined : `exit code ${end.exit}`
}

function firstLine(command: string): string {
  const [line = ""] = command.trim().split("\n")
  return line.length > 100 ? `${line.slice(0, 99)}…` : line
}
