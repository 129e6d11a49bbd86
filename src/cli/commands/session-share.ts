import { resolve } from "node:path"
import type { SessionClient } from "../../client/index.ts"
import { SessionID, StemmaError } from "../../protocol/index.ts"
import type { SharedMessage, SharedPart, SharePreview } from "../../protocol/routes/share-shapes.ts"
import { command, helpOf, type OptionValues, parseCommand } from "../arguments.ts"
import { connect } from "../connect.ts"
import { asCalled, type Command } from "../program.ts"
import { isYes } from "../terminal/confirm.ts"
import { Output, printableJson, printableLine, printableText } from "../terminal/terminal.ts"

export const shareSpec = command({
  name: "session share",
  operands: "ID",
  operandsMax: 1,
  about: "Publishes a read-only page of a session, or shows what the page would show.",
  options: {
    preview: { type: "boolean", help: "print what the page would show and what is masked; publish nothing" },
    tools: { type: "boolean", help: "the page also shows the input and output of tools" },
    reasoning: { type: "boolean", help: "the page also shows reasoning" },
    yes: { type: "boolean", help: "publish without asking" },
    end: { type: "boolean", help: "remove the page" },
    server: { type: "string", value: "URL", help: "the running server that shows the page" },
    json: { type: "boolean", help: "print the preview as a line of JSON" },
  },
  more: `The preview names the kind of each secret that is masked and its message, never the secret. Masking cannot find every
secret: read the text that is left. Publishing needs --server, because a page is shown only while a server runs.`,
})

type Values = OptionValues<typeof shareSpec.options>

/** `stemma session share ID`: a client of a server. The preview also works without one. */
export const share: Command = async (args, program) => {
  const parsed = parseCommand(shareSpec, args)
  const output = new Output(program.terminal.output)
  if (!parsed) {
    await output.write(asCalled(helpOf(shareSpec), program.terminal.env))
    return 0
  }
  const { values, operands } = parsed
  const id = checkedID(operands[0])
  if (values.server === undefined && !values.preview && !values.end) {
    throw new StemmaError(
      "invalid",
      "Publishing needs the server that shows the page: --server http://127.0.0.1:4096. Use --preview to see what it would show.",
    )
  }
  const directory = resolve(program.directory)
  await using connected = await connect(program, { server: values.server, directory, isInteractive: false })
  const session = connected.client.session(id)
  if (values.end) {
    await session.unshare()
    await output.write("The page is removed.\n")
    return output.exitCode
  }
  const preview = await readPreview(session, values)
  if (values.preview) {
    await output.write(
      values.json ? `${printableJson(preview)}\n` : `${summary(preview)}\n${pageText(preview)}`,
    )
    return output.exitCode
  }
  program.terminal.error.write(`${summary(preview)}\n`)
  if (!values.yes && !(await isYes("Publish the page? [y/N] ", program.terminal, { hint }))) return 1
  const { share } = await session.share({
    tools: values.tools === true,
    reasoning: values.reasoning === true,
  })
  await output.write(`${printableLine(share?.url ?? "", 1000)}\n`)
  return output.exitCode
}

const hint = "There is no terminal to ask on. Read the preview (--preview), then add --yes.\n"

function checkedID(text: string | undefined): string {
  if (SessionID.safeParse(text).success) return text!
  throw new StemmaError(
    "invalid",
    "Name a session by its id, such as ses_01k8.... List the ids with stemma session list --all.",
  )
}

/** The whole page: a server gives it in pieces, the newest messages first. */
async function readPreview(session: SessionClient, values: Values): Promise<SharePreview> {
  const query = { tools: values.tools === true, reasoning: values.reasoning === true }
  let whole = await session.previewShare(query)
  while (whole.earlier !== undefined) {
    const { messages, masked, earlier } = await session.previewShare({ ...query, before: whole.earlier })
    const inMessages = masked.filter(({ messageID }) => messageID !== undefined)
    const { earlier: _, ...rest } = whole
    whole = {
      ...rest,
      messages: [...messages, ...whole.messages],
      masked: [...inMessages, ...whole.masked],
      ...(earlier !== undefined && { earlier }),
    }
  }
  return whole
}

function summary({ session, messages, masked }: SharePreview): string {
  const roles = new Map(messages.map(({ id, role }) => [id, role]))
  const total = masked.reduce((sum, { count }) => sum + count, 0)
  const lines = masked.map(({ messageID, position, kind, count }) => {
    const where =
      messageID === undefined ? "title" : `message ${position} (${roles.get(messageID) ?? "hidden"})`
    return `  ${where}: ${printableLine(kind)}${count > 1 ? ` (${count} times)` : ""}`
  })
  const shown = [
    ...(session.include.tools ? ["tools"] : []),
    ...(session.include.reasoning ? ["reasoning"] : []),
  ]
  return [
    `${messages.length} messages, texts${shown.map((what) => ` and ${what}`).join("")}.`,
    total === 0 ? "Nothing is masked." : `${total} ${total === 1 ? "place is" : "places are"} masked:`,
    ...lines,
  ].join("\n")
}

function pageText({ session, messages }: SharePreview): string {
  return `\nThe page would show:\n\n${[printableLine(session.title), ...messages.map(messageText)].join("\n\n")}\n`
}

function messageText({ position, role, parts, error }: SharedMessage): string {
  const texts = [...parts.map(partText), ...(error ? [`${error.name}: ${error.message}`] : [])]
  return [`--- message ${position} (${role})`, ...texts.map(printableText)].join("\n")
}

function partText(part: SharedPart): string {
  switch (part.type) {
    case "text":
      return part.text
    case "reasoning":
      return `(reasoning) ${part.text}`
    case "tool": {
      const texts = [part.title, part.input, part.output, part.error].filter((text) => text !== undefined)
      return [`(tool ${part.tool}, ${part.status})`, ...texts].join("\n")
    }
    case "file":
      return `(file ${part.name}, ${part.mime})`
    case "task":
      return "(a subagent worked on a task)"
    case "compaction":
      return "(the history up to here was summarised)"
    default:
      return part satisfies never
  }
}
