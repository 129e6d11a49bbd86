import { featurePlaces } from "../../src/session/ledger/rank/sentence-features.ts"
import { packWeights, type SentenceWeights } from "../../src/session/ledger/rank/sentence-model.ts"
import { Draw } from "../compaction/draw.ts"

/** The feature indexes of a sentence, and the label that the model should give it. */
export interface Labelled {
  places: readonly number[]
  label: boolean
}

const epochs = 20
const rate = 0.1
const decay = 2e-3
/** A feature of fewer sentences than this is ignored: it would not generalise. */
const sentencesMin = 4
const weightMax = 127
/** A weight of fewer units than this is set to 0, to keep the file small. */
const unitsMin = 2

/** Logistic regression with AdaGrad. The result is the same on every machine. */
export function train(examples: readonly Labelled[]): SentenceWeights {
  const counts = new Uint32Array(featurePlaces)
  for (const { places } of examples) for (const place of places) counts[place]!++
  const known = examples.map(({ places, label }) => {
    return {
      label,
      size: Math.sqrt(places.length),
      places: places.filter((place) => counts[place]! >= sentencesMin),
    }
  })
  const weights = new Float64Array(featurePlaces)
  const steps = new Float64Array(featurePlaces).fill(1e-3)
  let bias = 0
  let biasSteps = 1e-3
  const draw = new Draw(1)
  for (let epoch = 0; epoch < epochs; epoch++) {
    for (const { places, label, size } of draw.shuffled(known)) {
      let sum = 0
      for (const place of places) sum += weights[place]!
      const off = 1 / (1 + Math.exp(-bias - sum / size)) - (label ? 1 : 0)
      for (const place of places) {
        const slope = off / size + decay * weights[place]!
        steps[place]! += slope * slope
        weights[place]! -= (rate * slope) / Math.sqrt(steps[place]!)
      }
      biasSteps += off * off
      bias -= (rate * off) / Math.sqrt(biasSteps)
    }
  }
  return packed(weights, bias)
}

function packed(weights: Float64Array, bias: number): SentenceWeights {
  const largest = weights.reduce((max, weight) => Math.max(max, Math.abs(weight)), 1e-9)
  const unit = Number((largest / weightMax).toPrecision(6))
  const table = Int8Array.from(weights, (weight) => {
    const units = Math.max(-weightMax, Math.min(weightMax, Math.round(weight / unit)))
    return Math.abs(units) < unitsMin ? 0 : units
  })
  return { bias: Number(bias.toPrecision(6)), unit, weights: packWeights(table) }
}
