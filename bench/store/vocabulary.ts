import { type Random, seededRandom, zipf } from "./random.ts"
import {
  chineseCharacters,
  codas,
  commonChinese,
  commonEnglish,
  extensions,
  fileNames,
  folders,
  nouns,
  onsets,
  prefixes,
  stems,
  suffixes,
  verbs,
  vowels,
} from "./word-lists.ts"

const englishWords = 40_000
const chineseWords = 20_000

/** Words, names and paths as developers write them, with the frequencies of a language. Depends only on the seed. */
export class Vocabulary {
  readonly random: Random
  readonly #english: string[]
  readonly #chinese: string[]
  readonly #nextEnglish: () => number
  readonly #nextChinese: () => number
  readonly #nextFolder: () => number
  readonly #nextFile: () => number

  constructor(seed: number) {
    this.random = seededRandom(seed)
    this.#english = fill([...commonEnglish, ...stems], englishWords, () => this.#rareWord())
    this.#chinese = fill(commonChinese, chineseWords, () => this.#chineseWord())
    this.#nextEnglish = zipf(englishWords, this.random, { power: 1.08 })
    this.#nextChinese = zipf(chineseWords, this.random, { power: 1.08 })
    this.#nextFolder = zipf(folders.length, this.random)
    this.#nextFile = zipf(fileNames.length, this.random)
  }

  below(limit: number): number {
    return Math.floor(this.random() * limit)
  }

  one<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!
  }

  word(): string {
    return this.#english[this.#nextEnglish()]!
  }

  /** This many words, the first with a capital. */
  sentence(words: number): string {
    let text = this.word()
    text = text[0]!.toUpperCase() + text.slice(1)
    for (let i = 1; i < words; i++) text += this.below(12) === 0 ? `, ${this.word()}` : ` ${this.word()}`
    return text
  }

  /** About this many words in sentences, with a name or a path here and there. */
  prose(words: number): string {
    const sentences: string[] = []
    for (let left = words; left > 0; ) {
      const length = Math.min(left, 4 + this.below(14))
      left -= length
      let text = this.sentence(length)
      const extra = this.below(10)
      if (extra === 0) text += ` ${this.camelCase()}`
      else if (extra === 1) text += ` ${this.path()}`
      else if (extra === 2) text += ` ${this.number()}`
      sentences.push(`${text}.`)
    }
    return sentences.join(" ")
  }

  chinese(words: number): string {
    let text = ""
    for (let i = 0; i < words; i++) {
      text += this.#chinese[this.#nextChinese()]!
      if (i % 9 === 8) text += i % 2 === 0 ? "，" : "。"
      else if (this.below(40) === 0) text += ` ${this.camelCase()} `
    }
    return `${text}。`
  }

  camelCase(): string {
    const last = this.below(2) === 0 ? this.one(nouns) : ""
    return this.one(verbs) + this.one(nouns) + last
  }

  snakeCase(): string {
    return `${this.one(verbs)}_${this.one(nouns).toLowerCase()}_${this.one(stems)}`
  }

  path(): string {
    let path = folders[this.#nextFolder()]!
    for (let depth = this.below(3); depth > 0; depth--) path += `/${folders[this.#nextFolder()]}`
    const file =
      this.below(3) === 0 ? `${this.one(stems)}-${this.one(fileNames)}` : fileNames[this.#nextFile()]
    return `${path}/${file}.${this.one(extensions)}`
  }

  number(): string {
    return String(Math.floor(10 ** (this.random() * 5)))
  }

  /** A few lines of a program. */
  code(lines: number): string {
    const text: string[] = []
    for (let i = 0; i < lines; i++) {
      switch (this.below(5)) {
        case 0:
          text.push(`import { ${this.camelCase()} } from "./${this.one(stems)}.ts"`)
          break
        case 1:
          text.push(`  const ${this.one(stems)} = ${this.camelCase()}(${this.snakeCase()}, ${this.number()})`)
          break
        case 2:
          text.push(
            `  if (${this.one(stems)}.${this.one(stems)} > ${this.number()}) return ${this.camelCase()}()`,
          )
          break
        case 3:
          text.push(`  // ${this.sentence(6)}`)
          break
        default:
          text.push(
            `  await ${this.one(stems)}.${this.one(verbs)}({ ${this.snakeCase()}: ${this.number()} })`,
          )
      }
    }
    return text.join("\n")
  }

  /** A stem with prefixes and suffixes, or a made-up word, with the average length of words. */
  #rareWord(): string {
    switch (this.below(8)) {
      case 0:
        return this.one(stems) + this.one(suffixes)
      case 1:
        return this.one(prefixes) + this.one(stems)
      case 2:
        return this.one(stems) + this.one(stems)
      default: {
        let word = this.one(onsets) + this.one(vowels) + this.one(codas)
        word += this.one(onsets) + this.one(vowels)
        return this.below(2) === 0 ? word : word + this.one(codas)
      }
    }
  }

  #chineseWord(): string {
    const length = this.below(10) < 7 ? 2 : 3 + this.below(2)
    let word = ""
    for (let i = 0; i < length; i++) word += this.one(chineseCharacters)
    return word
  }
}

/** The common words first, then made-up ones, without duplicates. */
function fill(common: readonly string[], size: number, make: () => string): string[] {
  const words = new Set(common)
  while (words.size < size) words.add(make())
  return [...words]
}
