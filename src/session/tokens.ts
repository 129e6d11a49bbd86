import type { MessageBody, PartBody, Tokens } from "../protocol/index.ts"

/** Blocks of Chinese, Japanese and Korean characters, in order. Their punctuation counts as any other. */
const cjkRanges: readonly (readonly [first: number, last: number])[] = [
  [0x1100, 0x11ff],
  [0x2e80, 0x2fdf],
  [0x3005, 0x3007],
  [0x3021, 0x3029],
  [0x3031, 0x3035],
  [0x3038, 0x303c],
  [0x3041, 0x30ff],
  [0x3105, 0x318e],
  [0x31a0, 0x31bf],
  [0x31f0, 0x31ff],
  [0x3400, 0x4dbf],
  [0x4e00, 0x9fff],
  [0xa960, 0xa97f],
  [0xac00, 0xd7ff],
  [0xf900, 0xfaff],
  [0xff66, 0xffdc],
  [0x1aff0, 0x1b16f],
  [0x20000, 0x3ffff],
]

function isCjk(codePoint: number): boolean {
  if (codePoint < 0x1100) return false
  for (const [first, last] of cjkRanges) if (codePoint <= last) return codePoint >= first
  return false
}

function quarters(text: string): number {
  let sum = 0
  for (let i = 0; i < text.length; i++) {
    const codePoint = text.codePointAt(i)!
    if (codePoint > 0xffff) i++
    sum += isCjk(codePoint) ? 2 : 1
  }
  return sum
}

/** A rough count, good enough to see an overflow coming: a quarter token a character, half a Chinese, Japanese or Korean one. */
export function estimateTokens(text: string): number {
  return Math.ceil(quarters(text) / 4)
}

/** What of a part reaches a model, roughly: its texts, and the input and result of a call. */
function modelTexts(part: PartBody): string[] {
  switch (part.type) {
    case "text":
      return part.ignored ? [] : [part.text]
    case "reasoning":
      return [part.text]
    case "tool": {
      const { state } = part
      const call = [part.tool, JSON.stringify(state.input)]
      if (state.status === "completed") return [...call, state.output]
      if (state.status === "error") return [...call, state.error]
      return state.status === "pending" ? [...call, state.raw] : [...call, state.output ?? ""]
    }
    case "subtask":
      return [part.description, part.prompt]
    case "compaction":
      return [part.summary ?? "", part.ledger ?? ""]
    case "file":
    case "agent":
    case "retry":
    case "step-start":
    case "step-finish":
    case "snapshot":
    case "patch":
      return []
  }
}

/** A file counts nothing here: what it costs depends on the model. */
export function estimatePartTokens(part: PartBody): number {
  return estimateTokens(modelTexts(part).join(""))
}

/** A message with its parts. */
export function estimateMessageTokens(item: { message: MessageBody; parts: readonly PartBody[] }): number {
  const system = item.message.role === "user" ? estimateTokens(item.message.system ?? "") : 0
  return item.parts.reduce((sum, part) => sum + estimatePartTokens(part), system)
}

export function addTokens(a: Tokens, b: Tokens): Tokens {
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    reasoning: a.reasoning + b.reasoning,
    cache: { read: a.cache.read + b.cache.read, write: a.cache.write + b.cache.write },
  }
}

/** All tokens of a call, the cached ones included. */
export function totalTokens(tokens: Tokens): number {
  return tokens.input + tokens.output + tokens.reasoning + tokens.cache.read + tokens.cache.write
}
