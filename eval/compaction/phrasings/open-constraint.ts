import { type Phrasings, user } from "./phrasing.ts"

/** What the user wants respected from then on. */
export const openConstraint: Phrasings = {
  en: [
    user("Please never touch anything below {dir}, another team owns it.", ["never", "{dir}"]),
    user("leave {path} alone, it's generated", ["leave", "{path}", "alone"]),
    user("we have to stay on {lib} {version}, the newer ones break our licence check", [
      "stay on",
      "{lib} {version}",
    ]),
    user("No new dependencies without asking me first, ok?", ["no new dependencies", "asking me"]),
    user("pls dont use {lib}, legal said no", ["dont use", "{lib}"]),
    user("All of this has to keep working on Node {n}, a customer is stuck there.", [
      "keep working",
      "Node {n}",
    ]),
    user("The public signature of {fn} must not change, there are plugins out there that call it.", [
      "{fn}",
      "must not change",
    ]),
    user("I don't want any commits on main, use {branch} for everything", [
      "{branch}",
      ["main", "everything"],
    ]),
    user(
      "by the way, responses of the {service} service can't take longer than {ms} ms, thats in the contract",
      ["{service}", "{ms} ms"],
    ),
    user("whatever we end up with, it can't need more than {n} MB of memory", [
      "can't need more than",
      "{n} MB",
    ]),
    user("only ever talk to {host}, production is off limits for you", ["{host}", "off limits"]),
    user("keep comments in English please, half the team doesn't read German", ["comments in English"]),
    user("Tests shouldn't hit the network. At all. We got burned by that.", ["tests", "network"]),
    user("make sure you run {command} before every push, the bot rejects it otherwise", [
      "{command}",
      "before every push",
    ]),
    user("Don't delete rows from {table}, mark them as archived instead", ["{table}", "archived instead"]),
    user("and please, small commits. one per change, I have to review this on my phone", ["small commits"]),
    user("the {column} column stays nullable until {name}'s team has migrated", [
      "{column}",
      "stays nullable",
    ]),
    user("no default exports in this repo", ["no default exports"]),
    user("I'd rather you asked before running anything against {env}", ["asked before", "{env}"]),
    user("the second one, but without touching {path}", ["second one", "without touching {path}"], {
      asked:
        "I see two ways: (1) rewrite the loader, or (2) wrap it with a small adapter. Which do you prefer?",
    }),
    user(
      "No, and please keep it that way: nothing may write outside {dir}.",
      ["nothing may write outside", "{dir}"],
      {
        asked: "Should I also let the exporter write to the parent directory?",
      },
    ),
    user("limit uploads to {n} MB", ["uploads", "{n2} MB"], {
      later: "no wait, make the upload limit {n2} MB, marketing has big videos",
    }),
    user("it has to work offline, people use this on trains", ["has to work offline"]),
    user("Error messages need to be understandable for non-programmers, so no stack traces in the UI.", [
      "no stack traces",
      "UI",
    ]),
    user("you can refactor as you like as long as {fn} stays synchronous", [
      "as long as",
      "{fn} stays synchronous",
    ]),
    user("we're in a freeze until {day}, so nothing that needs a migration", [
      "until {day}",
      "nothing that needs a migration",
    ]),
    user("Everything user facing goes through the {fn} helper for translation, no hard coded strings", [
      "{fn}",
      "no hard coded strings",
    ]),
    user("can you keep the bundle under {n} kB gzipped? what do we have right now?", ["bundle under {n} kB"]),
  ],
  zh: [
    user("{dir} 下面的东西千万别动，那是别的组的", ["{dir}", "别动"]),
    user("{path} 不要改，是自动生成的", ["{path}", "不要改"]),
    user("{lib} 只能用 {version}，再新的过不了合规检查", ["{lib}", "只能用 {version}"]),
    user("没跟我说之前不要加新的依赖，行吧？", ["不要加新的依赖"]),
    user("别用 {lib}，法务不让", ["别用 {lib}"]),
    user("整套东西都得能在 Node {n} 上跑，有个客户升不上去", ["得能在 Node {n} 上跑"]),
    user("{fn} 的签名不能变，外面有插件在调", ["{fn}", "不能变"]),
    user("不要往 main 上提交，全部走 {branch} 分支", ["{branch}", ["不要往 main", "全部走"]]),
    user("顺便说一下，{service} 服务的响应不能超过 {ms} 毫秒，合同里写死的", [
      "{service}",
      "不能超过 {ms} 毫秒",
    ]),
    user("不管最后怎么做，内存占用不能超过 {n} MB", ["内存", "不能超过 {n} MB"]),
    user("你只准连 {host}，线上环境不许碰", ["{host}", "不许碰"]),
    user("注释统一写中文吧，新来的同事英文不太行", ["注释", "写中文"]),
    user("测试里一律不准访问外网，之前吃过亏", ["测试", "不准访问外网"]),
    user("每次 push 之前先跑一下 {command}，不然机器人会打回来", ["{command}", "push 之前"]),
    user("{table} 表的数据不能物理删除，只能打归档标记", ["{table}", "不能物理删除"]),
    user("还有啊，commit 拆小一点，一个改动一个，我在手机上 review", ["commit 拆小"]),
    user("{column} 这个字段先保持可空，等{name}他们迁完再说", ["{column}", "保持可空"]),
    user("这个仓库里不允许 default export", ["不允许 default export"]),
    user("凡是要动 {env} 环境的操作，先问我一声", ["{env}", "先问我"]),
    user("第二个吧，但是不要碰 {path}", ["第二个", "不要碰 {path}"], {
      asked: "有两种做法：（1）重写加载器；（2）外面包一层适配器。你倾向哪个？",
    }),
    user("不行，而且以后也别这么干，任何东西都不能写到 {dir} 外面", ["不能写到 {dir} 外面"], {
      asked: "导出的时候要不要也允许写到上级目录？",
    }),
    user("上传限制 {n} MB 吧", ["{n2} MB", "上传"], {
      later: "等下，上传上限还是改成 {n2} MB，市场部的视频太大",
    }),
    user("必须能离线用，很多人在高铁上用", ["必须能离线用"]),
    user("报错信息要让普通用户看得懂，界面上不要出现堆栈", ["界面上不要出现堆栈"]),
    user("随便你怎么重构，只要 {fn} 还是同步的就行", ["只要 {fn} 还是同步的"]),
    user("{day}之前封版，所以需要 migration 的改动都先别做", ["{day}之前封版", "先别做"]),
    user("所有给用户看的文案都得走 {fn}，不许写死字符串", ["{fn}", "不许写死字符串"]),
    user("包体积能不能压在 {n} kB 以内（gzip 后）？现在是多少？", ["压在 {n} kB 以内"]),
  ],
}
