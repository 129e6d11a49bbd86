import { type Phrasings, user } from "./phrasing.ts"

/** What the user chose, and what is built on it afterwards. */
export const openDecision: Phrasings = {
  en: [
    user("Let's go with {lib} for the queue.", ["go with {lib}", "queue"]),
    user("ok we'll use {lib} instead of {lib2}", ["{lib} instead of {lib2}"]),
    user("{table} gets a {column} column, not a separate table. Settled.", [
      "{table}",
      "{column}",
      "not a separate table",
    ]),
    user("I talked to {name}, we're doing the rollout on {day}", ["rollout", "{day}"]),
    user("the endpoint will be called /{service}/v2, fine with everybody", ["/{service}/v2"]),
    user("port {port} then", ["port {port}"], { asked: "Which port should the dev proxy listen on?" }),
    user("B. And name the flag {flag}.", ["{flag}", "feature flag"], {
      asked: "Two options: A) ship it to everybody at once, or B) hide it behind a feature flag. Which one?",
    }),
    user("Yes, do the {service} service first", ["{service}", "first"], {
      asked: "Shall I begin with the {service} service or with the shared library?",
    }),
    user("We settled on cursor pagination, {n} per page, in the meeting", [
      "cursor pagination",
      "{n} per page",
    ]),
    user("I prefer the version with {fn}, it reads better. Keep that one.", ["version with {fn}"]),
    user("hmm ok. {lib} it is", ["{lib} it is"]),
    user("sessions expire after {n} minutes", ["sessions", "{n2} minutes"], {
      later: "sorry, product wants sessions to last {n2} minutes, go with that",
    }),
    user("scrap the {service} idea, we do it inside {service2}", ["scrap the {service} idea", "{service2}"]),
    user("money is stored as integer cents everywhere, that's how the old system does it too", [
      "integer cents",
    ]),
    user("After sleeping on it: monorepo. Packages go under {dir}.", ["monorepo", "{dir}"]),
    user("going forward dates are UTC in the db and local in the ui", ["UTC", "db"]),
    user("The boss is fine with dropping IE and everything before Safari {n}", ["dropping", "Safari {n}"]),
    user("lets call the new class {cls}, short and clear", ["{cls}"]),
    user("What about errors? I think we return {n} and a body with {code}, like the others do.", [
      "{n}",
      "{code}",
    ]),
    user("neither. write our own, it's {n} lines", ["write our own"], {
      asked: "For the parser I could take {lib} or {lib2}. Do you have a preference?",
    }),
    user("fine, but with {lib}", ["{lib}", "integration tests"], {
      asked: "I would write the integration tests with {lib2}. Is that fine?",
    }),
    user("we're not going to support {lib} any more after this release", ["not going to support {lib}"]),
    user("the default branch is going to be {branch} from next week, plan for that", [
      "default branch",
      "{branch}",
    ]),
    user("I've made up my mind about the cache: per process, no redis", ["cache", "per process"]),
    user("ship it as {version}, not as a major", ["{version}", "not as a major"]),
    user("Config will be {lib} files, one per environment, checked in under {dir}", ["{lib} files", "{dir}"]),
    user("for ids we take ULIDs. uuid v4 sorts badly", ["ULIDs"]),
    user("thx. so the plan: {name} does the frontend, we only deliver the api at {url}", [
      "{name}",
      "frontend",
      "{url}",
    ]),

    user("the second one", ["{lib2}", "job queue"], {
      asked: "What should the job queue run on?\n1. {lib}\n2. {lib2}\n3. a table of our own",
    }),
    user("number 3 please, {n} at a time", ["{n} at a time", "{fn}"], {
      asked: "How shall the import be batched?\n1. not at all\n2. by day\n3. in `{fn}`, with a fixed size",
    }),
    user("First option.", ["{branch}", "hotfix"], {
      asked: "Where does the hotfix go?\n\n1. onto {branch}\n2. onto {branch2}",
    }),
  ],
  zh: [
    user("队列就用 {lib} 吧", ["队列", "{lib}"]),
    user("行，用 {lib}，不用 {lib2} 了", ["用 {lib}", "不用 {lib2}"]),
    user("{table} 加个 {column} 字段，不另外建表，就这么定了", ["{table}", "{column}", "不另外建表"]),
    user("跟{name}聊过了，{day}灰度", ["{day}灰度"]),
    user("接口就叫 /{service}/v2，大家都没意见", ["/{service}/v2"]),
    user("那就 {port}", ["{port}", "端口"], { asked: "开发代理监听哪个端口？" }),
    user("B 吧，开关名叫 {flag}", ["{flag}", "开关"], {
      asked: "两个方案：A）一次性全量上线；B）先藏在功能开关后面。选哪个？",
    }),
    user("嗯，先做 {service}", ["先做 {service}"], { asked: "是先动 {service} 服务，还是先改公共库？" }),
    user("会上定了游标分页，每页 {n} 条", ["游标分页", "每页 {n} 条"]),
    user("我更喜欢用 {fn} 的那一版，可读性好，就留那个", ["用 {fn} 的那一版"]),
    user("好吧，{lib} 就 {lib}", ["{lib} 就 {lib}"]),
    user("会话 {n} 分钟过期", ["{n2} 分钟"], { later: "不好意思，产品那边要会话保持 {n2} 分钟，按这个来" }),
    user("{service} 那个想法不要了，直接做在 {service2} 里面", ["{service}", "不要了", "{service2}"]),
    user("金额全部按分存整数，老系统也是这样", ["按分存整数"]),
    user("想了一晚上，还是 monorepo，包都放 {dir} 下面", ["monorepo", "{dir}"]),
    user("以后时间在库里一律存 UTC，界面上再转本地", ["UTC"]),
    user("老板同意了，IE 和 Safari {n} 以前的都不支持了", ["Safari {n}", "不支持"]),
    user("新的类就叫 {cls}，简单明了", ["{cls}"]),
    user("错误怎么返回？我觉得跟其他接口一样，{n} 加上 body 里放 {code}", ["{n}", "{code}"]),
    user("都不要，自己写一个，也就 {n} 行", ["自己写一个"], {
      asked: "解析器可以用 {lib} 或者 {lib2}，你有偏好吗？",
    }),
    user("可以，不过用 {lib}", ["{lib}", "集成测试"], { asked: "集成测试我打算用 {lib2} 写，可以吗？" }),
    user("这个版本之后就不再支持 {lib} 了", ["不再支持 {lib}"]),
    user("下周起默认分支改成 {branch}，提前按这个准备", ["默认分支", "{branch}"]),
    user("缓存我想好了，每个进程各存各的，不上 redis", ["缓存", "不上 redis"]),
    user("就发 {version}，不算大版本", ["发 {version}"]),
    user("配置用 {lib} 文件，一个环境一份，提交到 {dir}", ["{lib} 文件", "{dir}"]),
    user("id 用 ULID，uuid v4 排序太差", ["用 ULID"]),
    user("谢啦。那就这样分工：{name}做前端，我们只交付接口，地址 {url}", ["{name}", "前端", "{url}"]),

    user("第二个", ["{lib2}", "任务队列"], {
      asked: "任务队列跑在什么上面？\n1. {lib}\n2. {lib2}\n3. 自己建表",
    }),
    user("3 吧，一次 {n} 条", ["一次 {n} 条", "{fn}"], {
      asked: "导入怎么分批？\n1. 不分\n2. 按天\n3. 在 `{fn}` 里按固定大小",
    }),
    user("选第一种", ["{branch}", "热修"], { asked: "热修提交到哪里？\n\n1. {branch}\n2. {branch2}" }),
  ],
}
