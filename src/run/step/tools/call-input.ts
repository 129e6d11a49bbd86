import { findJsonExcess, type JsonObject } from "../../../protocol/index.ts"
import { cleanDeep } from "../../../session/index.ts"
import type { Tool } from "../../../tools/tool.ts"
import { errorText } from "../error-text.ts"
import { dataDepthMax } from "../plain-data.ts"

export type CallInput =
  | { ok: true; tool: Tool; value: unknown; input: JsonObject }
  | { ok: false; error: string; input: JsonObject }

/** Finds the tool and parses its input. An error is a sentence that tells the model how to correct the call. */
export function callInput(tools: ReadonlyMap<string, Tool>, call: { tool: string; text: string }): CallInput {
  const input = parseCallInput(call.text)
  const storedInput = input ?? (call.text === "" ? {} : { raw: call.text })
  const tool = tools.get(call.tool) ?? tools.get(call.tool.trim().toLowerCase())
  if (!tool) {
    const names = [...tools.keys()].join(", ")
    return {
      ok: false,
      error: `There is no tool ${call.tool}. ${names === "" ? "No tools are switched on." : `There are: ${names}.`}`,
      input: storedInput,
    }
  }
  if (!input) {
    return {
      ok: false,
      error: `The input of ${tool.name} is not a JSON object of at most ${dataDepthMax} levels. Call it again with a JSON object as its description says.`,
      input: storedInput,
    }
  }
  const result = validateInput(tool, input)
  if (result instanceof BrokenSchema) {
    const error = `The input of ${tool.name} could not be checked, because the input schema of the tool fails: ${result.message}`
    return { ok: false, error, input }
  }
  if (result.success) return { ok: true, tool, value: result.data, input }
  const issues = result.error.issues
    .slice(0, 5)
    .map(({ path, message }) => (path.length > 0 ? `${path.map(String).join(".")}: ${message}` : message))
  return {
    ok: false,
    error: `The input of ${tool.name} is not valid. ${issues.join("; ")}. Correct this and call the tool again.`,
    input,
  }
}

class BrokenSchema extends Error {
  override name = "BrokenSchema"
}

function validateInput(tool: Tool, input: JsonObject) {
  try {
    return tool.input.safeParse(input)
  } catch (error) {
    return new BrokenSchema(errorText(error))
  }
}

/** The input of a call; undefined if the text is not a JSON object that a store accepts. */
export function parseCallInput(text: string): JsonObject | undefined {
  if (text.trim() === "") return {}
  if (findJsonExcess(text, { depthMax: dataDepthMax })) return undefined
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined
    return cleanDeep(value as JsonObject)
  } catch {
    return undefined
  }
}
