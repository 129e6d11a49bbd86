import { plantedCommands } from "./planted-commands.ts"
import { plantedForms, plantedHashes, plantedSql, plantedTables } from "./planted-documents.ts"
import { plantedMixed } from "./planted-mixed.ts"
import { plantedChinese, plantedEnglish } from "./planted-prose.ts"
import { plantedBesideNames, plantedServiceKeys } from "./planted-service-keys.ts"
import { plantedSettings } from "./planted-settings.ts"
import { plantedWrapped } from "./planted-wrapped.ts"
import { type Planted, SecretSource } from "./secret-source.ts"

const makers: Record<string, (source: SecretSource) => Planted[]> = {
  "keys of services": plantedServiceKeys,
  "keys beside the name of a service": plantedBesideNames,
  "passwords in command lines": plantedCommands,
  "passwords in SQL": plantedSql,
  "password hashes": plantedHashes,
  "HTML, PHP and calls": plantedForms,
  tables: plantedTables,
  "wrapped lines": plantedWrapped,
  "English prose": plantedEnglish,
  "Chinese prose": plantedChinese,
  "settings and requests": plantedSettings,
  "texts of many kinds": plantedMixed,
}

/** Texts with a secret each, by class. The seed decides the secrets, not the forms. */
export function plantedSecrets(seed: number): [name: string, planted: Planted[]][] {
  return Object.entries(makers).map(([name, make]) => [name, make(new SecretSource(seed))])
}
