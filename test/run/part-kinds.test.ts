import { readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { PartBody, type PartType } from "../../src/index.ts"
import { assertValid, runScene } from "../support/run-scene.ts"

const kinds = PartBody.options.map((option) => option.shape.type.value).sort()

/** The table in docs/runs.md: which files of src/run write which kind of part. */
function tableOfPage(): Map<string, string[]> {
  const page = readFileSync(new URL("../../docs/runs.md", import.meta.url), "utf8")
  const section = page.slice(page.indexOf("## Which path writes which part"))
  const rows = [...section.matchAll(/^\| `([a-z-]+)` \| (.*) \|$/gm)]
  return new Map(
    rows.map(([, kind, cell]) => [kind!, [...cell!.matchAll(/`([a-z/-]+\.ts)`/g)].map((match) => match[1]!)]),
  )
}

test("the page names the twelve kinds of parts and the files that write each", () => {
  const table = tableOfPage()
  expect([...table.keys()].sort()).toEqual(kinds)
  expect(kinds).toHaveLength(12)
  for (const [kind, files] of table) {
    expect(files.length, kind).toBeGreaterThan(0)
    for (const file of files) {
      const source = readFileSync(new URL(`../../src/run/${file}`, import.meta.url), "utf8")
      const takesAny =
        file === "api/append-message.ts" || file === "prompt/prompt.ts" || source.includes("toolOp(")
      expect(takesAny || source.includes(`"${kind}"`), `${file} writes ${kind}`).toBe(true)
    }
  }
})

test("each kind of part is written by the files that the page names", async () => {
  await using scene = await runScene({
    git: true,
    script: [
      { text: "The task is done." },
      { error: { kind: "server", message: "Try again." } },
      {
        reasoning: "I think.",
        text: "Writing.",
        calls: [{ tool: "write", input: { filePath: "a.txt", content: "a" } }],
      },
      { text: "Done." },
    ],
  })
  const session = await scene.stemma.sessions.create()
  await session.append({ role: "user", text: "Before." })
  await session.append({
    role: "assistant",
    parts: [{ type: "compaction", auto: false, summary: "It began." }],
  })
  const png = "data:image/png;base64,iVBORw0KGgo="
  await session.prompt([
    { type: "text", text: "Do it." },
    { type: "file", mime: "image/png", url: png },
    { type: "agent", name: "general" },
    { type: "subtask", prompt: "Look.", description: "Look", agent: "general" },
  ])
  const written = new Set<PartType>(
    (await session.messages()).flatMap(({ parts }) => parts.map(({ type }) => type)),
  )
  expect([...written].sort()).toEqual(kinds)
  await assertValid(session)
})
