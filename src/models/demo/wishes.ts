import { hideQuotes } from "./quotes.ts"
import { chinese, english } from "./rules.ts"
import { type DemoTodo, type Found, type Wish, type WishKind, wishesOf } from "./wish.ts"

const wishesMax = 10
/** Only this many characters of a text are searched for commands; a quoted text counts as two characters. */
const heardMax = 2_000

const verbs =
  "(?:read|open|cat|view|show|display|print|find|glob|locate|search|grep|scan|look|list|ls|run|execute|write|create|make|save|put|replace|change|edit|add|todos?|ask|use|load|fetch|visit|delegate|mark|tell|what|where)\\b|https?://" +
  "|读|看|打开|显示|查看|找|查找|搜|检索|列|运行|执行|跑|写|把|将|在|往|新建|创建|让|叫|派|用|使用|加|添加|抓取|访问|获取|待办|完成"
const joints =
  "(?:(?:and|then|also|after that|afterwards|next|finally|please)\\b[\\s,]*|(?:然后|接着|之后|再|并且|并|最后|同时|请|帮我)[，,]?\\s*)"
const separator = new RegExp(
  `(?<mark>\\s*\\n\\s*|[,.!?]\\s+|;\\s*|[；。，、！？]\\s*)${joints}*(?=${verbs})|\\s+${joints}+(?=${verbs})|(?<=[^\\w\\s])(?:然后|接着|之后|再|并且|并)[，,]?\\s*(?=${verbs})`,
  "giu",
)

const politeness =
  /^(?:(?:please|pls|hey|hi|hello|ok|okay|now|first|next|then|and|also|finally|just|kindly|can you|could you|would you|will you|i want you to|i(?:'d| would) like you to|let's|let us|help me(?: to)?|try to)(?:[\s,!.]+|$))+/i
const chinesePoliteness =
  /^(?:请|麻烦|帮我|帮忙|给我|你能不能|你能|能不能|能否|可以|你|我想|我要|先|再|并且|并|然后|接着|最后|也|还要|还有|同时)+[，,]?\s*/

export interface Hearing {
  /** The session's todo list, as far as the context shows it. */
  todos: readonly DemoTodo[]
}

export interface HeardText {
  /** In the order of the text. */
  wishes: Wish[]
  /** Clauses that match no rule. */
  unheard: string[]
}

/** Finds the wishes in a text. */
export function wishesIn(text: string, { todos }: Hearing): HeardText {
  const quotes = hideQuotes(text.trim())
  const wishes: Wish[] = []
  const unheard: string[] = []
  for (const clause of clausesOf(quotes.text.slice(0, heardMax))) {
    const heard = hear(clause)
    if (heard) wishes.push(...heard.wishes({ todos, quotes }))
    else if (clause.trim()) unheard.push(quotes.whole(clause.trim()))
  }
  return { wishes: withoutRepeats(wishes).slice(0, wishesMax), unheard }
}

export function isChinese(text: string): boolean {
  return /\p{Script=Han}/u.test(text)
}

/** Splits a text where a new command begins. The text for a subagent or a todo list ends only at a line break. */
function clausesOf(text: string): string[] {
  const clauses: string[] = []
  let start = 0
  for (const match of text.matchAll(separator)) {
    const kind = hear(text.slice(start, match.index))?.kind
    const mark = match.groups?.mark ?? ""
    if (isGreedy(kind) && !mark.includes("\n")) continue
    // A comma or a semicolon without a conjunction belongs to the shell command.
    if (kind === "run" && match[0] === mark && !mark.includes("\n")) continue
    clauses.push(text.slice(start, match.index))
    start = match.index + match[0].length
  }
  clauses.push(text.slice(start))
  return clauses
}

function isGreedy(kind: WishKind | undefined): boolean {
  return kind === "task" || kind === "todo-new" || kind === "todo-add"
}

interface Heard {
  kind: WishKind
  wishes(hearing: Hearing & { quotes: ReturnType<typeof hideQuotes> }): Wish[]
}

function hear(clause: string): Heard | undefined {
  const bare = clause.trim().replace(politeness, "").replace(chinesePoliteness, "").trim()
  const clean = bare.replace(/(?<=[^\s.])[.!?。！？，,；;]+$/u, "")
  for (const [kind, pattern] of isChinese(clean) ? [...chinese, ...english] : english) {
    const match = pattern.exec(clean)
    if (!match) continue
    const found: Found = Object.fromEntries(
      Object.entries(match.groups ?? {}).filter(([, value]) => value !== undefined),
    )
    // Whether calls can be made does not depend on the quoted texts. For `todo-done` it depends on the list, checked
    // later.
    const sense = kind === "todo-done" || wishesOf(kind, found, { todos: [], plain: nameOfQuote }).length > 0
    if (!sense) continue
    return {
      kind,
      wishes: ({ todos, quotes }) =>
        wishesOf(kind, found, { todos, plain: kind === "task" ? quotes.whole : quotes.plain }),
    }
  }
  return undefined
}

/** Replaces each placeholder by a text that counts as a path. */
function nameOfQuote(text: string): string {
  return text.replace(/\uE000[\uE100-\uE1FF]/g, "./quoted")
}

/** Removes a wish that repeats an earlier one, unless a wish between them changes something. */
function withoutRepeats(wishes: readonly Wish[]): Wish[] {
  let seen = new Set<string>()
  return wishes.filter((wish) => {
    const key = JSON.stringify(wish)
    if (seen.has(key)) return false
    if (!wish.every((call) => isLooking(call.tool))) seen = new Set()
    seen.add(key)
    return true
  })
}

const looking = new Set(["read", "glob", "grep", "list", "webfetch", "todoread", "skill"])

/** True for a tool that changes nothing, so that several of its calls may run at the same time. */
export function isLooking(tool: string): boolean {
  return looking.has(tool)
}
