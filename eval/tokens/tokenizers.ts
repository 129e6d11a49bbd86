export const tokenizerNames = ["o200k_base", "cl100k_base"] as const
export type TokenizerName = (typeof tokenizerNames)[number]

export type Tokenizers = Record<TokenizerName, (text: string) => number>

/** The vocabularies are large, so they are loaded only when this function is called. */
export async function loadTokenizers(): Promise<Tokenizers> {
  const [o200k, cl100k] = await Promise.all([
    import("gpt-tokenizer/encoding/o200k_base"),
    import("gpt-tokenizer/encoding/cl100k_base"),
  ])
  return {
    o200k_base: (text) => o200k.encode(text).length,
    cl100k_base: (text) => cl100k.encode(text).length,
  }
}
