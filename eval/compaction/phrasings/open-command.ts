import { assistant, call, type Phrasings, ran, user } from "./phrasing.ts"

const kept = { keep: ["{command}"] }

/** Commands and how they ended. */
export const openCommand: Phrasings = {
  en: [
    ran("ok"),
    ran("failed"),
    ran("timeout", { timeout: 120_000 }),
    ran("ok", { description: "Run the checks" }),
    ran("failed", { description: "Try it again after the fix" }),
    ran("failed", { workdir: "packages/core" }),
    ran("ok", { description: "Make sure it still works", timeout: 300_000 }),
    call(
      "Bash",
      { command: "{command}", description: "Verify" },
      { ...kept, output: "{output}", outcome: "ok" },
    ),
    call(
      "Bash",
      { command: "{command}" },
      { ...kept, error: "Exit code {exit}\n{output}", outcome: "failed" },
    ),
    call(
      "shell",
      { command: ["bash", "-lc", "{command}"], workdir: "{root}" },
      {
        ...kept,
        output: '{"output":"...","metadata":{"exit_code":{exit},"duration_seconds":2.1}}',
        outcome: "failed",
      },
    ),
    call(
      "run_shell_command",
      { cmd: "{command}" },
      { ...kept, output: "{output}\nExit Code: 0", outcome: "ok" },
    ),
    call(
      "execute_command",
      { command: "{command}", requires_approval: false },
      {
        ...kept,
        output: "Command executed.\nOutput:\n{output}",
        metadata: { exit: "{exit}" },
        outcome: "failed",
      },
    ),
    assistant("I ran `{command}` and everything passed.", ["{command}"], { outcome: "ok" }),
    assistant("`{command}` fails with {code}, so the problem is not in the test itself.", [
      "{command}",
      "{code}",
    ]),
    assistant("After that, `{command}` finishes in {n} seconds without a warning.", [
      "{command}",
      "{n} seconds",
    ]),
    assistant("`{command}` still reports {n} failures.", ["{command}", "{n} failures"]),
    assistant("The build is green again: `{command}` exits with 0.", ["{command}"], { outcome: "ok" }),
    assistant("I tried `{command}`; it hangs after {n} seconds and I stopped it.", [
      "{command}",
      ["hangs", "stopped"],
    ]),
    user("ran `{command}` on my laptop, {n} failed, rest ok", ["{command}", "{n} failed"]),
    user("`{command}` works here", ["{command}", "works"]),
    user("fwiw {command} dies with {code} on CI but not locally", ["{command}", "{code}"]),
    user("I just did `{command}` and it went through fine, so it isn't the environment", [
      "{command}",
      "went through fine",
    ]),
    user("`{command}` takes {n} minutes on my machine, is that normal?", ["{command}", "{n} minutes"]),
    user("tried {command} twice. Both times: {code}", ["{command}", "{code}"]),
    user("When I run `{command}` I get exit {n}, what does that mean?", ["{command}", "exit {n}"]),
    user("`{command}` is green since yesterdays merge", ["{command}", "green"]),
    user("ci says `{command}` was killed, out of memory i guess", ["{command}", ["killed", "out of memory"]]),
    user("good news, `{command}` doesnt crash any more", ["{command}", "doesnt crash"]),

    call(
      "local_shell_call",
      { action: { type: "exec", command: ["bash", "-lc", "{command}"], env: {} } },
      { ...kept, output: "{output}", metadata: { exit_code: "{exit}" }, outcome: "failed" },
    ),
    call(
      "local_shell_call",
      { action: { type: "exec", command: "{argv}", working_directory: "{root}" } },
      { ...kept, output: "{output}", metadata: { exit_code: 0 }, outcome: "ok" },
    ),
    call(
      "run_in_terminal",
      { commandLine: "{command}", cwd: "{root}" },
      { ...kept, output: "{output}\nexit code: {exit}", outcome: "failed" },
    ),
    call(
      "terminal",
      { commandLine: "{command}", isBackground: false },
      { ...kept, output: "{output}", metadata: { exitCode: 0 }, outcome: "ok" },
    ),
  ],
  zh: [
    ran("ok", { description: "跑一遍检查" }),
    ran("failed", { description: "修复后再试一次" }),
    ran("timeout", { description: "等服务启动", timeout: 60_000 }),
    ran("ok"),
    ran("failed"),
    ran("ok", { description: "确认没有回归" }),
    ran("failed", { description: "构建", workdir: "services/api" }),
    call(
      "Bash",
      { command: "{command}", description: "验证修改" },
      { ...kept, output: "{output}", outcome: "ok" },
    ),
    call(
      "Bash",
      { command: "{command}", description: "重跑" },
      {
        ...kept,
        error: "Exit code {exit}\n{output}",
        outcome: "failed",
      },
    ),
    call(
      "run_terminal_cmd",
      { command: "{command}", is_background: false },
      {
        ...kept,
        output: "Exit code: {exit}\n\nCommand output:\n{output}",
        outcome: "failed",
      },
    ),
    call(
      "terminal",
      { cmd: "{command}" },
      { ...kept, output: "{output}", metadata: { exitCode: 0 }, outcome: "ok" },
    ),
    assistant("跑了 `{command}`，全部通过。", ["{command}"], { outcome: "ok" }),
    assistant("`{command}` 报 {code}，所以不是测试本身的问题。", ["{command}", "{code}"]),
    assistant("改完之后 `{command}` 只要 {n} 秒，没有警告。", ["{command}", "{n} 秒"]),
    assistant("`{command}` 还有 {n} 个失败。", ["{command}", "{n} 个失败"]),
    assistant("构建恢复正常了，`{command}` 退出码是 0。", ["{command}"], { outcome: "ok" }),
    assistant("我试了 `{command}`，{n} 秒以后就卡住了，只好停掉。", ["{command}", ["卡住", "停掉"]]),
    assistant("用 `{command}` 可以稳定复现，错误是 {code}。", ["{command}", "{code}"]),
    user("我本地跑 `{command}`，挂了 {n} 个，其他都过", ["{command}", "挂了 {n} 个"]),
    user("`{command}` 在我这儿没问题", ["{command}", "没问题"]),
    user("说个现象，{command} 在 CI 上报 {code}，本地不报", ["{command}", "{code}"]),
    user("刚执行了 `{command}`，顺利跑完了，应该不是环境的锅", ["{command}", "顺利跑完"]),
    user("`{command}` 在我机器上要 {n} 分钟，正常吗？", ["{command}", "{n} 分钟"]),
    user("{command} 试了两遍，都是 {code}", ["{command}", "{code}"]),
    user("我跑 `{command}` 退出码是 {n}，啥意思？", ["{command}", "退出码是 {n}"]),
    user("昨天合并完 `{command}` 就一直是绿的", ["{command}", "绿的"]),
    user("流水线里 `{command}` 被 kill 了，估计内存不够", ["{command}", ["kill", "内存不够"]]),
    user("好消息，`{command}` 不崩了", ["{command}", "不崩了"]),

    call(
      "local_shell_call",
      { action: { type: "exec", command: ["bash", "-lc", "{command}"], timeout_ms: 60000 } },
      { ...kept, output: "{output}", metadata: { exit_code: 0 }, outcome: "ok" },
    ),
    call(
      "local_shell_call",
      { action: { type: "exec", command: "{argv}" } },
      { ...kept, output: "{output}", metadata: { exit_code: "{exit}" }, outcome: "failed" },
    ),
    call(
      "run_in_terminal",
      { commandLine: "{command}", explanation: "确认一下结果" },
      { ...kept, output: "{output}\nexit code: {exit}", outcome: "failed" },
    ),
    call(
      "terminal",
      { commandLine: "{command}", cwd: "{root}" },
      { ...kept, output: "{output}", metadata: { exitCode: 0 }, outcome: "ok" },
    ),
  ],
}
