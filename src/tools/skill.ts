import { z } from "zod"
import type { Skill } from "../config/agents/skills.ts"
import type { DescribeContext, Tool } from "./tool.ts"

const SkillInput = z.object({ name: z.string().min(1).describe("The skill's name, as listed") })

const bodyCharactersMax = 200_000

/** `skills` is called for each description and each call, so that config changes take effect. */
export function createSkillTool(skills: () => readonly Skill[]): Tool<z.infer<typeof SkillInput>> {
  const visible = (context: DescribeContext): Skill[] =>
    skills().filter(({ name }) => context.decide({ permission: "skill", patterns: [name] }) !== "deny")

  /** A denied skill gets the same answer as a skill that does not exist. */
  const find = (name: string, context: DescribeContext): Skill => {
    const listed = visible(context)
    const found = listed.find((skill) => skill.name === name)
    if (found !== undefined) return found
    const names = listed.map((skill) => skill.name).join(", ")
    throw new Error(
      `there is no skill ${name.slice(0, 100)}; ${names === "" ? "there are none" : `there are: ${names}`}`,
    )
  }

  return {
    name: "skill",
    description: (context) => describe(visible(context)),
    input: SkillInput,
    replay: "safe",
    writes: false,
    wants: async ({ name }, context) => {
      const { path } = find(name, context)
      const always = /[*?]/.test(name) ? undefined : [name]
      return [{ permission: "skill", patterns: [name], always, metadata: { path } }]
    },
    execute: async ({ name }, context) => {
      const skill = find(name, context)
      return {
        title: `Skill ${skill.name}`,
        output: `Skill ${skill.name}. Its files are relative to ${skill.directory}.\n\n${bounded(skill.body)}`,
        metadata: { name: skill.name, directory: skill.directory },
      }
    },
  }
}

function describe(listed: Skill[]): string {
  const head =
    "Loads a skill: instructions for one kind of work. Load one when its description fits the task."
  if (listed.length === 0) return `${head}\nThere are no skills now.`
  const lines = listed.map(({ name, description }) => `- ${name}: ${description.replace(/\s+/g, " ").trim()}`)
  return [head, "Skills:", ...lines].join("\n")
}

function bounded(body: string): string {
  if (body.length <= bodyCharactersMax) return body
  return `${body.slice(0, bodyCharactersMax)}\n\n(The skill is longer than ${bodyCharactersMax} characters and was cut here.)`
}
