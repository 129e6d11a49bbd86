import { wordPattern } from "./word-patterns.ts"

const talkWords = new Set(
  "thanks thank thx ty you so much very a lot great nice cool ok okay perfect awesome amazing excellent good well done job work sounds looks look go ahead continue carry on keep going yes yep yeah yup no nope sure please hi hello hey there morning afternoon evening day now that's that is it its this love like fine right alright all correct exactly agreed lgtm cheers wow whoa hmm hm mm ah oh ooh ha haha hahaha lol rofl lmao omg yay oops ouch ugh meh phew sorry typo wait one moment sec second minute brb afk back i'm i am you're here ready proceed next do the your for me my understood got makes sense fair enough point interesting and then let's let us see we can really just again too both to be with up be welcome glad happy bye later tomorrow tonight night weekend coffee lunch break catch worries problem problemo neat sweet brilliant legend genius star fire today hang hold where were".split(
    " ",
  ),
)
const talkChinese =
  /你好|您好|谢谢?|多谢|感谢|辛苦|好的?|不错|可以|继续|行|没问题|没事儿?|对的?|是的?|嗯+|哦+|噢|唔|啊|吧|了|呢|呀|啦|嘛|哈+|嘿+|呵+|收到|明白|了解|知道|很棒|太|棒|赞|漂亮|完美|厉害|牛逼?|绝|强|666+|干得|早上|下午|晚上|稍等|等一?[下会]儿?|我|你|先|去|吃饭|喝|咖啡|回来|请|接着|来|做|那|就|这样|这次|挺|真|很|非常|的|一下|开始|加油|再见|拜拜|晚安|早|原来如此|懂|学到/g

/** Greetings, thanks, go-aheads: sentences that never matter later. */
export function isSmallTalk(sentence: string): boolean {
  if (sentence.length > 80) return false
  const rest = sentence.replace(talkChinese, "")
  const words = rest.toLowerCase().match(/[\p{L}\p{N}'’]+/gu) ?? []
  return words.every((word) => talkWords.has(word.replaceAll("’", "'")))
}

/** Everyday life beside the work. */
const everydayLife = wordPattern({
  english: `
    (?:the|my|our|your) (?:dog|cat|kids?|baby|son|daughter|wife|husband|mum|mom|dad|parents|neighbou?rs?|doctor|dentist|gym|fingers|head|bad|glasses|desk|chair|legs), (?:the|my|this) (?:screen|laptop|keyboard|mouse|wifi|internet|vpn|chair) (?:is|was|froze|died|dies|hates|makes|dropped|keeps),
    dogs?, puppy, kitten, coffee, (?:lunch|dinner|breakfast) (?:was|is|break|time|calls), (?:for|to|getting|grab|have|having|eat|then) (?:lunch|dinner|breakfast), noodles, snacks?, pizza, tea, beer, hungry, thirsty, weather, rain(?:s|ing|y)?,
    snow(?:s|ing)?, sunny, freezing, sick, flu, headache, tired, sleepy, asleep, slept, yawn, dream(?:t|ed|s)?, jet ?lag, doorbell,
    (?:at|answer) the door, (?:battery|laptop|phone) (?:is|died|dies|dying), traffic, commute, airport, on (?:the|a) (?:train|bus|plane|call|phone), (?:i'm|i am|is|are|was|were|be|stuck) in (?:a|the) (?:meeting|cab|call), in a meeting (?:un)?til, (?:a|have a|another) (?:call|meeting) at,
    stand-?up ran, vacation, holidays?, weekend, mondays, vpn (?:dropped|died|is), wi-?fi, brb, afk, gtg, bbl, stretch(?:ing)?,
    says? (?:hi|hello), lucky`,
  chinese: `
    我家, 狗, 猫(?!眼), 娃, 孩子, 老婆, 老公, 我妈, 我爸, 奶茶, 咖啡, 外卖, 吃饭, 午饭, 晚饭, 早饭, 火锅, 食堂, 倒杯, 喝水, 下雨, 下雪, 天气,
    太阳, 冷死, 热死, 冻, 感冒, 发烧, 头疼, 头痛, 肚子, 好困, 困死, 睡, 做梦, 接个电话, 敲门, 快递, 没电, 地铁, 高铁, 堵车, 打车, 开会,
    晨会, 周会, 站会, 拖堂, 休假, 放假, 周末, 健身, 散步, 遛, 活动活动, 楼上, 楼下, 装修, 邻居, 眼镜, 眼花, 厕所, 羡慕, 好烦, 烦死, 真烦, 好累, 累死, 又是周[一二三四五],
    掉线, 断网, 网(?:络)?.{0,3}差, 重连, 打错字, 问好, 着急, 下班`,
})

/** What a person heard, thinks, feels or is busy with: true for the moment only. */
const musing = wordPattern({
  english: `
    i (?:don't|dont|do not|didn't|can't|cannot) (?:get|understand|know|remember|recall|see|follow|find),
    i(?:'m| am)? (?:remember|guess|wonder|wondering|suppose|forgot|mix|getting|going to (?:get|grab)|in a|on (?:a|the|my)|back|off|away|tired|curious|confused|lost|old enough),
    i (?:keep forgetting|had a|saw|heard|read|skimmed|thought|love|like how|like the way|might drop), i(?:'d| would) have (?:bet|guessed|thought|expected),
    let me (?:find|grab|get|think), gonna (?:get|grab|stretch|be), so many, not sure, no (?:idea|clue|hurry|rush|worries), just curious, curious,
    don't quote me, never (?:heard|knew|seen|noticed), can't believe, didn't know, tbh, honestly, to be honest, imho, in my day, once upon,
    weird, strange, odd, funny, interesting, coincidence, annoying, terrible, hilarious, good (?:stuff|read|catch|point), (?:funny|nice) read, whoa, wow, ugh, lol, haha, omg,
    makes? sense, (?:looks?|feels?|seems?) (?:good|fine|ok|odd|funny|slow|weird|strange|like), sounds? (?:like|good|fun), years ago, (?:read|saw|watched|heard) .{1,40} last (?:year|week|month|night), last night in bed, yesterday apparently,
    apparently, supposedly, rumou?r, reddit, twitter, hacker ?news, (?:someone|somebody|people|they) (?:says?|claims?|on|online|online says?), i've never seen,
    (?:scrolling|skimming|looking|reading|going|clicking) through, turned out (?:nice|well|great), that took, so you're saying, basically`,
  chinese: `
    奇怪, 怪怪的, 不理解, 没(?:太)?(?:明白|懂|看懂), 搞混, 不好意思, 头大, 有意思, 巧合, 没见过, 服了, 无语, 绝了, 好家伙, 几年前, 那年代, 当年, 上学,
    看着没, 好奇, 想不通, (?<!别|不要)忘了, 老忘, 绕晕, 晕了, 听说, 据说, 网上, 知乎, 论坛, 群里, 有人说, 都说, 好像, 似乎, 说实话, 老实说, 不太确定, 不知道, 说不定, 我记得,
    (?:我)?还以为, 我猜, 我赌, 第一次(?:听|见|知道), 头一回, 居然, 竟然, 难怪, 怪不得, 学到了, 长见识, 涨知识, 还能这么, 这都能, 眼真?尖, 哈哈, 嘿嘿, 哇, 天哪, 我去, 救命, 笑死,
    挺逗, 真逗, 写得(?:不错|真|挺|好), 挺好看, 真好看, 肯定喜欢, 扫了一眼, 正在翻, 翻着, 我也看了, 昨晚看了, 刚看完, 真烂, 真香, 坑挺多, 我找下, 刚说到哪, 回来了, 等了好久, 拿手, 今天状态`,
})
/** About this conversation: what was or was not answered, in which form, and instructions for one moment. */
const aboutTheTalk = wordPattern({
  english: `
    you(?:'re|'ve)? (?:never (?:answered|said|told)|must have|said|forgot|missed|mean|were saying|keep saying|lost me|skipped), (?:my|the) question, what (?:you|i) said,
    (?:it|that|this) (?:must|has to|have to|can't|might|could|may|would|should) be (?:something|some|a|the|simple|related|because), in plain words, in other words, (?:as|instead of) (?:a|the) (?:table|list),
    two sentences, the whole thing, the last (?:ten|few|\\d+) lines, skip the (?:intro\\w*|details|theory), (?:it|that) once and, take it out again, and (?:undo|revert) it, scroll (?:up|down|back),
    not that (?:file|one|line), the other one$, don't guess, measure it, back to the (?:first|error|topic), from the other side, similar (?:problem|thing|issue|bug) (?:in|on|with|at|once), took us (?:a|two|days|weeks),
    where were we, what were we, (?:isn't|wasn't|aren't) (?:it|that|they)$, same story`,
  chinese: `
    你(?:一直|刚才|刚刚|还|都)?没?(?:回答|说清|讲清), 回答我, 那个问题你, 刚才说, 说人话, 两句话, 一句话, 不要表格, 用表格, 列出来, 最后[几一二三四五十\\d]+行, 开场白, 直接上代码, 不要全部, 往上翻, 往下翻, 跑偏, 扯远, 回到第, 回到刚才, 不要猜, 别猜, 量一下,
    不是这个文件, 是另外那个, 漏了什么, 不止这些, 换个角度, 看完就, 跑一次, 老是这样, 出过类似, 类似的问题, 一定是个, 查了一个?(?:礼拜|星期|月|下午|晚上), 最后发现, 打错, 你弄吧, 你看着办, 搞清楚, 先别重启, 找不到了, 卡了, 分钟回来, 等等$`,
})

/** Memories, likes and dislikes, jokes, and questions whether a person is still there. */
const besideTheWork = wordPattern({
  english: `
    back (?:when|then|in the day), in my (?:last|old|first|previous) (?:job|team|company), good old, nostalgia, time flies, i remember when, used to sit, i(?: really)? (?:hate|love|dislike|can't stand), drives? me (?:crazy|mad|nuts), made my day, the worst$,
    old joke, wrong window, pasted the wrong, meant for, my bad, autocorrect, excuse the, ignore typos, bear with me, back (?:now|at|in), still there, you still with me, anybody (?:home|there),
    wanted to know, asked me (?:what|why|how|if|whether), had a question, told me something else, i meant, i haven't eaten, went home, need(?: some)? sleep, i need to find, find my, long day, for a \\w+day, no stress, don't worry, take your time, in the meantime, (?:i'm|i am) reading, can't argue, i hadn't, much appreciated, help me out,
    half a day to, (?:cost|took) (?:me|him|her|us|\\w+) (?:\\d+|half|a whole|an?) \\w+, not my finest, no offence, ranting, had to say it, happy \\w+day, finally \\w+day, quiet here, busy here, the (?:sun|heating|lift|printer|coffee machine), calling me, is calling, on holiday, in a meeting, dumb question, silly question, stupid question, no expert, new to me, breathe again, (?:gimme|give me) a minute`,
  chinese: `
    想当年, 上家公司, 之前的组, 第一份工作, 前公司, 怀念, 岁月, 一晃, 老梗, 冷笑话, 逼疯, 折寿, 受不了, 最怕, 最烦, 烦人, 没效率, 吐槽, 别介意, 离谱, 丢人, 心酸, 发错, 贴错, 窗口, 输入法, 我的锅, 多担待, 问个傻, 蠢问题, 多嘴, 随口一问, 随便问, 随便想, 脑洞, 就问问, 瞎猜, 自言自语,
    没动静, 一片空白, 没反应了?$, 压根没想到, 没想到, 肯定找不到, 我不熟, 救救我, 看会儿, 给我一分钟, 都走了, 没人了, 饭还没吃, 有时无, 挺顺, 看着费劲, 味道不太对, 翻了翻, 先翻翻, 顺手看了, 来电话, 问我, 很讨厌, 花了(?:我|他|她|[\\u4e00-\\u9fff]{2})?.{1,8}(?:分钟|半天|一整), 没看错吧, 没理解错, 别在意, 人都走, 大会, 排期会, 复盘会, 躺床上, 还在吗, 人呢, 稍等, 忍一下, 松口气, 吓我, 别慌, 慢慢来, 不急$, 没事$, 病了, 蛋糕, 难吃, 好吃, 吃撑, 空调, 暴雨, 电钻, 椅子, 电梯, 打印机, 充电器, 终于周, 又周, 快乐, 没心思, 挺安静, 好忙, 乱糟糟, 喜欢$, 这点好, 思路不错, 看晕, 掉队, 正中要害, 整笑, 好问题, 长话短说`,
})

/** Considers, guesses or imagines something, and decides nothing. */
const guessing = wordPattern({
  english: `
    maybe, perhaps, probably, possibly, suppose, imagine, picture (?:a|this), what if, theoretically, in theory, hypothetically, thinking (?:aloud|out loud), thought experiment, smells? like, one could, on the one hand, on one side, on the other, back and forth, some people, hard to (?:tell|say), can't tell, i can't prove, only a feeling,
    i was (?:about to|thinking|afraid), almost wanted, lost the thread, never mind, sort of, kind of, you know$, or something, no opinion, don't have an opinion, only used it once, never tried`,
  chinese: `
    可能, 大概, 也许, 估计, 没准, 假如, 比方说, 假设, 想象, 理论上, 按说, 其实也, 感觉, 闻着, 看着像, 有点像, 像是, 不好说, 说不准, 说不清, 不好形容, 纠结, 一方面, 一来, 来回想, 没想明白, 没啥看法, 就用过一次, 没碰过, 不太熟, 刚接触, 怎么说呢, 我的意思是, 你懂的, 别当真, 没证据, 等我捋, 算了$, ……`,
})

/** Sighs and similar words before or after a few words: "argh, not again", "the usual meeting, sigh". */
const sighs =
  /^(?:hm+|mh+|ha(?:ha)*|heh|phew|argh+|ugh|meh|nah|oh (?:no|well|man|dear|my)|seriously|touché|fair(?: enough)?|lovely|brilliant|awesome|neat|aha|ah|i see|whoa|wow|one (?:sec|moment)|moment|hang on|brb|weird|strange|funny|right)[,!. ]+(?!we|use|no|don't|the \w+ (?:must|should|has))|[,.] (?:anyway|anyhow|whatever|oh well|sigh|sad|ridiculous|hm+|slowly|as usual|sorry|lol|haha|difficult|sad but true|well|just asking|honestly|i guess|i suppose|you know)$|^(?:唉|哎呀?|诶|呼|噗|嚯|邪门|怪了?|不是吧|啊{2,}|哇|也是|原来|我去)[，,]|[，,](?:唉|惨|哎|呗|难啊|真是|醉了|没忍住|抱歉|随便吧|老样子)$/i

/** Whether a sentence is beside the work, or about feelings. */
export function isChat(sentence: string): boolean {
  return [musing, everydayLife, aboutTheTalk, besideTheWork, sighs].some((each) => each.test(sentence))
}

export function isGuess(sentence: string): boolean {
  return guessing.test(sentence)
}
