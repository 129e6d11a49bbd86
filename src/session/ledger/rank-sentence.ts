import { namesLook, tellsCommand, tellsOutcome } from "./commands.ts"
import { amounts, choices, limits, openWork, settles, standing, weakLimits } from "./cues.ts"
import { namesIn, pathsIn } from "./names.ts"
import { asksToSee, isPolite, isQuestion, politeRequest } from "./questions.ts"
import { signs } from "./signs.ts"
import { stanceGain, stanceLoss } from "./stance.ts"
import { isChat, isGuess, isSmallTalk } from "./talk.ts"
import { workWords } from "./work-words.ts"

/** What is to be known of a sentence to judge it. */
export interface Judged {
  /** 0 to 100; 0 is not worth keeping. */
  rank: number
  /** It states something, or asks for work: not a question, nor a wish to be shown something. */
  states: boolean
}

/** How much a sentence of the user matters after the messages around it are gone. */
export function rankSaid(sentence: string): Judged {
  if (isSmallTalk(sentence)) return { rank: 0, states: false }
  const text = sentence.replace(politeRequest, "")
  const seeks = asksToSee(sentence) || asksToSee(text)
  const asks = !isPolite(sentence) && isQuestion(sentence) && !reportsEnd(sentence)
  const statesFirst = asks && hasStatement(sentence)
  const tellsEnd = asks && tellsCommand(sentence) && /\d/.test(sentence.replace(/`[^`]*`/g, " "))
  const base = tellsEnd ? 52 : statesFirst ? 40 : asks ? 16 : seeks ? 22 : 50
  const cues = Math.min(asks || seeks ? 20 : 26, cueSum(text))
  const rank = Math.max(1, Math.min(90, base + cues - vagueness(text)))
  return { rank, states: (!asks || statesFirst) && !seeks }
}

/** "did `make check` just now, works": no question without its mark. */
function reportsEnd(sentence: string): boolean {
  return !/[?？]/.test(sentence) && tellsCommand(sentence) && tellsOutcome(sentence)
}

const runOnLoss = 12

/**
 * People who write Chinese run many sentences together with commas: what is said beside is taken out, so that it neither
 * costs room nor hides what matters. A clause that points back keeps the one that it points to.
 */
export function judgeSaid(sentence: string): Judged & { text: string } {
  const text = withoutAsides(sentence)
  const judged = rankSaid(text)
  // What leads up to a question is mostly part of it.
  const leadsUp = text !== sentence && isQuestion(sentence) && !isPolite(sentence)
  const loss = leadsUp && !binding.test(text) && !tellsCommand(text) ? runOnLoss : 0
  return { ...judged, text, rank: judged.rank === 0 ? 0 : Math.max(1, judged.rank - loss) }
}

function withoutAsides(sentence: string): string {
  const clauses = sentence.split(/(?<=，)/)
  if (clauses.length < 2) return sentence
  const keeps = clauses.map((clause) => !isAside(clause.replace(/，$/, "")))
  for (let at = clauses.length - 1; at > 0; at--) {
    if (keeps[at] && pointsBack.test(clauses[at]!)) keeps[at - 1] = true
  }
  const kept = clauses.filter((_, at) => keeps[at])
  return kept.length === 0 ? sentence : kept.join("").replace(/，$/, "")
}

const pointsBack = /^(?:这|那是|那样|否则|不然|要不然|所以|因为|毕竟|它|没得商量|免得|省得)/
const binding =
  /不准|不许|不得|不能|不可|不要|别(?!的|人)|勿|甭|必须|务必|禁止|严禁|只能|只准|一律|绝不|谁都不|都要|都得/

function isAside(clause: string): boolean {
  if (isSmallTalk(clause)) return true
  if (binding.test(clause)) return false
  return isChat(clause) || isGuess(clause) || (!isPolite(clause) && (isQuestion(clause) || asksToSee(clause)))
}

/** "It takes nine minutes here, is that normal?" states something before it asks. */
function hasStatement(question: string): boolean {
  const comma = Math.max(...[...",，;；—"].map((character) => question.lastIndexOf(character)))
  const head = question.slice(0, Math.max(0, comma)).trim()
  if (wordCount(head) < 4) return false
  return !/^(?:if|what|why|when|how|where|who|which|is|are|does|do|did|was|were|can|could|would|should|如果|要是|为什么|为啥|怎么|啥时候|什么时候|是不是|能不能)/i.test(
    head,
  )
}

/** Who talks of themselves or to the other, and says nothing that binds, mostly chats. */
const personal =
  /\b(?:i|i'm|i've|i'd|i'll|my|me|mine|you|you're|you've|your|he|she|his|her)\b|[我你他她]|[!！]$/i
const personalLoss = 8

/** A name in a sentence says little of what the sentence is for: names are kept by themselves. */
function cueSum(text: string): number {
  const strong =
    (limits.test(text) ? 12 : 0) +
    (choices.test(text) ? 8 : 0) +
    (settles.test(text) ? 8 : 0) +
    (openWork.test(text) ? 8 : 0) +
    (tellsCommand(text) ? 9 : 0)
  let sum = strong
  if (weakLimits.test(text) && !limits.test(text)) sum += 3
  if (standing.test(text)) sum += 6
  if (amounts.test(text)) sum += 6
  if (workWords.test(text)) sum += 6
  if (namesIn(text).some(({ rank }) => rank >= 50) || pathsIn(text).length > 0) sum += 4
  sum += stanceGain(text) - (strong < 12 ? stanceLoss(text) : Math.round(stanceLoss(text) / 2))
  const binds = limits.test(text) && strong >= 20
  if (isChat(text)) return Math.min(sum, 12) - (reportsEnd(text) ? 8 : binds ? 16 : 24)
  if (isGuess(text) && !reportsEnd(text)) return Math.min(sum, 16) - 14
  if (isVagueChinese(text)) sum = Math.round(sum / 2) - 4
  return strong < 12 && personal.test(text) ? sum - personalLoss : sum
}

/** Chinese signs are short and stand in many words: without a word of the trade or a name they say half as much. */
function isVagueChinese(text: string): boolean {
  return /\p{Script=Han}/u.test(text) && !workWords.test(text) && !/[A-Za-z\d]/.test(text)
}

/** Sentences of a few plain words, as "that looks odd", mean nothing without what they answered. */
function vagueness(text: string): number {
  if (limits.test(text) || openWork.test(text)) return 0
  const words = wordCount(text)
  if (words <= 2) return 4
  const points = /^(?:it|this|that|these|those|he|she|they)\b|^(?:这|那)(?:个|样|里)?/i.test(text)
  return points && words < 8 ? 8 : 0
}

/** Words, two Chinese characters counted as one. */
export function wordCount(text: string): number {
  return text.match(/\p{Script=Han}{1,2}|[\p{L}\p{N}][^\s\p{Script=Han}]*/gu)?.length ?? 0
}

export interface Told {
  /** As a report of a command; 0 if it is none. */
  command: number
  /** As work that is left, or as a plain statement; 0 if it is neither. */
  said: number
  /** It says how things are, not what the assistant is about to do or to look at. */
  states: boolean
}

const intention =
  /^(?:i'll|i will|i'm going to|i am going to|let me|let's|now i|now,? let|next,? i(?:'ll| will)|first,? i|looking|reading|checking|searching|我来|我先|我将|我会|我去|接下来我|让我|现在我|先看|看一下|正在)/i
const lookedAt =
  /\bi(?:'ve| have)? (?:read|looked|checked|searched|opened|see|saw|found|went through|reviewed)\b|^(?:see|here (?:is|are)|this is|found)\b|我(?:看了|读了|查了|检查了|找到|看到)/i
/** What is left, as an assistant says it: its explanations are full of words that are signs in a user's mouth. */
const leftOver = signs({
  english: `
    to-?do, still (?:open|to|need|miss|fail|report|un|has|have|to be|lack|wait)\\w*, remain(?:s|ing), left (?:to|for|open|out|undone|as|it|that|alone), (?:one|two|three|few) (?:things?|steps?|items?) left, pending, outstanding, unfinished,
    not(?: [^\\s.]{1,80}){1,5}? yet, yet to, haven't, hasn't, have not, has not, (?:nobody|no one|nothing) (?:has|have|is|was|yet|covers|tests|checks), follow[- ]?up, later, comes? next, next (?:up|step|on|session|round|time|turn|pass|week),
    blocked, waiting (?:for|on), half[- ]done, in progress, wip, revisit, come back, deferred, postponed, open (?:question|point|issue|item|end), loose ends?, so far, will need, should (?:follow|also|be|come|get|go|then), lacks?, out of date, stale, untested, untouched, uncovered, undocumented, unverified, could use,
    on (?:my|our|the) (?:plate|list|agenda), (?:next )?in line, (?:that|which|this) leaves, afterwards, parked, on hold, for now, for the moment, at the moment, as of now, for the time being, hard[- ]?coded, placeholder, stubbed?, mocked?, temporar\\w+, workaround,
    (?:could|can|did) ?n[o']t (?:verify|test|check|reproduce|confirm|get to|reach|finish|touch|cover|do|try|run), (?:could|can|did) not (?:verify|test|check|reproduce|confirm|get to|reach|finish|touch|cover|do|try|run), unable to, hands off, stayed away, skipped, ran out of, does nothing, no-op, not (?:wired|hooked|connected|covered|tested|done|handled|supported|implemented|part of|included)`,
  chinese: `
    还没, 还要, 还得, 还差, 还剩, 还缺, 还在, 尚未, 尚待, 有待, 余下, 其余的?(?:工作|部分|任务), 未完成, 没做, 没人[写测管做补改], 待(?:办|定|补|处理|做|完成|解决|确认|验证), 剩下, 只剩, 剩, 回头, 稍后, 晚点, 接下来, 下一?[步轮回次期版], 遗留, 尾巴, 后续, 留到, 留给, 留着, 要等, 以后再, 改天,
    没(?:覆盖|处理|转换|接|测|改|迁|补|写|碰|动|管|验证|顾上|来得及|跟上|实现|支持|反应|效果), 来不及, 也要, 也得, 过时, 要跟着, 缺, 欠, 放着, 放到?下, 放一放, 轮到, 要做, 得有人, 搁, 排队, 等.{1,12}再, [验证测跑确认]不了, 没法(?:验证|测|跑|确认), 眼下, 暂时, 先这样, 临时, 占位, 写死, 硬编码, 没反应, 不生效, 照旧, 跳过, 漏了`,
})
/** "To be settled: who renews the certificate" asks nobody. */
const isOpenPoint = /^[^?？]{2,24}[:：][^?？]+$/
const obligation =
  /\b(?:has|have|had|needs?|ought|is|are) (?:still )?to (?:be )?\w+|\bmust\b|\bbefore (?:we|you|merging|shipping|releasing)|需要先|必须|得先|才能(?:合并|上线|发布)|之前(?:还)?要/i
/** That a file was changed, and not only looked at. */
const changing =
  /\b(?:updated|changed|changes?|moved|created|added|adding|fix(?:ed)?|rewrote|rewritten|reworked|renamed|deleted|removed|gone|edit(?:ed)?|split|extracted|pulled|wrote|written|introduced|replaced|patch(?:ed)?|refactored|touched|cleaned|tweaked|adjusted|swapped|bumped|revert(?:ed)?|restored|reformatted|formatted|migrated|converted|merged|inlined|dropped|put|new|now|pushed|committed|landed|lives?|generated|made|modified|implemented|appended|corrected|switched|wired|hooked|saved|copied|done|took|went|got|shrinks?|shrank|grew|sits|gain(?:s|ed)|extra|swapped|turned|inserted|relocated|carved|trimmed|simplified|unified|ended up|carries|used to|no longer|any ?more|instead of|where it had|renaming|first draft|in place|shipped|(?:has|have)(?: just| also| already)? been \w+|i(?:'ve| have)?(?: just| also| already)? (?:\w+ed|cut|gave|built)|over to|down to|away)\b|^`?[\w./-]+`?[:：]|改|动过|动了|现在(?!看|读|是不是)|新建|新增|新文件|删(?!节)|重写|抽|挪|移|加了|加上|修|换|写好|写了|写进|拆|合并|更新|调整|调了|替换|补|提取|还原|格式化|搬|提交|推了|落在|放到|放进|生成|建了|创建|多了|少了|集中|纠正|拿掉|扔|去掉|整理|归到|收到|不一样|新的|落到|带上|变成|换上|接上|挂到|并到|并入|瘦|精简|合到|塞进|弄|搞|整了|碰过|已经|了(?=[，。；、\s`]|$)|[好完过掉成]了|进去|上去/i

const supposing =
  /^(?:if|when(?:ever)? (?:was|did|you|we)|suppose|what if|should you|如果|要是|假如|若|啥时候|什么时候)|\bwould (?:be|have|need)\b|\bcould (?:be|go|also)\b|应该(?:是|在|改)|(?:可以|要)改的(?:是|话)/i
/** Says that nothing was changed, or that somebody only looked. */
const unchanged =
  /\b(?:(?:did|do|does|has|have|had|was|were|is|are) ?n[o']t (?:\w+ )?(?:change|touch|edit|modif|alter|need)\w*|un(?:changed|touched)|no changes?|nothing (?:changed|to change)|(?:only|just) (?:read|looked|skimmed)|looked (?:at|through|into)|reads? |skimmed|scrolled)\b|没有?(?:做)?(?:任何)?(?:改|动|变|碰)|未(?:改|动|变)|不(?:用|需要?|必)改|(?:看|读|翻|扫|查|瞄|瞅|睡|想|忘|绝|见|听)(?:了|过|完|到|着)|没想到|除了[^，]*$/i

/** Whether a sentence that names a file says that it was changed. */
export function tellsChange(sentence: string): boolean {
  if (supposing.test(sentence)) return false
  return sentence.split(/[，,；;—]/).some((clause) => changing.test(clause) && !unchanged.test(clause))
}

/** A statement about something that has a name is kept where there is room, a short one sooner. */
function anchored(sentence: string): number {
  if (namesIn(sentence).length === 0 && pathsIn(sentence).length === 0) return 0
  return wordCount(sentence) <= 12 ? 36 : 26
}

/** The same for a sentence of the assistant: how a command ended and what is left to do come first. */
export function rankTold(sentence: string): Told {
  if (isSmallTalk(sentence) || (isQuestion(sentence) && !isOpenPoint.test(sentence)))
    return { command: 0, said: 0, states: false }
  const intends = intention.test(sentence)
  const states = !intends && !lookedAt.test(sentence)
  return {
    command: commandRank(sentence, { intends }),
    said: intends ? 0 : toldRank(sentence, { states }),
    states,
  }
}

function commandRank(sentence: string, { intends }: { intends: boolean }): number {
  if (!tellsCommand(sentence)) return 0
  if (intends || namesLook(sentence)) return 20
  return tellsOutcome(sentence) ? 66 : 50
}

function toldRank(sentence: string, { states }: { states: boolean }): number {
  if (isGuess(sentence)) return 0
  if (leftOver.test(sentence)) return 62
  if (obligation.test(sentence)) return 56
  return states ? anchored(sentence) : 0
}
