/** Words from which slot values are made. */

export const nouns =
  `order invoice cart payment session profile upload report ledger shipment coupon webhook device
  sensor ticket catalog price stock refund audit export import search index media avatar comment thread channel message
  digest schedule quota region tenant billing voucher receipt parcel route vehicle driver booking seat lesson grade
  patient claim policy premium batch feed crawler snapshot replica shard cluster node agent prompt tool token`.split(
    /\s+/,
  )

export const verbs =
  `load save parse render fetch resolve merge split apply build check clean collect compute copy
  create decode encode detect dispatch emit ensure expand filter flush format handle hash index join list lookup map
  normalize notify open pick publish queue read reload replay retry rotate scan schedule send sort store sync trim
  update upsert validate verify watch wrap write`.split(/\s+/)

export const libraries =
  `Kafka RabbitMQ NATS Redis Valkey Postgres MySQL SQLite DuckDB ClickHouse MongoDB DynamoDB
  Prisma Drizzle Kysely TypeORM Sequelize SQLAlchemy Alembic Flyway Liquibase Zod Joi Yup Ajv Vitest Jest Mocha Playwright
  Cypress Pytest Selenium Vite Webpack Rollup esbuild Turbopack Axios Undici Ky Express Fastify Hono Koa NestJS Django
  Flask FastAPI Spring Micronaut Quarkus Gin Echo Axum Actix Tokio Serde Bun Deno Tailwind Bootstrap MUI Redux Zustand
  MobX Pinia Moment Luxon dayjs Lodash Ramda RxJS Terraform Pulumi Ansible Helm Kustomize Vault Consul Envoy Nginx
  Caddy Traefik Grafana Prometheus Loki Sentry OpenTelemetry Protobuf Avro Thrift GraphQL tRPC YAML TOML`.split(
    /\s+/,
  )

export const services =
  `checkout billing search catalog identity mailer pricing inventory gateway notifier scheduler
  exporter ingest archiver ranking geocoder translator thumbnailer reconciler payout onboarding loyalty telemetry
  moderation recommender`.split(/\s+/)

export const names = {
  en: `Priya Jonas Maria Tom Aiko Svetlana Ahmed Lena Carlos Wei Fatima Oskar Nadia Ben Ines Rahul Greta Pavel`.split(
    " ",
  ),
  zh: "小王 老李 张伟 陈静 刘洋 赵敏 阿强 周工 孙姐 吴昊 郑老师 林林 何姐 马哥 高翔 谢工".split(" "),
}

export const days = {
  en: "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(" "),
  zh: "周一 周二 周三 周四 周五 周六 周日".split(" "),
}

export const environments = "staging preprod uat sandbox canary demo perf qa-2 eu-prod".split(" ")

/** Directories and the extensions of their files, by kind of project. */
export const layouts: readonly { directories: readonly string[]; endings: readonly string[] }[] = [
  {
    directories: ["src", "src/server", "src/lib/core", "src/routes/api", "test/unit"],
    endings: ["ts", "test.ts", "tsx"],
  },
  {
    directories: ["packages/ui/src", "packages/api/src", "apps/web/app", "apps/admin/pages"],
    endings: ["tsx", "ts", "css"],
  },
  { directories: ["app/models", "app/services", "tests/integration", "scripts"], endings: ["py"] },
  { directories: ["cmd", "internal/store", "internal/http", "pkg/queue"], endings: ["go", "_test.go"] },
  { directories: ["crates/engine/src", "crates/cli/src", "src/bin"], endings: ["rs"] },
  { directories: ["src/main/java/com/acme/shop", "src/test/java/com/acme/shop"], endings: ["java", "kt"] },
  { directories: ["lib/shop/web", "lib/shop", "priv/repo/migrations"], endings: ["ex", "exs"] },
  { directories: ["app/controllers", "app/jobs", "spec/models", "config"], endings: ["rb", "yml"] },
  {
    directories: [".github/workflows", "deploy/helm/templates", "infra/modules"],
    endings: ["yml", "yaml", "tf"],
  },
  { directories: ["docs", "docs/adr", "docs/guides"], endings: ["md"] },
  { directories: ["include/net", "src/net", "third_party/shim"], endings: ["cc", "h", "hpp"] },
  { directories: ["db/migrations", "sql/views"], endings: ["sql"] },
  { directories: ["文档/设计", "docs/中文"], endings: ["md"] },
]
