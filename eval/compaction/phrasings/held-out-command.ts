import { assistant, call, type Phrasings, ran, user } from "./phrasing.ts"

const kept = { keep: ["{command}"] }

/** Commands and how they ended. */
export const heldOutCommand: Phrasings = {
  en: [
    ran("failed", { description: "Reproduce the failure" }),
    ran("ok", { description: "See whether the suite passes now" }),
    ran("ok", { workdir: "apps/web" }),
    ran("timeout"),
    ran("failed", { timeout: 600_000 }),
    ran("ok", { description: "Final check before handing over" }),
    ran("failed", { description: "First attempt" }),
    call(
      "Bash",
      { command: "{command}", timeout: 60000 },
      { ...kept, error: "Command timed out after 1m 0s\n{output}", outcome: "timeout" },
    ),
    call(
      "bash",
      { cmd: "{command}" },
      { ...kept, output: "{output}\n[exit code: {exit}]", outcome: "failed" },
    ),
    call(
      "local_shell",
      { command: ["sh", "-c", "{command}"] },
      { ...kept, output: "{output}", metadata: { exit_code: 0 }, outcome: "ok" },
    ),
    call(
      "exec_command",
      { cmd: "{command}", yield_time_ms: 1000 },
      { ...kept, output: "Process exited with code {exit}\nOutput:\n{output}", outcome: "failed" },
    ),
    call("runCommands", { command: "{command}" }, { ...kept, output: "{output}", outcome: "ok" }),
    assistant("With that in place `{command}` comes back clean.", ["{command}", "clean"]),
    assistant("I verified it: `{command}`, {n} passed, none failed.", ["{command}", "{n} passed"]),
    assistant("`{command}` broke because of my change: {code}.", ["{command}", "{code}"]),
    assistant("Unfortunately `{command}` aborts halfway, the disk is full.", [
      "{command}",
      ["aborts", "disk is full"],
    ]),
    assistant("I could not get `{command}` to succeed; {n} of the cases never finish.", [
      "{command}",
      ["could not", "never finish"],
    ]),
    assistant("Running `{command}` before and after gives {n} ms and {n2} ms.", [
      "{command}",
      "{n} ms",
      "{n2} ms",
    ]),
    user("did {command}, nothing red", ["{command}", "nothing red"]),
    user("{name} says `{command}` has been failing for him since {day}", ["{command}", "failing"]),
    user("{command} -> {code}. why?", ["{command}", "{code}"]),
    user("with your patch `{command}` finally goes through, thanks!!", ["{command}", "goes through"]),
    user("`{command}` complained about {n} things, most of them cosmetic I think", [
      "{command}",
      "{n} things",
    ]),
    user("so `{command}` just sits there forever on windows", ["{command}", "forever on windows"]),
    user("Deployed with `{command}`, looks good so far", ["{command}", "looks good"]),
    user("got a segfault from {command} just now, first time I see that", ["{command}", "segfault"]),
    user("I had to ctrl-c `{command}` after {n} min", ["{command}", ["ctrl-c", "{n} min"]]),
    user("the nightly `{command}` passed, so we can merge I guess?", ["{command}", "passed"]),

    call(
      "shell_call",
      { call_id: "c1", action: { command: ["sh", "-c", "{command}"], timeout_ms: 120000 } },
      { ...kept, output: "{output}", metadata: { exit_code: 0 }, outcome: "ok" },
    ),
    call(
      "computer_shell",
      { action: { kind: "run", command: "{argv}" } },
      { ...kept, error: "exit status {exit}: {output}", outcome: "failed" },
    ),
    call(
      "run_command",
      { CommandLine: "{command}", Cwd: "{root}", Blocking: true },
      { ...kept, output: "Exit code: {exit}\nStdout:\n{output}", outcome: "failed" },
    ),
    call(
      "executeCommand",
      { commandLine: "{command}" },
      { ...kept, output: "{output}", metadata: { exit: 0 }, outcome: "ok" },
    ),
  ],
  zh: [
    ran("failed", { description: "先复现一下" }),
    ran("ok", { description: "看看测试过了没有" }),
    ran("ok", { workdir: "apps/web", description: "前端构建" }),
    ran("timeout", { description: "跑端到端测试" }),
    ran("failed"),
    ran("ok", { description: "交付前最后确认" }),
    ran("failed", { description: "第一次尝试" }),
    call(
      "Bash",
      { command: "{command}", description: "全量测试", timeout: 60000 },
      { ...kept, error: "Command timed out after 1m 0s\n{output}", outcome: "timeout" },
    ),
    call(
      "bash",
      { cmd: "{command}" },
      { ...kept, output: "{output}\n[exit code: {exit}]", outcome: "failed" },
    ),
    call(
      "exec_command",
      { cmd: "{command}" },
      { ...kept, output: "Process exited with code {exit}\nOutput:\n{output}", outcome: "failed" },
    ),
    call(
      "run_command",
      { command: "{command}" },
      { ...kept, output: "{output}", metadata: { exit: 0 }, outcome: "ok" },
    ),
    assistant("加上以后 `{command}` 就干净了。", ["{command}", "干净"]),
    assistant("已验证：`{command}`，{n} 个用例全过。", ["{command}", "{n} 个用例全过"]),
    assistant("`{command}` 被我的改动弄坏了：{code}。", ["{command}", "{code}"]),
    assistant("可惜 `{command}` 跑到一半就中断，磁盘满了。", ["{command}", ["中断", "磁盘满"]]),
    assistant("`{command}` 我没能跑通，有 {n} 个用例一直不结束。", ["{command}", ["没能跑通", "不结束"]]),
    assistant("改动前后各跑一次 `{command}`，分别是 {n} ms 和 {n2} ms。", ["{command}", "{n} ms", "{n2} ms"]),
    user("{command} 跑了，没有红的", ["{command}", "没有红的"]),
    user("{name}说 `{command}` 从{day}开始在他那儿就一直失败", ["{command}", "失败"]),
    user("{command} 报错 {code}，为啥？", ["{command}", "{code}"]),
    user("打上你的补丁 `{command}` 终于能过了，谢谢！", ["{command}", "能过了"]),
    user("`{command}` 提示了 {n} 个问题，感觉大部分是格式", ["{command}", "{n} 个问题"]),
    user("windows 上 `{command}` 一直卡着不动", ["{command}", "卡着不动"]),
    user("用 `{command}` 发上去了，目前看着正常", ["{command}", "正常"]),
    user("刚才 {command} 段错误了，头一回见", ["{command}", "段错误"]),
    user("`{command}` 跑了 {n} 分钟还没完，我给 ctrl-c 了", ["{command}", ["ctrl-c", "{n} 分钟"]]),
    user("昨晚定时跑的 `{command}` 过了，那是不是可以合了？", ["{command}", "过了"]),
    user("我这 `{command}` 一执行就 oom", ["{command}", "oom"]),

    call(
      "shell_call",
      { action: { command: ["zsh", "-c", "{command}"], max_output_length: 4096 } },
      { ...kept, output: "{output}", metadata: { exit_code: "{exit}" }, outcome: "failed" },
    ),
    call(
      "computer_shell",
      { action: { kind: "run", command: "{argv}", note: "再验证一次" } },
      { ...kept, output: "{output}", metadata: { exit_code: 0 }, outcome: "ok" },
    ),
    call(
      "run_command",
      { CommandLine: "{command}", Cwd: "{root}", SafeToAutoRun: true },
      { ...kept, output: "Exit code: {exit}\nStdout:\n{output}", outcome: "failed" },
    ),
    call(
      "executeCommand",
      { commandLine: "{command}", title: "回归" },
      { ...kept, output: "{output}", metadata: { exit: 0 }, outcome: "ok" },
    ),
  ],
}
