/**
 * Patterns for the form of a sentence, whatever it is about: most sentences beside the work report a moment, give an
 * opinion or are about the speaker.
 */

/** Reports what happened to somebody once: "it was slow again at lunch", "中午又慢了". */
const episode =
  /\b(?:was|were|wasn't|weren't|had|went|came|got|felt|looked|seemed|reminded|been|happened|kept|said|told|asked|thought|wanted|tried|forgot|spent)\b.*\b(?:today|yesterday|again|ago|last (?:time|week|night|month|year)|this morning|at lunch|earlier|just now|for once|all (?:day|morning|night)|before)\b|\b(?:today|yesterday|last (?:time|week|night|month|year)|this morning|earlier|for once)\b.*\b(?:was|were|had|went|came|got|felt|looked|seemed|been|kept|said|told|asked)\b|(?:今天|昨天|昨晚|前天|刚才|刚刚|上周|上次|上个月|去年|前几[天年]|中午|早上|早晨|晚上|半夜|这两天|最近).*(?:了|过|在|被)|^刚|又[^，]{1,6}了$/i

/** Gives an opinion: "pretty neat", "挺好的". */
const verdict =
  /\b(?:so|pretty|really|quite|kinda|super|such an?|way too|rather(?! than)|what an?|how) (?!that\b|as\b|we\b|far\b|the\b|to\b|it\b|much\b|many\b|i\b|you\b|they\b)[a-z]{3,}$|(?:挺|真|太|蛮|好|够|超|这么|那么|有点|还算)(?!的)[^，\d]{1,4}(?:的|了|啊|呀|呢|吧|嘛|哦|喔)$/i

/** About the speaker, without a wish or a choice. */
const ofSelf =
  /^(?:(?:well|ok|oh|hm+|but|and|so|sorry),? )?(?:i|i'm|i've|i'd|my)\b(?! (?:want|need|decided|chose|pick|prefer|vote|take|insist|promised|owe|expect|require|will|run|ran|use|say|would rather|would like|am going with|don't want|do not want|have to|can't have|won't|get (?:exit|an? error|e[A-Z\d])))|^(?:我|俺|本人)(?!们|要|想要|定|决定|选|更|倾向|跑|用|这边要|不要|不想|希望|需要|答应|还?欠|的意见|拍板|跟\S{1,6}(?:说好|商量|聊|定|谈))/i

/** Repeats what was said, or supposes something: "so the loop runs twice", "如果它是异步的". */
const recap =
  /^(?:if|so|suppose|say|assuming|in other words|meaning|i take it|you mean)\b(?!.*\b(?:must|should|don't|never|need|use|ask|stop|tell|fail|skip|leave|drop|keep|it is)\b)|^(?:所以|就是说|也就是说|换句话说|等于说|意思是|你是说|要是|如果|假如|比如)(?!.*(?:就|则|必须|要|得|别|不能|不准|先|都))/i

/** A plan that people agree on: "we go for pnpm", "let us take it", "模型就它了". */
const plan =
  /\bwe(?:'ll|'re| will| are)?(?: (?:now|then|just|also|only))? (?!were|was|had|have been|did|didn't|could|couldn't|might|may|talked|spoke|met|saw|see|know|knew|get|got|spent|used to|come|came|lost|tried|talking|looking|seeing|getting|having|done|there|here|back|in|on|at|all|both)[a-z]{2,}|^(?:ok,? |so,? )?(?:let us|let's|lets) (?!see|look|check|find|hope|say|wait|talk|think|try|read|not get)[a-z]+|\b(?:i'd|i would) rather\b|就[^，？?]{1,24}(?:了|吧)(?:，|$)|还是[^，？?]{1,20}吧|(?:名字|命名|改名)?叫[做作]?\s?[「“"'A-Z]|咱们?(?!.*[吗呢？?])[^，]{0,6}(?:用|走|上|做|改|换|先|不)/i

/** A sentence that is not finished. */
const breaksOff = /(?:…|\.{3})(?: |$|，|,)|……/

/** How much rank a sentence loses by its form; 0 for a plain sentence. */
export function formLoss(text: string): number {
  return (
    (episode.test(text) ? 8 : 0) +
    (verdict.test(text) ? 8 : 0) +
    (ofSelf.test(text) && !plan.test(text) ? 6 : 0) +
    (recap.test(text) ? 10 : 0) +
    (breaksOff.test(text) ? 14 : 0)
  )
}

/** Contrasts two things, or sets one to a value: "X, not Y", "不用 X，用 Y", "X -> Y", "dates: UTC". */
const contrast =
  /,? (?:not|never) (?:the |a |an |as |in |on |by |with |via )?[\w`'"-]+$|\b\w+,? not \w+|\b(?:rather than|instead of|in favou?r of|as opposed to|no longer|nothing but|and nothing else|from \S+ to \S+|either way)\b|(?:->|→|=>|⇒)|^[\w -]{2,30}: \S|不是?[^，]{1,12}[，,]?(?:而是|是|用|要|改|就)|(?:只|就)[^，]{1,12}[，,]?(?:不|别)|[^，]{1,12}就[^，]{0,8}(?:行|好|够|了|酱)$|(?:从|由)[^，]{1,12}(?:改|换|变|转)|^[^，：:]{1,10}[：:]/i

/** A date or time when something is due or happens. */
const due =
  /\b(?:by|until|till|before|after|on|this|next|from|since) (?:the )?(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\b(?:by|until|till|before|after|end of|next|from) (?:the )?(?:end|release|launch|demo|merge|freeze|audit|review|tomorrow|tonight|noon|eod|eow|month|quarter|sprint|week|year|january|february|march|april|may|june|july|august|september|october|november|december|q[1-4])\b|(?:周|星期|礼拜)[一二三四五六日天末](?:前|之前|以前|上|要|就|再|灰度|发|交|开始)|(?:[一二三四五六七八九十\d]+[月号日点]|月底|年底|月初|下个?月|季度|明[天早]|后天|今晚|上线|发版|封版|发布|演示|合并|评审)(?:之?前|以前|之?后|要|交|开始|再)/i

/** An amount that `amounts` does not match: any number with a unit, or a number in Chinese. */
const amountOf =
  /(?:^|[^\w.])\d[\d.,]*\s?(?:[a-zµ]{1,4}|bucks|dollars|euros?)\b(?!\.)|[$€¥£]\s?\d|[两三四五六七八九十百千万半]+(?:个|条|次|行|秒|分|小时|天|周|月|年|块|元|倍|位|人|台|字|层|级|遍|份|张|千|万|百)/i

export function formGain(text: string): number {
  return (
    (contrast.test(text) ? 5 : 0) +
    (plan.test(text) ? 5 : 0) +
    (due.test(text) ? 5 : 0) +
    (amountOf.test(text) ? 3 : 0)
  )
}
