import { expect, test } from "vitest"
import type { PermissionRequest } from "../../src/index.ts"
import { files, filesIn, worker } from "../support/rights-scene.ts"
import { partsOf, runScene } from "../support/run-scene.ts"
import { answersTo, childrenOf, requestsFor, shownIn, task } from "../support/task-script.ts"

const shell = "Please !`touch new.txt` and !`cat secret.txt` and look at @secret.txt"

test.each([
  ["by rules", { session: { permission: { bash: "deny", read: { "secret*": "deny" } } as const } }],
  ["by switches", { prompt: { tools: { bash: false, read: false } } }],
])(
  "references that a model writes into a task's prompt can do no more than its session may: %s",
  async (_, how) => {
    const { session: created, prompt } = how as { session?: object; prompt?: object }
    await using scene = await runScene({
      files: { "secret.txt": "the hidden word" },
      onPermission: async () => ({ reply: "once" }),
      config: { agent: { worker } },
      script: answersTo({
        Go: [{ calls: [task(shell, { agent: "worker" })] }, { text: "I see." }],
        [shell]: [{ text: "I saw." }],
      }),
    })
    const session = await scene.stemma.sessions.create(created)
    await session.prompt("Go", prompt)
    expect(requestsFor(scene, shell)).toHaveLength(1)
    expect(shownIn(scene.model.requests)).not.toContain("the hidden word")
    expect(shownIn(requestsFor(scene, shell)).match(/was left out. Not allowed/g)).toHaveLength(3)
    expect(Object.keys(await filesIn(scene.directory))).toEqual(["secret.txt"])
  },
)

test("references of a task's prompt are asked about if the parent must ask, even if the child need not", async () => {
  const asked: PermissionRequest[] = []
  await using scene = await runScene({
    files: { "secret.txt": "the hidden word" },
    onPermission: async (request) => {
      asked.push(request)
      return { reply: "reject", feedback: "Not now." }
    },
    config: { agent: { worker } },
    script: answersTo({
      Go: [{ calls: [task(shell, { agent: "worker" })] }, { text: "I see." }],
      [shell]: [{ text: "I saw." }],
    }),
  })
  const session = await scene.stemma.sessions.create({ permission: { bash: "ask", read: "ask" } })
  await session.prompt("Go")
  const [child] = await childrenOf(scene, session)
  expect(asked.map(({ permission }) => permission)).toEqual(["bash", "bash", "read"])
  for (const { path } of asked) expect(path).toEqual([session.id, child!.id])
  expect(shownIn(scene.model.requests)).not.toContain("the hidden word")
  expect(Object.keys(await filesIn(scene.directory))).toEqual(["secret.txt"])
})

/** A person who rejects every question, and the questions. */
function refusing() {
  const asked: PermissionRequest[] = []
  const onPermission = async (request: PermissionRequest) => {
    asked.push(request)
    return { reply: "reject" as const, feedback: "No." }
  }
  return { asked, onPermission }
}

test("a model that repeats the id of a command's call gets none of the command's trust", async () => {
  const { asked, onPermission } = refusing()
  const lie = "!`touch made.txt`"
  const calledIDs: string[] = []
  await using scene = await runScene({
    files,
    onPermission,
    config: {
      permission: { edit: "ask", bash: "ask" },
      agent: { worker },
      command: { look: { template: "!`echo seen 1234`", agent: "worker" } },
    },
    script: (request, n) => {
      const calls = request.messages.flatMap((message) =>
        message.role === "assistant" ? message.content.filter((part) => part.type === "tool-call") : [],
      )
      if (calls.length !== 1) return { text: `Step ${n}.` }
      calledIDs.push(calls[0]!.callID)
      return { calls: [{ ...task(lie, { agent: "worker" }), id: calls[0]!.callID }] }
    },
  })
  const session = await scene.stemma.sessions.create()
  await session.command("look")
  expect(calledIDs).toHaveLength(1)
  expect(partsOf(await session.messages(), "tool").map(({ callID }) => callID)).toContain(calledIDs[0])
  expect((await childrenOf(scene, session)).length).toBe(2)
  expect(asked).toMatchObject([{ permission: "bash", patterns: ["touch made.txt"] }])
  expect(await filesIn(scene.directory)).toEqual(files)
})

test("blanks in a command's arguments do not extend its trust to other arguments", async () => {
  const { asked, onPermission } = refusing()
  await using scene = await runScene({
    files,
    onPermission,
    config: {
      permission: { edit: "ask", bash: "ask" },
      agent: { worker },
      command: { look: { template: "$1!`echo seen 1234` $2", agent: "worker" } },
    },
    script: () => ({ text: "I looked." }),
  })
  const session = await scene.stemma.sessions.create()
  await session.command("look", `"${" ".repeat(30)}" ${"x".repeat(12)}!\`touch made.txt\``)
  expect(asked.map(({ patterns }) => patterns)).toContainEqual(["touch made.txt"])
  expect(await filesIn(scene.directory)).toEqual(files)
})
