import { wordPattern } from "./word-patterns.ts"

/**
 * Word patterns for what a sentence is about. No pattern decides alone: a sentence that matches none of them is still
 * kept if there is room, and the patterns only decide which sentences go first.
 */

/** Forbids, demands or limits something. */
export const limits = wordPattern({
  english: `
    never, don't (?!worry|know|get|see|think|understand|have an)\\w+, dont (?!worry|know|get|see|think)\\w+, do not, can't (?:take|need|use|have|be|exceed|go|change|touch|rely), cannot, won't, shouldn't, mustn't, must(?! be| have), should, shall, ought, has to(?! be (?:a|some)), have to, need(?:s|ed)? to, required?, requires, allowed, forbidden, prohibited, off[- ]limits, banned?, avoid, except, unless,
    no (?:new|more|less|fewer|other|default|hard|stack|direct|raw|inline|global|external|third|commits?|changes?|one may|\\w+s (?:in|on|for|without)), nothing (?:may|that|in|to|on|server|goes|but|leaves), without (?:asking|touching|breaking|changing|my|a|any), only (?:ever|use|via|through|with|in|on|the|one|for|talk), at (?:most|least), max(?:imum)?, min(?:imum)?, limit(?:ed)?, (?:stays?|kept?|keep|leave|remains?) (?!forgetting|wondering|going|saying)\\w+, untouched, freeze, frozen, hands off, always(?! the same| mix| like| confus), every, each, whatever, whenever,
    as long as, before (?:every|each|any|you|we|merging|pushing|running), until, under \\d+, below, within, exactly, nobody, no one, mandatory, compulsory, strictly, whoever, anything`,
  chinese: `
    不要(?!猜|表格|全部|急), 不能, 不得, 不准, 不许, 不可(?!能), 不用(?!好看|太|很), 不必, 别(?!的|人|处|跑偏|慌|介意|当真|在意|怪|急|扯|猜), 勿, 甭, 禁止, 严禁, 避免, 必须, 务必, 一定要, 得能, 只能, 只准, 只用, 只读, 只收, 只给, 只许, 仅限, 一律, 统一, 始终, 永远, 总是, 都要, 都得, 都走, 都不(?!是|知|懂), 每次, 每个?, 所有, 任何, 除了, 除非, 至少, 最多, 不超过, 以内, 以下, 以上, 上限, 下限, 保持, 保留, 应该(?!是|没), 应当, 要求, 先.{1,20}再, 凡是, 无须, 无需, 不允许, 不让, 不接受, 不支持, 不含, 不另外, 不落, 不留, 不进, 不出, 不走, 不带, 不放, 不存`,
})

/** Words of limits that people also use in passing. */
export const weakLimits =
  /\b(?:not|no|none|nothing|without|doesn't|isn't|aren't|only|any|all|before|after|under|above|just)\b|不|没|之前|之后|需要|只/i

/** Chooses one thing over another. */
export const choices =
  /\b(?:let's|lets|we'll|we will|i'll|going with|go with|went with|settled?|decid\w+|decision|chose|chosen|choose|pick(?:ed)?|opt(?:ed)?|prefer\w*|rather|instead|over|favou?r|stick(?:ing)?|switch(?:ed|ing)?|replace[ds]?|drop(?:ped|ping)?|ditch(?:ed)?|adopt(?:ed)?|agreed|approved|final|it is|wins?|works for (?:me|us)|use|using|uses|be the|will be|becomes?|moving to|move to|based on|default)\b|就用|用|采用|选|决定|定了|定下|敲定|拍板|改成|改为|换成|换|改用|沿用|走|以.*为准|还是|而不是|宁可|宁愿|倾向|偏好|更喜欢|比较好|优先|放弃|不再|就这么|就按|按照|照着|方案|结论|约定|统一成/i

/** Work that is not done. */
export const openWork =
  /\b(?:to-?do|still|left|remain(?:s|ing)?|pending|outstanding|unfinished|not (?:yet|done)|yet to|haven't|hasn't|isn't (?:done|there|wired|finished)|later|next|follow[- ]?up|afterwards|tomorrow|eventually|backlog|need(?:s)?|missing|must still|should still|don't forget|remember to|waiting|blocked|half[- ]done|in progress|wip|revisit|come back|pick up|then|jot|note (?:this|that|to self)|(?:write|put) (?:this|that|it) down|another (?:day|time|round)|some ?day|one day|once .{1,40} (?:is|are) (?:over|done|through|in|out|live)|next (?:round|time|session|week|sprint|release|version)|park(?:ed)?|on hold|promised|owe[sd]?|runs? out|expires?|renew|has no|have no|no (?:tests?|docs?|owner)|some(?:one|body) (?:has|needs|should|must|ought))\b|还没|还要|还得|还差|还有|尚未|未完成|没做|没写|没有做|待|剩下|剩|回头|以后|之后|稍后|晚点|接下来|下一步|下次|明天|别忘|记得|遗留|后续|补上|补|欠|记着|记一下|记上|记一笔|记下|记个|迟早|早晚|改天|哪天|搁|放一放|放到|下一?[轮回期版个]|下周|这期|顶着|到期|等着|收拾|清一清|理一理|得有人|答应|承诺|都没有|没人|完再|完了|等.*再/i

/** How something ended. */
export const outcomes =
  /\b(?:pass(?:es|ed|ing)?|fail(?:s|ed|ing|ure|ures)?|errors?|exit(?:s|ed)?|green|red|broke|broken|crash\w*|time[ds]?[- ]?out|warnings?|succe\w+|clean(?:ly)?|took|finish\w*|complet\w*|hangs?|hung|killed|refused|denied|missing|not found|segfault\w*|panic\w*|aborted|stuck|flaky|ok|okay|fine|nothing|no output|returned|printed|gave|output|reported|complain\w*|blew up|threw|works|worked|built|compiled|installed|deployed|applied|merged|out of|conflict\w*)\b|通过|失败|报错|成功|退出|超时|错误|警告|完成|卡住|卡死|崩溃|挂了|绿|红|跑完|没过|过了|返回|输出|报|异常|正常|中断|拒绝|找不到|装好|编译|部署|冲突/i

/** An amount that somebody set. */
export const amounts =
  /\b\d[\d.,]*\s?(?:%|ms|s|sec(?:ond)?s?|min(?:ute)?s?|h(?:ours?)?|days?|weeks?|months?|[kmgt]i?b|bytes?|px|lines?|columns?|chars?|characters?|tokens?|requests?|retries|times|attempts?|users?|rows?|items?|files?|connections?|threads?|workers?|cores?|fps|rpm|qps|rps|x)\b|\d\s?[个条次行秒分小天周月年块元兆倍位人台字]/i

/** A statement that holds beyond this moment. */
export const standing =
  /\b(?:from (?:now|here) on|going forward|in general|by default|as a rule|policy|convention|rule|standard|for (?:this|the) (?:project|repo|codebase|session)|everywhere|throughout|we (?:are|run|use|have|target|ship|support|deploy|host|log|store|keep|only|never|always|don't)|our|the team|house|company|legal|compliance|client|customers?|production|prod|staging|target(?:s|ing)?|support(?:s|ed)?)\b|以后|今后|从现在起|默认|规范|约定|规定|原则|标准|我们|团队|公司|客户|线上|生产|全部|项目里|代码里|一直/i

/** Decides something in everyday words: what is kept, removed, moved or comes first. */
export const settles = wordPattern({
  english: `
    sold, deal, done deal, (?:is|are) (?:out|in|dead|history), roll our own, (?:goes?|comes?|moves?|lives?|sits?|stays?|belongs?) (?:in|into|on|to|under|out|first|last|away|with|without|through),
    loses? (?:its|the), gets? (?:a|an|its|rid|rejected), kill (?:the|it|off), cut, axe, bin, bury, scrap, skip, nix, i'm taking, we're taking, take the,
    first, thrice, twice, once per, per (?:tenant|user|request|process|page|environment), (?:says?|reads?) [A-Z"'], convinced me, you (?:win|convinced me), as (?:is|before),
    owns?, carved in stone, set in stone, matters?, counts?, hurts?, mind the, tops out, wants? every, exists?, see everything, chokes? on, breaks? on`,
  chinese: `
    [砍去拿删扔换撤废干下停]掉, 拜拜, 自己(?:撸|写|画|做|搞|弄|来|造), 推倒, 重来, 照旧, 照老样子, 不变, 不碰, 不动, 不做, 不搞, 不上, 凑合, 够用, 先[做上用凑不把按放], 盖一层, 覆盖, 叠, 垫,
    [挪搬移放存写塞并归拆合切][进到成在入给去回], 归.{1,8}管, 说服, 听.{1,4}的, 成[，,], 上流式, 就[它他她这那]了, 说好了, 讲好了, 谈妥, 点头, 批了, 同意, 一个.{1,6}一[个张份条台], 算了, 打回, 拒掉,
    钉死, 写死, 定死, 锁死, 底线, 红线, 禁区, 没得商量, 动不得, [改碰删用拖]不得, 跑得动, 扛得住, 看得懂, 看得到, 要求, 得[跑留能有给先把让走过带按上照]`,
})
