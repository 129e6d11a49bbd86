import type { HistogramSnapshot, MetricsSnapshot } from "../../run/index.ts"
import type { ProcessFigures } from "./process-figures.ts"

/** The metrics of the server, besides the metrics of runs. */
export interface ServerFigures {
  /** Open event streams. */
  subscribers: number
  process: ProcessFigures
}

export const metricsContentType = "text/plain; version=0.0.4; charset=utf-8"

interface Sample {
  labels: Record<string, string>
  value: number | HistogramSnapshot
}

interface Family {
  name: string
  help: string
  type: "counter" | "gauge" | "histogram"
  samples: Sample[]
}

/** All metrics in the text format of Prometheus, version 0.0.4. */
export function prometheusText(snapshot: MetricsSnapshot, figures: ServerFigures): string {
  const families = [
    ...runFamilies(snapshot),
    ...modelFamilies(snapshot),
    ...toolFamilies(snapshot),
    ...storeFamilies(snapshot),
    ...serverFamilies(figures),
    ...processFamilies(figures.process),
  ]
  return families
    .filter(({ samples }) => samples.length > 0)
    .map(familyText)
    .join("")
}

function runFamilies({ runs, steps, stepDuration }: MetricsSnapshot): Family[] {
  return [
    {
      name: "stemma_runs_started_total",
      help: "Runs that were started. Each run answers a prompt.",
      type: "counter",
      samples: one(runs.started),
    },
    {
      name: "stemma_runs_ended_total",
      help: "Runs that ended, by outcome.",
      type: "counter",
      samples: by("outcome", runs.ended),
    },
    {
      name: "stemma_runs_active",
      help: "Runs that are active now.",
      type: "gauge",
      samples: one(runs.active),
    },
    {
      name: "stemma_runs_waiting",
      help: "Sessions with work that has not started, by what they wait for.",
      type: "gauge",
      samples: by("reason", runs.waiting),
    },
    {
      name: "stemma_steps_total",
      help: "Steps that ended, by outcome.",
      type: "counter",
      samples: by("outcome", steps),
    },
    {
      name: "stemma_step_duration_seconds",
      help: "Duration of steps, including their tool calls and questions.",
      type: "histogram",
      samples: one(stepDuration),
    },
  ]
}

function modelFamilies({ models, retries }: MetricsSnapshot): Family[] {
  const labelled = models.map((use) => ({ use, labels: { provider: use.providerID, model: use.modelID } }))
  return [
    {
      name: "stemma_model_retries_total",
      help: "Retried model calls, by the reason of the failure.",
      type: "counter",
      samples: by("reason", retries),
    },
    {
      name: "stemma_model_tokens_total",
      help: "Tokens by model and kind. Each token has one kind.",
      type: "counter",
      samples: labelled.flatMap(({ use: { tokens }, labels }) => [
        { labels: { ...labels, kind: "input" }, value: tokens.input },
        { labels: { ...labels, kind: "output" }, value: tokens.output },
        { labels: { ...labels, kind: "reasoning" }, value: tokens.reasoning },
        { labels: { ...labels, kind: "cache_read" }, value: tokens.cache.read },
        { labels: { ...labels, kind: "cache_write" }, value: tokens.cache.write },
      ]),
    },
    {
      name: "stemma_model_cost_dollars_total",
      help: "Cost of models whose price is known.",
      type: "counter",
      samples: labelled.map(({ use, labels }) => ({ labels, value: use.cost })),
    },
    {
      name: "stemma_model_first_token_seconds",
      help: "Time until the first token of an answer.",
      type: "histogram",
      samples: labelled.map(({ use, labels }) => ({ labels, value: use.firstToken })),
    },
  ]
}

function toolFamilies({ tools }: MetricsSnapshot): Family[] {
  return [
    {
      name: "stemma_tool_calls_total",
      help: "Finished tool calls, by outcome.",
      type: "counter",
      samples: tools.flatMap(({ tool, completed, error }) => [
        { labels: { tool, outcome: "completed" }, value: completed },
        { labels: { tool, outcome: "error" }, value: error },
      ]),
    },
    {
      name: "stemma_tool_duration_seconds",
      help: "Duration of tool calls, without the questions before them.",
      type: "histogram",
      samples: tools.map(({ tool, duration }) => ({ labels: { tool }, value: duration })),
    },
  ]
}

function storeFamilies({ commits, sessionsCreated, questionsOpen }: MetricsSnapshot): Family[] {
  return [
    {
      name: "stemma_commits_total",
      help: "Commits of runs, by outcome.",
      type: "counter",
      samples: by("outcome", { committed: commits.duration.count, failed: commits.failed }),
    },
    {
      name: "stemma_commit_duration_seconds",
      help: "Time that runs waited for a commit.",
      type: "histogram",
      samples: one(commits.duration),
    },
    {
      name: "stemma_sessions_created_total",
      help: "Created sessions, by origin.",
      type: "counter",
      samples: by("origin", sessionsCreated),
    },
    {
      name: "stemma_permission_questions_open",
      help: "Permission questions that wait for a person.",
      type: "gauge",
      samples: one(questionsOpen),
    },
  ]
}

function serverFamilies({ subscribers }: ServerFigures): Family[] {
  const help = "Open event streams."
  return [{ name: "stemma_event_subscribers", help, type: "gauge", samples: one(subscribers) }]
}

/** Names that dashboards for Node programs already know. */
function processFamilies(figures: ProcessFigures): Family[] {
  const gauges: [name: string, help: string, value: number | undefined][] = [
    ["process_resident_memory_bytes", "Resident memory of the process.", figures.residentBytes],
    ["process_start_time_seconds", "Start time of the process, in Unix time.", figures.startedAtSeconds],
    ["nodejs_heap_size_used_bytes", "Heap in use.", figures.heapUsedBytes],
    ["nodejs_heap_size_total_bytes", "Total size of the heap.", figures.heapTotalBytes],
    ["nodejs_eventloop_lag_mean_seconds", "Mean lag since the last reading.", figures.lag?.meanSeconds],
    ["nodejs_eventloop_lag_p50_seconds", "Median lag since the last reading.", figures.lag?.p50Seconds],
    [
      "nodejs_eventloop_lag_p99_seconds",
      "99th percentile of the lag since the last reading.",
      figures.lag?.p99Seconds,
    ],
    ["nodejs_eventloop_lag_max_seconds", "Longest lag since the last reading.", figures.lag?.maxSeconds],
  ]
  return [
    {
      name: "process_cpu_seconds_total",
      help: "Processor time, user and system.",
      type: "counter",
      samples: one(figures.cpuSeconds),
    },
    ...gauges.map(
      ([name, help, value]): Family => ({
        name,
        help,
        type: "gauge",
        samples: value === undefined ? [] : one(value),
      }),
    ),
  ]
}

function one(value: Sample["value"]): Sample[] {
  return [{ labels: {}, value }]
}

function by(label: string, values: Record<string, number>): Sample[] {
  return Object.entries(values).map(([name, value]) => ({ labels: { [label]: name }, value }))
}

function familyText({ name, help, type, samples }: Family): string {
  const lines = samples.flatMap((sample) => sampleLines(name, sample))
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines, ""].join("\n")
}

function sampleLines(name: string, { labels, value }: Sample): string[] {
  if (typeof value === "number") return [`${name}${labelText(labels)} ${value}`]
  const { buckets, count, sumSeconds } = value
  const bounds = [...buckets.map((bucket) => [String(bucket.atMostSeconds), bucket.count]), ["+Inf", count]]
  return [
    ...bounds.map(([le, below]) => `${name}_bucket${labelText({ ...labels, le: String(le) })} ${below}`),
    `${name}_sum${labelText(labels)} ${sumSeconds}`,
    `${name}_count${labelText(labels)} ${count}`,
  ]
}

/** Escapes label values, because names of models and tools are arbitrary text. */
function labelText(labels: Record<string, string>): string {
  const pairs = Object.entries(labels).map(([name, text]) => `${name}="${escaped(text)}"`)
  return pairs.length > 0 ? `{${pairs.join(",")}}` : ""
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")
}
