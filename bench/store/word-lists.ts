const split = (text: string): string[] => text.trim().split(/\s+/)

/** The most common words, the most frequent first. */
export const commonEnglish = split(`
the of to and a in is it that for on with as this be are by not an or at from if we have can which will has but was
when one all you so do there then no use its they more new other should now only would also been than into any our
their what how out up set each first same some time work make need after before between both because where while may
must see does used using two way here still just like without over under most such very these those them were could
open close opened read write call run add remove change start stop keep test code file files line lines name names
value values type types function return error errors message messages session sessions store data state result
results list key keys order page cursor query index part parts text string number object field fields table row rows
column commit process processes thread server client request response event events loop time timer limit size count
length memory disk path directory project agent model tool tools user answer prompt context history fork segment
position version lease fence config option options default check checks fail fails failed failing pass passes fix
fixed build package module import export schema parse parser token tokens search match find found missing wrong right
problem cause reason case cases small large long short fast slow old next last end begin point place left hand again
`)

/** Parts of words, from which long words are made. */
export const stems = split(`
act adapt align alloc anchor append apply assert attach batch bind block bound branch buffer build bulk cache calc
cancel cast chain channel chart chunk class clean clone cluster code collect combine compact compare compile compose
compress compute concat condition confirm connect consume contain content control convert copy core correct couple
craft create cross current cycle debug declare decode deliver depend derive describe design detach detect digest
direct dispatch display divide drain drive drop dump edge edit emit enable encode engine ensure enter escape estimate
evaluate evict exact examine exchange execute expand expect expire explain expose extend extract factor fetch filter
flag flat flush fold follow force format forward frame freeze gather generate global grant graph group grow guard
handle harden hash head heap hold hook host identify ignore inherit initial inject inline input insert inspect install
instance integer intern invoke isolate iterate join journal jump kernel label launch layer layout leak level lift link
listen load local locate lock lower manage map mark mask measure merge meter migrate mirror mix mock mount move mutate
native nest network node normal notify observe offset output overflow override owner pack parallel patch pattern pause
peer permit persist pick pin pipe plan poll pool port prefix prepare press print probe produce profile project promise
proof protect prove proxy prune publish pull pump purge push queue quick quote raise random range rank rate reach
react rebuild receive record recover reduce refer refine reflect refresh register reject relate release reload render
repair repeat replay reply report require resolve restore resume retry reverse revise revoke ring roll root rotate
route sample scale scan scatter schedule scope score script seal secure seek select send separate series serve settle
shadow shape share shift sign signal silence slice slot snap sort source spawn split spread stack stage stamp static
status step stitch stream strict strip submit subset suffix supply support suspend swap switch sync system target
tail task template term thin thread throttle throw tick tie top trace track transfer transform translate travel tree
trigger trim trust tune turn unit unload update upgrade usage validate vary vector verify view visit wait wake walk
warm watch weigh wire wrap yield zone
`)

export const prefixes = split("re un pre de over sub inter non mis out co multi")
export const suffixes = split("ing ed er s able ation ment or ness ful less ive al ly ity ize")

/** Syllables from which the rarest words are made. */
export const onsets = split("b br c ch d dr f fl g gr h j k l m n p pl qu r s sc sp st t tr v w z")
export const vowels = split("a e i o u ai ea ou")
export const codas = split("n r l s t m ck nd st x")

export const verbs = split(`
get set read write open close make build parse load save find add remove update create delete check fetch send apply
init start stop run handle render format merge split resolve validate encode decode
`)

export const nouns = split(`
Session Message Part History Store File Path Index Query Cursor Event Token Node Tree Table Row Key Value State Config
Option Error Result Buffer Stream Lease Segment Project Agent Model Tool Server Client Request Response Header Body
Cache Queue Timer Worker Schema Field Type Name List Map Set Page Limit Count Size Range Version Sync
`)

export const folders = split(`
src lib test core app packages server client utils store stores session protocol api web components hooks pages models
tools config scripts build common shared internal types services routes views assets
`)

export const fileNames = split(`
index main utils types config store session message client server schema parse query cursor format table layout
helpers constants errors events router worker cache queue model view test setup
`)

export const extensions = split("ts ts ts ts tsx js json md py rs go css")

/** Chinese words of one to four characters, the most common first. */
export const commonChinese = split(`
的 是 在 了 和 我们 可以 这个 一个 不 有 数据 文件 会话 用户 问题 使用 需要 没有 进行 如果 系统 消息 代码 函数 返回
错误 测试 时间 结果 方法 内容 名称 信息 模型 工具 服务器 客户端 请求 响应 接口 配置 目录 路径 项目 版本 历史 位置
搜索 索引 查询 数据库 连接 缓存 线程 进程 事务 提交 写入 读取 打开 关闭 保存 删除 修改 创建 更新 检查 确认 开始
结束 继续 停止 重新 运行 执行 处理 解析 格式 类型 字段 对象 列表 数组 字符串 数字 因为 所以 但是 然后 现在 已经
应该 可能 必须 其他 所有 每个 之前 之后 同时 通过 根据 关于 以及 或者 并且 只有 这样 那么 什么 怎么 为什么 出现
发现 解决 原因 正常 失败 成功 支持 实现 功能 逻辑 结构 设计 性能 优化 并发 异步 同步 锁 队列 流 事件 循环 等待
超时 重试 日志 输出 输入 参数 变量 常量 模块 依赖 安装 构建 部署 发布 环境 权限 安全 隔离 子会话 分叉 回退 标题
`)

/** Characters from which the rarer Chinese words are made. */
export const chineseCharacters = [
  ..."春夏秋冬东西南北山水风云日月星光花草树木金石火土天地人家国民心手口目耳足身头面发声色香味形影音乐诗书画笔纸墨",
  ..."城市村镇街道桥梁船车马牛羊鸡犬鱼鸟虫龙虎海洋江河湖泊溪泉雨雪霜露雷电冰霞高低长短宽窄深浅远近大小多少轻重快慢",
  ..."早晚古今新旧真假美丑善恶强弱贫富喜怒哀愁爱恨思念梦想希望努力学习研究发展建设生产交通运输农工商业经济政治文化",
  ..."教育科技医疗卫生体育艺术历史地理物理化学数学语言哲学法律军事外交环境资源能源材料机械电子信息航空铁路公园博览",
]
