import { describe, expect, test } from "vitest"
import type { Skill } from "../../src/config/agents/skills.ts"
import { createSkillTool } from "../../src/tools/skill.ts"
import type { DescribeContext } from "../../src/tools/tool.ts"
import { toolContext } from "../support/tool-context.ts"

const skill = (name: string, body = `How to ${name}.`): Skill => ({
  name,
  description: `For\n  ${name}`,
  path: `/skills/${name}/SKILL.md`,
  directory: `/skills/${name}`,
  body,
})

const tool = createSkillTool(() => [skill("pdf"), skill("secret"), skill("deploy")])
const rules = { skill: { "*": "allow", secret: "deny", deploy: "ask" } } as const

const describeFor = async (context: DescribeContext, which = tool): Promise<string> =>
  typeof which.description === "string" ? which.description : await which.description(context)

describe("a skill", () => {
  test("is listed with its description on one line, unless its rule is deny", async () => {
    await using context = await toolContext({ rules })
    const text = await describeFor(context)
    expect(text).toContain("\n- pdf: For pdf\n- deploy: For deploy")
    expect(text).not.toContain("secret")
  })

  test("is loaded with the directory of its files", async () => {
    await using context = await toolContext({ rules })
    expect(await context.call(tool, { name: "pdf" })).toEqual({
      title: "Skill pdf",
      output: "Skill pdf. Its files are relative to /skills/pdf.\n\nHow to pdf.",
      metadata: { name: "pdf", directory: "/skills/pdf" },
    })
    expect(context.questions).toEqual([])
  })

  test("needs permission under its name", async () => {
    await using context = await toolContext({ rules })
    await context.call(tool, { name: "deploy" })
    expect(context.questions).toMatchObject([
      { permission: "skill", patterns: ["deploy"], always: ["deploy"] },
    ])
  })

  test("that is denied gets the same error as one that does not exist", async () => {
    await using context = await toolContext({ rules })
    const error = async (name: string): Promise<string> =>
      context.call(tool, { name }).then(String, (reason: Error) => reason.message)
    expect(await error("secret")).toBe("there is no skill secret; there are: pdf, deploy")
    expect(await error("nosuch")).toBe("there is no skill nosuch; there are: pdf, deploy")
    // The same holds if the rule changed after the call was permitted.
    await expect(tool.execute({ name: "secret" }, context)).rejects.toThrow("there is no skill secret;")
    expect(context.asked).toEqual([])
  })

  test("the description says when there are none", async () => {
    await using context = await toolContext()
    const none = createSkillTool(() => [])
    expect(await describeFor(context, none)).toContain("There are no skills now.")
    await expect(context.call(none, { name: "x".repeat(500) })).rejects.toThrow(
      `there is no skill ${"x".repeat(100)}; there are none`,
    )
  })

  test("is read again for each call", async () => {
    await using context = await toolContext()
    const skills = [skill("one")]
    const changing = createSkillTool(() => skills)
    await context.call(changing, { name: "one" })
    skills[0] = skill("two")
    await expect(context.call(changing, { name: "one" })).rejects.toThrow("there are: two")
  })

  test("with wildcards in its name cannot be allowed always, because the pattern would allow other skills", async () => {
    await using context = await toolContext()
    const [wanted] = await createSkillTool(() => [skill("*")]).wants({ name: "*" }, context)
    expect(wanted!.always).toBeUndefined()
  })

  test("that is very long is cut, and the output says that it was cut", async () => {
    await using context = await toolContext()
    const long = createSkillTool(() => [skill("long", "x".repeat(300_000))])
    const { output } = await context.call(long, { name: "long" })
    expect(output.length).toBeLessThan(201_000)
    expect(output).toContain("was cut here")
  })
})
