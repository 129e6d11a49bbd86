import { parseModelName } from "../../../../models/registry.ts"
import type { WireAgent, WireModel, WireProvider } from "../wire-directory.ts"
import type {
  WireLocatedAgent,
  WireLocatedCommand,
  WireLocatedModel,
  WireLocatedProvider,
} from "./wire-location.ts"
import type { WireCommand } from "./wire-project.ts"

const noRequest = { headers: {}, body: {} }
const native = { type: "native" as const, settings: {} }

export function toLocatedAgent(agent: WireAgent): WireLocatedAgent {
  const { name, model, prompt, description, mode, hidden, steps, permission } = agent
  return {
    id: name,
    request: noRequest,
    mode,
    hidden,
    permissions: permission.map((rule) => ({
      action: rule.permission,
      resource: rule.pattern,
      effect: rule.action,
    })),
    ...(model && { model: { id: model.modelID, providerID: model.providerID } }),
    ...(prompt !== undefined && { system: prompt }),
    ...(description !== undefined && { description }),
    ...(steps !== undefined && { steps }),
  }
}

export function toLocatedCommand(command: WireCommand): WireLocatedCommand {
  const { source: _, hints: _h, model, ...rest } = command
  if (model === undefined) return rest
  const { modelID: id, providerID } = parseModelName(model)
  return { ...rest, model: { id, providerID } }
}

export function toLocatedProvider({ id, name }: WireProvider): WireLocatedProvider {
  return { id, name, api: native, request: noRequest }
}

export function toLocatedModel(model: WireModel): WireLocatedModel {
  const { id, providerID, name, capabilities, cost, status, limit } = model
  return {
    id,
    providerID,
    name,
    api: { id, ...native },
    capabilities: {
      tools: capabilities.toolcall,
      input: namesOf(capabilities.input),
      output: namesOf(capabilities.output),
    },
    request: noRequest,
    variants: [],
    time: { released: 0 },
    cost: [cost],
    status,
    enabled: true,
    limit,
  }
}

function namesOf(media: Record<string, boolean>): string[] {
  return Object.keys(media).filter((name) => media[name])
}
