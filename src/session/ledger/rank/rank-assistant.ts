import { mentionsCommand, mentionsOutcome, mentionsReadOnlyCommand } from "../calls/commands.ts"
import { namesIn, pathsIn } from "../names.ts"
import { isQuestion } from "../sentences/questions.ts"
import { wordCount } from "../sentences/word-count.ts"
import { wordPattern } from "../sentences/word-patterns.ts"
import { SentenceModel } from "./sentence-model.ts"
import { assistantMattersWeights, leavesOpenWeights, tellsChangeWeights } from "./sentence-weights.ts"

const assistantMatters = new SentenceModel(assistantMattersWeights)
const leavesOpen = new SentenceModel(leavesOpenWeights)
const changes = new SentenceModel(tellsChangeWeights)

const intention =
  /^(?:i'll|i will|i'm going to|i am going to|let me|let's|now i|now,? let|next,? i(?:'ll| will)|first,? i|looking|reading|checking|searching|我来|我先|我将|我会|我去|接下来我|让我|现在我|先看|看一下|正在)/i
const lookedAt =
  /\bi(?:'ve| have)? (?:read|looked|checked|searched|opened|see|saw|found|went through|reviewed)\b|^(?:see|here (?:is|are)|this is|found)\b|我(?:看了|读了|查了|检查了|找到|看到)/i
/**
 * Words for open work in an assistant's text. The user's word lists do not fit, because an assistant's explanations are
 * full of them.
 */
const leftOver = wordPattern({
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
/** "To be settled: who renews the certificate" contains a question word but is not a question. */
const isOpenPoint = /^[^?？]{2,24}[:：][^?？]+$/
const obligation =
  /\b(?:has|have|had|needs?|ought|is|are) (?:still )?to (?:be )?\w+|\bmust\b|\bbefore (?:we|you|merging|shipping|releasing)|需要先|必须|得先|才能(?:合并|上线|发布)|之前(?:还)?要/i
/** Words that say that a file was changed, and not only read. */
const changing =
  /\b(?:updated|changed|changes?|moved|created|added|adding|fix(?:ed)?|rewrote|rewritten|reworked|renamed|deleted|removed|gone|edit(?:ed)?|split|extracted|pulled|wrote|written|introduced|replaced|patch(?:ed)?|refactored|touched|cleaned|tweaked|adjusted|swapped|bumped|revert(?:ed)?|restored|reformatted|formatted|migrated|converted|merged|inlined|dropped|put|new|now|pushed|committed|landed|lives?|generated|made|modified|implemented|appended|corrected|switched|wired|hooked|saved|copied|done|took|went|got|shrinks?|shrank|grew|sits|gain(?:s|ed)|extra|swapped|turned|inserted|relocated|carved|trimmed|simplified|unified|ended up|carries|used to|no longer|any ?more|instead of|where it had|renaming|first draft|in place|shipped|(?:has|have)(?: just| also| already)? been \w+|i(?:'ve| have)?(?: just| also| already)? (?:\w+ed|cut|gave|built)|over to|down to|away)\b|^`?[\w./-]+`?[:：]|改|动过|动了|现在(?!看|读|是不是)|新建|新增|新文件|删(?!节)|重写|抽|挪|移|加了|加上|修|换|写好|写了|写进|拆|合并|更新|调整|调了|替换|补|提取|还原|格式化|搬|提交|推了|落在|放到|放进|生成|建了|创建|多了|少了|集中|纠正|拿掉|扔|去掉|整理|归到|收到|不一样|新的|落到|带上|变成|换上|接上|挂到|并到|并入|瘦|精简|合到|塞进|弄|搞|整了|碰过|已经|了(?=[，。；、\s`]|$)|[好完过掉成]了|进去|上去/i
const supposing =
  /^(?:if|when(?:ever)? (?:was|did|you|we)|suppose|what if|should you|如果|要是|假如|若|啥时候|什么时候)|\bwould (?:be|have|need)\b|\bcould (?:be|go|also)\b|应该(?:是|在|改)|(?:可以|要)改的(?:是|话)/i
/** Words that say that nothing was changed, or that the file was only read. */
const unchanged =
  /\b(?:(?:did|do|does|has|have|had|was|were|is|are) ?n[o']t (?:\w+ )?(?:change|touch|edit|modif|alter|need)\w*|un(?:changed|touched)|no changes?|nothing (?:changed|to change)|(?:only|just) (?:read|looked|skimmed)|looked (?:at|through|into)|reads? |skimmed|scrolled)\b|没有?(?:做)?(?:任何)?(?:改|动|变|碰)|未(?:改|动|变)|不(?:用|需要?|必)改|(?:看|读|翻|扫|查|瞄|瞅|睡|想|忘|绝|见|听)(?:了|过|完|到|着)|没想到|除了[^，]*$/i

/**
 * Above the first probability, or below the second, the model overrides the word lists about whether a file was
 * changed.
 */
const surelyChanged = 0.8
const surelyUnchanged = 0.03

/** Whether a sentence that names a file says that the file was changed. */
export function reportsChange(sentence: string): boolean {
  const chance = changes.chance(sentence)
  if (chance > surelyChanged) return true
  if (chance < surelyUnchanged || supposing.test(sentence)) return false
  return sentence.split(/[，,；;—]/).some((clause) => changing.test(clause) && !unchanged.test(clause))
}

export interface AssistantSentenceRank {
  /** The rank as a report of a command; 0 if the sentence is not one. */
  command: number
  /** The rank as open work or as a plain statement; 0 if the sentence is neither. */
  said: number
  /** True if the sentence says how things are, and not what the assistant is about to do or read. */
  states: boolean
}

/** Ranks a sentence of the assistant. The outcome of a command and open work rank highest. */
export function rankAssistantSentence(sentence: string): AssistantSentenceRank {
  if (isQuestion(sentence) && !isOpenPoint.test(sentence)) return { command: 0, said: 0, states: false }
  const states = !intention.test(sentence) && !lookedAt.test(sentence)
  return { command: commandRank(sentence, { states }), said: statementRank(sentence, { states }), states }
}

function commandRank(sentence: string, { states }: { states: boolean }): number {
  if (!mentionsCommand(sentence)) return 0
  if (!states || mentionsReadOnlyCommand(sentence)) return 20
  return mentionsOutcome(sentence) ? 66 : 50
}

/**
 * Word lists have more weight here than the model, because there are fewer training examples for assistants than for
 * users.
 */
const wordListShare = 0.7
/** Without a match in the word lists, the model must give at least this rank. */
const learntMin = 30

function statementRank(sentence: string, { states }: { states: boolean }): number {
  const byWords = leftOver.test(sentence)
    ? 62
    : obligation.test(sentence)
      ? 56
      : states
        ? namedStatementRank(sentence)
        : 0
  const learnt = Math.max(80 * leavesOpen.chance(sentence), 40 * assistantMatters.chance(sentence))
  if (byWords === 0 && learnt < learntMin) return 0
  return Math.round(wordListShare * byWords + (1 - wordListShare) * learnt)
}

/** A statement that contains a name is kept where there is room, a short one first. */
function namedStatementRank(sentence: string): number {
  if (namesIn(sentence).length === 0 && pathsIn(sentence).length === 0) return 0
  return wordCount(sentence) <= 12 ? 36 : 26
}
