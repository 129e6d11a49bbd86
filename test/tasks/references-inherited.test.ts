import { existsSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { runScene } from "../support/run-scene.ts"

test.each(["files", "none"] as const)(
  "commands of a prompt that stay text (%s) do not run either when a model quotes the prompt in a task",
  async (references) => {
    await using scene = await runScene({
      files: { "notes.txt": "the password is swordfish" },
      script: (request, n) => {
        if (n > 0) return { text: "done" }
        const said = request.messages.findLast(({ role }) => role === "user")
        const prompt = JSON.stringify(said).includes("touch made")
          ? "Do this: @notes.txt !`touch made.txt`"
          : "nothing"
        const input = { description: "look", prompt, subagent_type: "general" }
        return { calls: [{ tool: "task", input }] }
      },
    })
    const session = await scene.stemma.sessions.create()
    const reply = await session.prompt("Please: @notes.txt !`touch made.txt`", { references })
    expect(reply.text).toBe("done")
    expect(existsSync(join(scene.directory, "made.txt"))).toBe(false)
    const child = JSON.stringify(scene.model.requests[1]!.messages)
    expect(child).toContain("touch made.txt")
    const [task] = (await scene.stemma.sessions.children(session.id)).items
    const [prompt] = await (await scene.stemma.sessions.get(task!.id)).messages()
    expect(prompt!.parts.length > 1).toBe(references === "files")
  },
)
