import { mkdir, readdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { worker } from "../support/rights-scene.ts"
import { runScene } from "../support/run-scene.ts"
import { answersTo, childrenOf, results, shownIn, task } from "../support/task-script.ts"

const bash = (command: string) => ({ tool: "bash", input: { command } })
const yes = async () => ({ reply: "once" as const })

test("a child cannot read what its parent may not, with any reading tool or command", async () => {
  const looks = [
    { tool: "read", input: { filePath: "secret.txt" } },
    { tool: "grep", input: { pattern: "hidden" } },
    { tool: "grep", input: { pattern: "hidden", path: "secret.txt" } },
    bash("cat secret.txt"),
    bash("cat sec*"),
    bash("grep -r hidden ."),
    bash("head -1 < secret.txt"),
    bash("cp secret.txt open.txt; cat open.txt"),
  ]
  await using scene = await runScene({
    files: { "secret.txt": "the hidden word\n", "plain.txt": "a plain word\n" },
    onPermission: yes,
    config: { agent: { worker } },
    script: answersTo({
      Go: [{ calls: [task("Look", { agent: "worker" })] }, { text: "I see." }],
      Look: [{ calls: [...looks, bash("cat plain.txt")] }, { text: "I looked." }],
    }),
  })
  const session = await scene.stemma.sessions.create({ permission: { read: { "secret*": "deny" } } })
  await session.prompt("Go")
  const [child] = await childrenOf(scene, session)
  const told = await results(child!)
  expect(told).toHaveLength(looks.length + 1)
  expect(told.at(-1)).toBe("a plain word\n")
  expect(shownIn(scene.model.requests)).not.toContain("the hidden word")
})

test("a child cannot leave the directory that its parent may not leave", async () => {
  await using scene = await runScene({
    onPermission: yes,
    config: { agent: { worker } },
    script: (request) => {
      const text = JSON.stringify(request.messages)
      if (text.includes("tool-call")) return { text: "Done." }
      if (!text.includes("Leave")) return { calls: [task("Leave", { agent: "worker" })] }
      const outside = join(scene.data, "..", "outside")
      return {
        calls: [
          { tool: "read", input: { filePath: join(outside, "secret.txt") } },
          { tool: "write", input: { filePath: join(outside, "new.txt"), content: "x" } },
          bash(`cat ${outside}/secret.txt`),
          bash(`cd ${outside} && cat secret.txt`),
          bash(`echo x > ${outside}/new.txt`),
          { tool: "bash", input: { command: "cat secret.txt", workdir: outside } },
        ],
      }
    },
  })
  const outside = join(scene.data, "..", "outside")
  await mkdir(outside)
  await writeFile(join(outside, "secret.txt"), "the hidden word\n")
  const session = await scene.stemma.sessions.create({ permission: { external_directory: "deny" } })
  await session.prompt("Go")
  const [child] = await childrenOf(scene, session)
  const told = await results(child!)
  expect(told).toHaveLength(6)
  for (const text of told) expect(text).toMatch(/^Not allowed: external_directory /)
  expect(await readdir(outside)).toEqual(["secret.txt"])
  expect(shownIn(scene.model.requests)).not.toContain("the hidden word")
})
