import { type Phrasings, user } from "./phrasing.ts"

/** What the user chose, and what is built on it afterwards. */
export const heldOutDecision: Phrasings = {
  en: [
    user("I'm leaning towards {lib} for the parser... yeah, take that", ["{lib}", "parser"]),
    user("replace {lib2} by {lib}, I've got the ok for it", ["replace {lib2} by {lib}"]),
    user("put {column} on {table} directly, a join table is overkill", ["{column}", "{table}", "overkill"]),
    user("the migration runs {day} night, I told {name} already", ["migration runs {day}"]),
    user("Name of the repo: {service}-core. Nobody objected.", ["{service}-core"]),
    user("the latter. {n} workers are enough", ["{n} workers"], {
      asked: "Should the importer be a single process, or a pool with several workers?",
    }),
    user("a) please, and put it at {path}", ["{path}", "sqlite"], {
      asked: "Where should the index live?\na) a sqlite file\nb) in memory, rebuilt at start",
    }),
    user("yep, keep both for a while and drop {fn} in {version}", ["{fn}", "{version}"], {
      asked: "Shall the old function stay next to the new one?",
    }),
    user("in standup everyone voted for polling every {n} seconds over websockets", [
      "polling every {n} seconds",
    ]),
    user("Your first draft of {fn} was nicer, let's take it back", ["{fn}", "take it back"]),
    user("alright alright, {lib} wins", ["{lib} wins"]),
    user("tokens live for {n} hours", ["tokens", "{n2} hours"], {
      later: "hm actually {n2} hours for the tokens, {n} is annoying for the field people",
    }),
    user("forget {service}, that belongs into {service2} now", ["forget {service}", "{service2}"]),
    user("weights are grams, always, even for the american shop", ["weights are grams"]),
    user("I want feature folders. so {dir} gets one folder per feature", ["feature folders", "{dir}"]),
    user("we log in json from here on", ["log in json"]),
    user("product signed off on requiring Android {n} or later", ["requiring Android {n}"]),
    user("rename {cls2} to {cls}? yes, love it", ["{cls}", "yes"]),
    user("and if the file is missing we just create it, no error", ["file is missing", "create it"]),
    user("skip both, plain sql is good enough for {n} tables", ["plain sql"], {
      asked: "Which ORM do you want, {lib} or {lib2}?",
    }),
    user("works for me, only make it {n} days", ["{n} days", "backups"], {
      asked: "I'd keep the backups for {n2} days. Does that work for you?",
    }),
    user("support for {lib} ends with this milestone", ["support for {lib} ends"]),
    user("starting monday releases are cut from {branch}", ["releases are cut from {branch}"]),
    user("so, retries: three times, then give up and page {name}", ["retries", "three times", "{name}"]),
    user("tag it {version} and be done", ["tag it {version}"]),
    user("secrets come from {lib}, not from env vars, I discussed it with ops", ["secrets come from {lib}"]),
    user("sort order is newest first btw, support asked for it", ["newest first"]),
    user("We buy the hosted thing ({url}) rather than building it.", ["{url}", "rather than building"]),

    user("I'd say the last one", ["{lib3}", "search"], {
      asked:
        "For the search backend there are three candidates:\n1) {lib}\n2) {lib2}\n3) {lib3}\nWhich do you want?",
    }),
    user("2, and call it {flag}", ["{flag}", "per tenant"], {
      asked: "How is the switch scoped?\n1. global\n2. per tenant\n3. per user",
    }),
    user("the former", ["{dir}", "fixtures"], {
      asked: "The fixtures can live in (1) {dir} or (2) {dir2}. What do you prefer?",
    }),
  ],
  zh: [
    user("解析器我倾向 {lib}……嗯就它了", ["{lib}", "解析器"]),
    user("{lib2} 换成 {lib}，领导批了", ["{lib2} 换成 {lib}"]),
    user("{column} 直接挂在 {table} 上，弄关联表太重了", ["{column}", "{table}"]),
    user("{day}晚上做迁移，{name}那边我打过招呼了", ["{day}晚上", "迁移"]),
    user("仓库名就 {service}-core，没人反对", ["{service}-core"]),
    user("后者，{n} 个 worker 够了", ["{n} 个 worker"], {
      asked: "导入程序做成单进程，还是多个 worker 的池子？",
    }),
    user("a 吧，放到 {path}", ["{path}", "sqlite"], {
      asked: "索引放哪里？\na）sqlite 文件\nb）内存里，启动时重建",
    }),
    user("对，先并存一阵，到 {version} 再去掉 {fn}", ["{version}", "{fn}"], {
      asked: "旧函数要和新的并存吗？",
    }),
    user("早会大家投票，轮询 {n} 秒一次，不上 websocket", ["轮询 {n} 秒一次"]),
    user("{fn} 还是你第一版写得好，换回去吧", ["{fn}", "换回去"]),
    user("行行行，听你的，上 {lib}", ["上 {lib}"]),
    user("token 有效期 {n} 小时", ["{n2} 小时"], {
      later: "呃 token 还是 {n2} 小时吧，{n} 小时外勤同事嫌烦",
    }),
    user("{service} 不搞了，归到 {service2} 那边", ["{service} 不搞了", "{service2}"]),
    user("重量单位全用克，美国站也一样", ["重量单位全用克"]),
    user("目录按功能分，{dir} 下一个功能一个文件夹", ["按功能分", "{dir}"]),
    user("日志从现在起都打 json", ["日志", "json"]),
    user("产品点头了，最低支持到 Android {n}", ["最低支持到 Android {n}"]),
    user("{cls2} 改叫 {cls}？可以，挺好", ["{cls}", "可以"]),
    user("文件不存在的话就直接建，不报错", ["文件不存在", "直接建"]),
    user("两个都别用，就 {n} 张表，裸 sql 足够", ["裸 sql"], { asked: "ORM 用 {lib} 还是 {lib2}？" }),
    user("没问题，天数改成 {n} 天", ["{n} 天", "备份"], { asked: "备份我打算保留 {n2} 天，可以吗？" }),
    user("{lib} 的支持做到这个里程碑为止", ["{lib} 的支持", "为止"]),
    user("周一开始从 {branch} 切发布版", ["从 {branch} 切发布版"]),
    user("重试这块，三次不行就放弃并呼叫{name}", ["重试", "三次", "{name}"]),
    user("打个 {version} 的 tag 收工", ["{version}", "tag"]),
    user("密钥从 {lib} 里取，不走环境变量，跟运维说好了", ["密钥从 {lib}"]),
    user("对了排序按最新的在前，客服提的", ["最新的在前"]),
    user("不自己造了，直接买现成的（{url}）", ["{url}", "买现成的"]),

    user("最后那个吧", ["{lib3}", "搜索"], {
      asked: "搜索后端有三个候选：\n1）{lib}\n2）{lib2}\n3）{lib3}\n要哪个？",
    }),
    user("2，名字用 {flag}", ["{flag}", "按租户"], {
      asked: "开关的范围怎么定？\n1. 全局\n2. 按租户\n3. 按用户",
    }),
    user("前者", ["{dir}", "测试数据"], { asked: "测试数据可以放（1）{dir} 或（2）{dir2}，你倾向哪个？" }),
  ],
}
