import { quotedToken } from "./quotes.ts"
import type { WishKind } from "./wish.ts"

/** A pattern for clauses. The first rule that matches, and for which calls can be made, applies. */
export type Rule = readonly [kind: WishKind, pattern: RegExp]

function rule(kind: WishKind, pattern: string): Rule {
  return [kind, new RegExp(`^${pattern}$`, "isu")]
}

const token = `(?:${quotedToken}|[^\\s,;:，。；：、]+)`
const path = `(?<path>${token})`
const file = `(?:the |my |this |a |an )?(?:new )?(?:files? )?(?:called |named )?${path}(?: file)?`
const todo = "(?:todos?|to-dos?)(?: list| items?)?"
const within = `(?: (?:in|under|inside|within) (?:the |all |my )?${path}(?: files?| folder| directory)?)`

export const english: readonly Rule[] = [
  rule(
    "task",
    "(?:ask|tell|let|have|use|start|spawn) (?:a |an |the |another )?(?:(?<agent>[\\w-]+) )?(?:sub-?agent|agent)(?: to| for| about|:)? (?<text>.+)",
  ),
  rule("task", "delegate:? (?<text>.+)"),
  rule("task", "@(?<agent>[\\w-]+) (?<text>.+)"),
  rule("todo-show", `(?:show|list|read|what(?:'s| is| are)?)(?: me)?(?: on| in)?(?: my| the| all)* ${todo}`),
  rule(
    "todo-done",
    `(?:mark|tick|check|finish|complete)(?: off)? (?:the )?${todo} #?(?<text>.+?)(?: as)?(?: done| completed| off)?`,
  ),
  rule("todo-add", `add (?:a |an |some |the )?${todo}:? (?<text>.+)`),
  rule("todo-add", `add (?<text>.+?) to (?:my |the |a )?${todo}`),
  rule(
    "todo-new",
    `(?:(?:make|create|write|start|set|plan)(?: me)?(?: a| an| the| my| some)?(?: new)? )?${todo}(?: of| with| for| to)?:? (?<text>.+)`,
  ),
  rule(
    "fetch",
    "(?:(?:fetch|get|open|download|visit|read|show|load|browse|look at)(?: me)?(?: the)?(?: page| url| site| website)?(?: at)? )?(?<url>https?://\\S+)",
  ),
  rule("skill", `(?:use|load|run) (?:the )?skill (?<text>${token})`),
  rule("skill", `(?:use|load|run) the (?<text>${token}) skill`),
  rule(
    "edit",
    `(?:in|edit|change) ${file},?:? (?:and )?(?:replace|change) (?<all>all |every |each )?(?<old>.+?) (?:with|by|to|into) (?<new>.+)`,
  ),
  rule(
    "edit",
    `(?:replace|change) (?<all>all |every |each )?(?<old>.+?) (?:with|by|to|into) (?<new>.+?) in ${file}`,
  ),
  rule("write", `(?:write|put|save|store) (?:the (?:text|words?) )?(?<text>.+?) (?:to|into|in|as) ${file}`),
  rule(
    "write",
    `(?:create|make|write|save) ${file}(?: with| containing| saying| that says|:)(?: the)?(?: text| contents?| words?)?:?\\s+(?<text>.+)`,
  ),
  rule("write", `(?:create|make|touch) (?:a |an |the )?(?:new |empty )*(?:file )?(?:called |named )?${path}`),
  rule("run", "(?:run|execute|exec|bash)(?: the)?(?: shell)?(?: command)?:? (?<text>.+)"),
  rule("run", "[$!] ?(?<text>.+)"),
  rule(
    "grep",
    `(?:search|grep|scan|look)(?: the)?(?: code| files?| project| text)? for (?<text>.+?)${within}`,
  ),
  rule("grep", "(?:search|grep|scan|look)(?: the)?(?: code| files?| project| text)? for (?<text>.+)"),
  rule("grep", `(?:search|grep) (?<text>\\S+)${within}?`),
  rule(
    "grep",
    `find (?:all |every )?(?:the )?(?:text|words?|string|lines? with|uses? of|mentions? of) (?<text>.+?)${within}?`,
  ),
  rule("grep", "where (?:is|are) (?<text>.+?)(?: used| defined| mentioned| written)?"),
  rule(
    "glob",
    `(?:find|glob|locate)(?: me)?(?: all| every| any)?(?: the| my)?(?: files?)?(?: named| called| matching| like| ending (?:in|with))? (?<text>\\S+)(?<files> files?)?${within}?`,
  ),
  rule("grep", `find (?<text>.+?)${within}?`),
  rule(
    "read",
    "(?<verb>read|open|cat|view|display|print|show|look at)(?: me)?(?: the)?(?: lines? (?<from>\\d+)(?: ?(?:-|to) ?(?<to>\\d+))?(?: of| from| in))?(?: first (?<count>\\d+) lines(?: of| from| in))?(?: the)?(?: files?)? (?<text>.+?)(?: file)?",
  ),
  rule(
    "list",
    `(?:list|ls|dir)(?: me)?(?: all)?(?: the| this| my)?(?: files?| folders?| directory| contents?| everything)*(?:(?: in| of| under| inside)?(?: the| this)? ${path})?(?: folder| directory)?`,
  ),
  rule(
    "list",
    `show(?: me)?(?: all)?(?: the| my)? (?:files?|folders?|directory)(?: (?:in|of|under) (?:the |this )?${path})?`,
  ),
  rule(
    "list",
    `what(?:'s| is| are)?(?: the)?(?: files?)?(?: is| are)? (?:there|here|in (?:the |this |my )?${path})(?: folder| directory)?`,
  ),
]

const chineseToken = `(?:${quotedToken}|[\\w./*?{}@+~-]+|[\\p{Script=Han}\\w-]+\\.\\w{1,8})`
const chinesePath = `(?<path>${chineseToken})`
const chineseFile = `(?:文件)?\\s*${chinesePath}\\s*(?:这个)?(?:文件)?`
const inside = "(?:里面|里边|里|中|下面|下)?"
const chineseTodo = "(?:待办|todo)(?:事项|列表|清单)*"
const some = "(?:一个|一份|一条|个|份|条)?"

export const chinese: readonly Rule[] = [
  rule(
    "task",
    `(?:让|叫|派|用|使用|问|启动|交给)${some}\\s*(?<agent>[a-z][\\w-]*)?\\s*(?:子代理|子智能体|子任务|子\\s?agent|subagent|代理)(?:来|去|帮我|帮忙)*[:：，,]?\\s*(?<text>.+)`,
  ),
  rule("task", "@(?<agent>[\\w-]+)\\s+(?<text>.+)"),
  rule("todo-show", `(?:看看|看|显示|查看|列出|读)(?:一下)?(?:我的|当前)?${chineseTodo}`),
  rule(
    "todo-done",
    `(?:完成|勾掉|划掉|标记)(?:了)?(?:第)?\\s*${chineseTodo}\\s*(?<text>.+?)(?:为?(?:已)?完成)?`,
  ),
  rule("todo-add", `(?:添加|增加|新增|加上|加)${some}${chineseTodo}[:：]?\\s*(?<text>.+)`),
  rule(
    "todo-add",
    `(?:把|将)\\s*(?<text>.+?)\\s*(?:加到|加入|放到|添加到|放进)(?:我的)?${chineseTodo}${inside}`,
  ),
  rule("todo-new", `(?:列出|列|做|写|新建|创建|建|制定|来)?${some}${chineseTodo}[:：]\\s*(?<text>.+)`),
  rule(
    "fetch",
    "(?:抓取|打开|获取|访问|下载|读取|读|看看|看)?(?:一下)?(?:网页|网址|页面)?\\s*(?<url>https?://[^\\s，。；、]+)\\s*(?:这个网页)?(?:的内容)?",
  ),
  rule("skill", `(?:使用|用|加载)(?:技能|\\s*skill)\\s*(?<text>${chineseToken})`),
  rule(
    "edit",
    `(?:把|将|在)\\s*${chineseFile}${inside}(?:的|把)?\\s*(?<all>所有的?|全部的?)?\\s*(?<old>.+?)\\s*(?:都|全部|全)?(?:改成|改为|替换成|替换为|换成|换为)\\s*(?<new>.+)`,
  ),
  rule("write", `(?:把|将)\\s*(?<text>.+?)\\s*(?:写|存|保存)(?:入|到|进|在)\\s*${chineseFile}${inside}`),
  rule("write", `(?:在|往|向)\\s*${chineseFile}${inside}\\s*(?:写入|写上|写下|写)\\s*(?<text>.+)`),
  rule("write", `(?:写入|写|保存)\\s*(?<text>.+?)\\s*(?:到|进|入)\\s*${chineseFile}${inside}`),
  rule(
    "write",
    `(?:新建|创建|建立|建|写)${some}\\s*${chineseFile}[,，:：]?\\s*(?:内容(?:是|为)?|写上|写入|写)[:：]?\\s*(?<text>.+)`,
  ),
  rule("write", `(?:新建|创建|建立)${some}(?:空)?\\s*${chineseFile}`),
  rule("run", "(?:运行|执行|跑)(?:一下)?(?:命令)?[:：]?\\s*(?<text>.+)"),
  rule(
    "grep",
    `在\\s*${chinesePath}\\s*(?:文件夹|目录|文件)?${inside}\\s*(?:搜索|搜|查找|找)(?:一下)?\\s*(?<text>.+)`,
  ),
  rule(
    "grep",
    "(?:搜索|搜|检索|查找文字|查找文本)(?:一下)?(?:文字|文本|包含)?\\s*(?<text>.+?)(?:的(?:文件|地方|代码))?",
  ),
  rule("grep", "(?<text>.+?)\\s*(?:在哪里|在哪儿|在哪)(?:使用|定义|用到|出现)?(?:的|了)?"),
  rule(
    "glob",
    `(?:找出|找到|查找|寻找|找)(?:一下)?(?:所有的?|全部的?)?(?:名为|叫做|叫)?\\s*(?<text>${chineseToken}|\\S+?)\\s*(?:的)?(?<files>文件)?`,
  ),
  rule(
    "read",
    "(?<verb>读取|读|看看|看|打开|显示|查看)(?:一下)?(?:文件)?\\s*(?<text>.+?)\\s*(?:文件|这个文件)?(?:的(?:全部)?内容)?",
  ),
  rule(
    "list",
    `(?:列出|列|显示|看看|看|查看)(?:一下)?(?:当前|所有|全部|这个)*\\s*${chinesePath}?\\s*(?:目录|文件夹)?${inside}(?:的)?(?:所有|全部)?(?:文件|内容|目录|东西)`,
  ),
  rule("list", `(?:列出|列)(?:一下)?\\s*${chinesePath}`),
  rule(
    "list",
    `(?:这里|当前目录|项目|目录|${chinesePath}\\s*(?:目录|文件夹)?)?\\s*${inside}(?:都)?有(?:些)?(?:哪些|什么)(?:文件|东西|内容)?`,
  ),
]
