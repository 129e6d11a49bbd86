import { type Phrasings, user } from "./phrasing.ts"

/** What the user wants respected from then on. */
export const heldOutConstraint: Phrasings = {
  en: [
    user("{dir} is off limits, auditors look at every diff in there", ["{dir}", "off limits"]),
    user("hands off {path} please", ["hands off {path}"]),
    user("anything newer than {lib} {version} won't build on our machines, so stick to that", [
      "{lib} {version}",
      "stick to",
    ]),
    user("we can't pull in more packages, security reviews take weeks", ["can't pull in more packages"]),
    user("avoid {lib} like the plague", ["avoid {lib}"]),
    user("I need this to run with python 3.{n} too", ["run with python 3.{n}"]),
    user("{fn} is called by partners so its parameters are frozen", ["{fn}", "frozen"]),
    user("Work on {branch} only.", ["{branch} only"]),
    user("p99 of {service} has to stay below {ms}ms or we pay penalties", ["{service}", "below {ms}ms"]),
    user("just so you know the pods only have {n} MB, going above gets them killed", ["pods", "{n} MB"]),
    user("You may read from {host} but never write to it", ["{host}", "never write"]),
    user("could you write the commit messages in German? the client reads them", [
      "commit messages in German",
    ]),
    user("unit tests mustn't sleep, use fake timers", ["mustn't sleep"]),
    user("each pr needs a run of `{command}` first, otherwise the reviewers send it back", [
      "{command}",
      "each pr",
    ]),
    user("the {table} table is append only", ["{table}", "append only"]),
    user("One more thing, I hate big diffs: max {n} lines per change.", ["max {n} lines per change"]),
    user("until {name} is back nobody may alter the {column} column", ["nobody may alter", "{column}"]),
    user("use tabs here, I know, I know", ["use tabs"]),
    user("{env} has real customer data so look but don't touch", ["{env}", "don't touch"]),
    user("first one, but it mustn't log the payload", ["first one", "mustn't log the payload"], {
      asked:
        "Two ideas: 1. a middleware that records every call, 2. a decorator on each handler. Which one should I take?",
    }),
    user("nope, always via {fn}", ["always via {fn}", "database"], {
      asked: "May I query the database directly in the job, or do you want it wrapped?",
    }),
    user("set the rate limit to {n} per minute", ["rate limit", "{n2} per minute"], {
      later: "scratch that, I looked it up, the rate limit has to be {n2} per minute",
    }),
    user("screen readers need to be able to use every page, we get sued otherwise", [
      "screen readers",
      "every page",
    ]),
    user("we're not allowed to store ip addresses, gdpr", ["not allowed to store ip addresses"]),
    user("do what you want inside {dir} but don't let anything else import from it", [
      "{dir}",
      "don't let anything else import",
    ]),
    user("nothing goes out before {day}, {name} wants to see it first", ["nothing goes out before {day}"]),
    user("whenever you add an endpoint it needs an entry in {path} as well", ["endpoint", "{path}"]),
    user("Would it still start in under {n} seconds? It has to, the health check kills it otherwise.", [
      "start in under {n} seconds",
    ]),
  ],
  zh: [
    user("{dir} 是禁区，审计会逐行看", ["{dir}", "禁区"]),
    user("{path} 麻烦别碰", ["{path}", "别碰"]),
    user("{lib} 比 {version} 新的在我们机器上编不过，就锁这个版本", ["{lib}", "{version}", "锁"]),
    user("不能再引第三方包了，安全评审要排好几周", ["不能再引第三方包"]),
    user("{lib} 能避就避，坑太多", ["{lib}", "能避就避"]),
    user("python 3.{n} 也得支持", ["python 3.{n}", "得支持"]),
    user("{fn} 合作方在用，参数冻结了", ["{fn}", "冻结"]),
    user("你只在 {branch} 上干活", ["只在 {branch}"]),
    user("{service} 的 p99 要压在 {ms}ms 以下，超了要赔钱", ["{service}", "{ms}ms 以下"]),
    user("跟你说一声，pod 只有 {n} MB 内存，超了就被杀", ["pod", "{n} MB"]),
    user("{host} 可以读，绝对不能写", ["{host}", "绝对不能写"]),
    user("提交信息能用英文写吗？甲方要看的", ["提交信息", "英文"]),
    user("单测里禁止 sleep，用假时钟", ["禁止 sleep"]),
    user("提 pr 前必须过一遍 `{command}`，要不然评审直接退", ["{command}", "提 pr 前"]),
    user("{table} 这张表只追加不修改", ["{table}", "只追加不修改"]),
    user("再补一句，我最烦大 diff，一次最多 {n} 行", ["一次最多 {n} 行"]),
    user("{name}回来之前谁也不许改 {column} 字段", ["不许改 {column}"]),
    user("这里缩进用 tab，别问为什么", ["用 tab"]),
    user("{env} 里是真实客户数据，只能看", ["{env}", "只能看"]),
    user("前一种，不过日志里别带请求体", ["前一种", "别带请求体"], {
      asked: "两个思路：一是加个中间件统一记录，二是每个 handler 上挂装饰器。用哪种？",
    }),
    user("不可以，一律走 {fn}", ["一律走 {fn}", "数据库"], {
      asked: "任务里我能直接查数据库吗，还是要包一层？",
    }),
    user("限流先设每分钟 {n} 次", ["限流", "每分钟 {n2} 次"], {
      later: "刚才说错了，我查了下，限流要每分钟 {n2} 次",
    }),
    user("每个页面都要能用读屏软件操作，不然会被投诉", ["每个页面", "读屏"]),
    user("合规要求，ip 地址不可以落库", ["ip 地址不可以落库"]),
    user("{dir} 里面你随意，外面谁也不能 import 它", ["{dir}", "不能 import"]),
    user("{day}前什么都别发，{name}要先过目", ["{day}前什么都别发"]),
    user("以后凡是加接口，{path} 里也要登记一条", ["加接口", "{path}"]),
    user("启动能保证在 {n} 秒内吗？必须的，不然健康检查会重启它", ["{n} 秒内"]),
  ],
}
