import { wordPattern } from "./word-patterns.ts"

/**
 * Words of software work. A plain sentence with such a word may be a rule or a decision that is worded as a fact:
 * "rounding is half-even", "一个租户一张表".
 */
export const workWords = wordPattern({
  english: `
    apis?, endpoints?, routes?, requests?, responses?, payloads?, headers?, cookies?, sessions?, tokens?, auth\\w*, log-?ins?, sign-?ups?, passwords?, permissions?, roles?, admins?, guests?, users?, tenants?, customers?, vendors?,
    tables?, columns?, rows?, schemas?, ind(?:ex|exes|ices), quer(?:y|ies), transactions?, migrations?, db, databases?, replicas?, backups?, caches?, queues?, events?, messages?, webhooks?, cron, jobs?, workers?, locks?, retr(?:y|ies), jitter, timeouts?, rate limit\\w*, quotas?, thresholds?,
    pages?, buttons?, forms?, fields?, wizard, menus?, themes?, layouts?, styles?, colou?rs?, contrast, icons?, logos?, avatars?, carousels?, banners?, modals?, dashboards?, wording, texts?, labels?, translations?, locales?, i18n, accessib\\w*, screen readers?, dark mode, drafts?, uploads?, downloads?, imports?, importers?, exports?, exporters?, csv, json, xml, yaml, emails?, notifications?, reports?, invoices?, prices?, tax(?:es)?, cents, currenc(?:y|ies), rounding, precision, dates?, time ?zones?, utc, pagination, search, filters?, sorting,
    tests?, fixtures?, mocks?, snapshots?, coverage, ci, pipelines?, builds?, bundles?, releases?, rollouts?, rollbacks?, deploy\\w*, versions?, branch(?:es)?, commits?, merges?, merged, reviews?, approvals?, linters?, warnings?, docs, changelogs?, runbooks?, comments?, names?, naming, casing, types?, signatures?, functions?, class(?:es)?, modules?, packages?, dependenc(?:y|ies), librar(?:y|ies), frameworks?, flags?, configs?, settings, env(?:ironment)?s?, secrets?, keys?, certificates?, certs?, encrypt\\w*, hash(?:es|ed)?,
    servers?, clients?, browsers?, safari, firefox, chrome, windows, linux, macos, android, ios, ipad, mobile, desktop, containers?, images?, clusters?, memory, disk, cores?, threads?, streams?, streaming, stdout, stderr, logs?, logging, metrics?, alerts?, traces?, errors?, exceptions?, demo, features?, freeze, scope, mvp, prototype, stubs?, adapters?, parsers?, decorators?, regex(?:es)?, sqlite, redis, graphql, rest, grpc`,
  chinese: `
    接口, 字段, 表, 库, 列, 主键, 外键, 索引, 事务, 存储过程, 缓存, 队列, 消息, 锁, 重试, 抖动, 超时, 限流, 熔断, 降级, 幂等, 定时, 任务, 脚本, 迁移, 回退, 回滚, 备份, 只读, 额度, 配额, 阈值, 看板, 监控, 告警, 埋点, 指标,
    页, 按钮, 表单, 向导, 菜单, 弹窗, 主题, 深色, 浅色, 布局, 样式, 颜色, 配色, 图标, 图, 头像, 轮播, 横幅, 文案, 措辞, 翻译, 国际化, 语言, 英文, 中文, 无障碍, 草稿, 上传, 下载, 导入, 导出, 签名, 邮件, 短信, 推送, 通知, 报表, 发票, 价格, 金额, 税, 币, 精度, 舍入, 四舍五入, 算法, 时区, 时间, 分页, 翻页, 搜索, 匹配, 排序, 列表,
    测试, 用例, 夹具, 压测, 单测, 覆盖率, 流水线, 构建, 打包, 发布, 上线, 灰度, 封版, 版本, 分支, 提交, 合并, 评审, 文档, 手册, 注释, 命名, 驼峰, 下划线, 类型, 函数, 模块, 组件, 依赖, 框架, 开关, 配置, 环境, 密钥, 密码, 证书, 加密, 脱敏, 手机号, 身份证, 权限, 管理员, 游客, 登录, 注册, 会话, 租户, 用户, 客户, 甲方, 供应商, 下游, 上游, 运维, 法务, 产品, 设计, 运营, 移动组, 前端, 后端, 服务端, 客户端, 浏览器, 安卓, 苹果, 平板, 手机, 小程序, 机器, 机子, 内存, 磁盘, 线程, 并发, 流式, 日志, 报错, 异常, 线上, 预发, 演示, 需求, 功能, 单号, 工单, 仓库, 目录, 管道`,
})
