/** A request to be shown or told something, or to try something now. It does not matter after it is done. */
const inspection =
  /^(?:(?:can|could|would|will) (?:you|we)|i(?:'d| would) like (?:you )?to|i want (?:you )?to|let's|go(?: ahead)?(?: and)?|now|then|first|next|quickly|maybe|just|try to|wait)?[\s,]*(?:(?:have|take|get|give) (?:me )?(?:an?|another|the) (?:\w+ )?(?:look|overview|summary|glance|rundown|example|idea|list|hint)|look|check|show|tell|explain|find|read|reread|list|open|search|see|print|paste|describe|summari[sz]e|walk|review|compare|investigate|figure|dig|let me (?:know|see)|help me understand|grep|inspect|trace|count|draw|sketch|zoom|translate (?:that|this|it)|rewrite (?:that|this)|write down (?:the|how|which|what)|execute (?:it|that)|put side by side|focus on|stay with|go(?:ing)? back to|up again|give me|can i have|i'd like|scan|skim|scroll|point me|remind me|repeat|try (?:it|that|again|with)|(?:re-?)?run (?:it|that|this|them|the \w+(?: \w+)? (?:again|once))|do (?:it|that) again|what about|how about)\b|^(?:i think )?(?:we|i|you) (?:should|need to|have to|could|want to|must) (?:first |quickly |also )?(?:look|check|see|find out|understand|figure|read|compare|have a look|know)\b|^let's (?:first |quickly )?(?:look|check|see|find out|have a look|figure|not get lost)\b|\bi (?:just |only )?want(?:ed)? to (?:see|look|check|know|understand)\b|\b(?:explain|show|tell|give|walk|remind) (?:it |that |this |them )?(?:to )?me\b/i
const inspectionChinese =
  /([看瞅瞧翻查找搜读数算画讲说想猜捋瞄盯比听量问聊])(?:一)?\1|[看瞅瞧翻查找搜读数画讲说捋瞄盯扫比听量问跑试](?:上)?(?:一|几|两)[眼遍回下]|^(?:再|先|顺便|顺手)?(?:打开|翻到|回到|跳到|切到|拉到|展开|放大)|指给我|(?:看|瞅|瞧|查|搜|找|数|画|捋|比|读|翻|讲|说|贴|列|对比|统计|解释|展开)(?:一[下眼遍]|下(?![一个轮期游划载线面午周])|几眼|看)|再来个|附近贴|瞧瞧|查一下|查查|查看|检查一下|解释|说明一下|讲讲|讲一下|讲一遍|捋一遍|说说|说一下|告诉我|列出|列一下|找一下|找找|搜一下|读一下|打开看|贴一下|贴出来|总结一下|概括|介绍一下|梳理一下|分析一下|给我看|给我听|跑一遍|再跑|先看|帮我(?:看|查|找|搜|列|翻|算|grep| grep)|再(?:跑|执行)一|试试|试一下|举个|打印/

/** Words before a verb that make the request a rule: "不准打印", "never print". */
const ruling =
  /不准|不许|不得|不可|不能|不要|不该|不应|别|勿|甭|禁止|严禁|必须|务必|只能|一律|绝不|谁都|永远|每次|凡是|\b(?:never|don't|do not|must not|mustn't|no one|nobody|always|every time)\b/i
const rulingAfter = /^\w+ (?:nothing|no|none|never|only|every|all)\b/i

export function asksToSee(sentence: string): boolean {
  if (inspection.test(sentence)) return !ruling.test(sentence.slice(0, 40)) && !rulingAfter.test(sentence)
  const [clause = ""] = sentence.split(/[，,；。]/, 1)
  const at = clause.search(inspectionChinese)
  return at >= 0 && !ruling.test(clause.slice(0, at))
}

/** The start of a polite request; the rest of the sentence is the request. */
export const politeRequest =
  /^(?:(?:can|could|would|will) you(?: please| kindly| also| just| maybe)*|would you mind|(?:do you think )?you could|(?:能不能|能否|可不可以|可以|是否可以|能)(?:请)?(?:你|帮我|帮忙)?)\s*/i

/** "能不能压在 30 kB 以内？" is a request in the form of a question. */
const politeInside = /(?:能不能|可不可以|能否|可否)(?!看|说|讲|解释|查|告诉|帮|给我)/

export function isPolite(sentence: string): boolean {
  return politeRequest.test(sentence) || politeInside.test(sentence)
}

const tagQuestion =
  /, (?:isn't|aren't|doesn't|don't|wasn't|didn't|right|no|is|does|true) ?(?:it|they|you|that|he|she)?$/i
/** The start of a question without a question mark. */
const questionStart =
  /^(?:(?:so|and|but|hm+|oh),? )?(?:(?:what|why|how|where|who|whose|which)(?:'s|'re)?|is|are|am|does|did|was|were|has|could (?:it|this|that|there)|can (?:it|this|that)|do (?:you|we|they)|have (?:you|we|they)|any (?:idea|chance|thoughts|news)) /i
/** "What's missing is a test" and "which is why we stay" start like questions but are statements. */
const statesAfterAll =
  /^what(?:'s| is|ever)? (?:missing|left|open|needed|important|matters|counts|remains)|^what (?:i|we|they) (?:want|need|would|do|can)\b.* (?:is|are)\b|^which (?:is|means|makes)\b|^how(?:ever|beit)\b/i

const asksChinese =
  /什么|怎么|为啥|为何|啥|咋|干嘛|谁|哪|几[个次行点条天年]|多少|多大|多久|多长|多快|有没有|是不是|会不会|对不对|要不要|真的假的|有这事|如何/
/** "什么都不留", "不管谁改" and "没什么" contain a question word but are not questions. */
const asksNothing =
  /(?:什么|怎么|啥|咋|谁|哪\S?|多少)\S{0,3}[都也]|(?:不管|无论|不论|随便|任|没|管它|管他)\S{0,6}(?:什么|怎么|啥|咋|谁|哪|多少)|哪怕|几乎|(?:怎么|谁|啥|什么|哪\S?).{1,6}(?:就|便|再|怎么|谁|啥|什么|哪)|什么的/
const asksAtEnd = /(?:吗|来着|没|不|^那?[^着在还]*呢)$/
const rulesChinese = /不准|不许|不得|不要|不能|别(?!的)|必须|禁止|一律|都要|都得|只能|不用/

/** The question is in the last clause, and often has no question mark. */
function asksInChinese(sentence: string): boolean {
  const last = sentence.split(/[，,]/).at(-1)!
  if (rulesChinese.test(last)) return false
  return asksAtEnd.test(last) || (asksChinese.test(last) && !asksNothing.test(last))
}

export function isQuestion(sentence: string): boolean {
  if (/[?？]["'”’)]*$/.test(sentence)) return true
  if (tagQuestion.test(sentence)) return true
  if (/\p{Script=Han}/u.test(sentence) && asksInChinese(sentence)) return true
  return (
    questionStart.test(sentence) &&
    sentence.length < 100 &&
    !/[;:]/.test(sentence) &&
    !statesAfterAll.test(sentence)
  )
}
