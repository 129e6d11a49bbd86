import { chinese, code, commands, documentation, tables } from "./harmless-lists.ts"
import { SecretSource } from "./secret-source.ts"

/** Texts that look like secrets and are none, by class. */
export function harmlessTexts(seed: number): [name: string, texts: string[]][] {
  const s = new SecretSource(seed)
  return [
    ["identities", identities(s)],
    ["lock files and data", data(s)],
    ["command lines", commands],
    ["code about passwords", code],
    ["documentation", documentation],
    ["Chinese prose", chinese],
    ["tables", tables],
    ["logs", logs(s)],
  ]
}

function identities(s: SecretSource): string[] {
  return [
    `commit ${s.hex(40)}\nAuthor: Jane <jane@example.org>`,
    `${s.hex(7)} fix: the parser`,
    `index ${s.hex(7)}..${s.hex(7)} 100644`,
    `id: ${s.uuid()}`,
    `request ${s.uuid()} took 12 ms`,
    `ses_01jd0c7q5x3v9k2m4n6p8r0s1t`,
    `sha256:${s.hex(64)}`,
    `${s.hex(32)}  archive.tar.gz`,
    `${s.hex(64)}  dist/app.js\n${s.hex(64)}  dist/app.css`,
    `ETag: "${s.hex(32)}"`,
    `image: registry.example.org/app@sha256:${s.hex(64)}`,
    `0x${s.hex(40)}`,
    `trace_id=${s.hex(32)} span_id=${s.hex(16)}`,
    `node_modules/.pnpm/react@18.2.0_${s.hex(8)}/node_modules/react`,
    `/assets/index-${s.word(8)}.js`,
    `chunk-${s.big(8)}.mjs`,
    `arn:aws:iam::${s.digits(12)}:role/deploy`,
    `i-0${s.hex(16)} subnet-${s.hex(17)}`,
    `projects/my-project/locations/europe-west1/functions/handleRequest`,
    `${s.digits(13)} ${s.digits(10)}`,
    `https://www.youtube.com/watch?v=${s.word(11)}`,
    `#${s.hex(6)} rgb(1, 2, 3)`,
    `com.example.application.service.impl.UserPasswordEncoderFactory2`,
    `getUserNameFromAccessTokenOrThrowUnauthorizedException2`,
    `AbstractSingletonProxyFactoryBean1024x768TestCaseForTheOldBrowser`,
    `test_user_can_reset_password_with_token_after_24_hours`,
    `TheQuickBrownFoxJumpsOverTheLazyDog-and-runs-away-2024`,
    `x86_64-unknown-linux-gnu-gcc-13.2.0-build-20240501`,
    "convertBase64ToUint8Array(data) and convertUint8ArrayToBase64(bytes)",
    `550e8400-e29b-41d4-a716-446655440000`,
    `v1.2.3-0.20240102150405-${s.hex(12)}`,
  ]
}

function data(s: SecretSource): string[] {
  const sri = (bytes: number) => s.base64(bytes)
  return [
    `"integrity": "sha512-${sri(64)}"`,
    `"integrity": "sha1-${sri(20)}"`,
    `resolved "https://registry.yarnpkg.com/a/-/a-1.0.0.tgz#${s.hex(40)}"\n  integrity sha512-${sri(64)}`,
    `github.com/a/b v1.2.3 h1:${sri(32)}`,
    `checksum = "${s.hex(64)}"`,
    `resolution: {integrity: sha512-${sri(64)}}`,
    `{file = "a-1.0.tar.gz", hash = "sha256:${s.hex(64)}"},`,
    `<script src="a.js" integrity="sha384-${sri(48)}" crossorigin></script>`,
    `hash = "sha256-${sri(32)}";`,
    `data:image/png;base64,iVBORw0KGgo${sri(300)}`,
    `<img src="data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7">`,
    `url(data:font/woff2;base64,d09GMgABAAAA${sri(900)})`,
    `-----BEGIN CERTIFICATE-----\n${sri(600).replace(/.{64}/g, "$&\n")}\n-----END CERTIFICATE-----`,
    `-----BEGIN PUBLIC KEY-----\n${sri(96).replace(/.{64}/g, "$&\n")}\n-----END PUBLIC KEY-----`,
    `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI${s.word(43)} jane@host`,
    `ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQ${s.word(340)} jane@host`,
    `SHA256:${s.word(43)} jane@host (ED25519)`,
    `//# sourceMappingURL=app.js.map`,
    `"mappings": "AAAA,SAASA,GAAG,CAACC,KAAK,EAAEC,IAAI,CAAC;AACvB,OAAO,CAACC,GAAG,CAAC"`,
    `iVBORw0KGgoAAAANSUhEUg${sri(600)}`,
    `JVBERi0xLjQKJ${sri(900).replace(/.{76}/g, "$&\n")}`,
    `00000000  7f 45 4c 46 02 01 01 00  00 00 00 00 00 00 00 00  |.ELF............|`,
    `M 100 100 L 300.5 100.25 L 200 300 z M10.2,20.4c1.1,2.2,3.3,4.4,5.5,6.6`,
    `age1${s.small(58)}`,
    `"nonce": 17, "difficulty": "0x${s.hex(8)}"`,
  ]
}

function logs(s: SecretSource): string[] {
  return [
    `2024-05-01T10:00:07.123Z INFO request ${s.uuid()} GET /login 200 12ms`,
    `[12:00:01] Starting 'build:production' with 8 workers`,
    `Downloaded 1234567 bytes from https://cdn.example.org/npm/react@18.2.0/umd/react.production.min.js`,
    `npm warn deprecated inflight@1.0.6: This module is not supported`,
    `    at Object.<anonymous> (/app/src/password/reset-token.test.ts:12:34)`,
    `    at processTicksAndRejections (node:internal/process/task_queues:95:5)`,
    `Error: connect ECONNREFUSED 127.0.0.1:5432`,
    `PID 1234 exited with code 0 after 00:01:23.456`,
    `layer sha256:${s.hex(64)}: Pulling fs layer`,
    `jane@host:~/work/project$ ls -la`,
    `drwxr-xr-x  5 jane jane 4096 May  1 10:00 node_modules`,
    `root:x:0:0:root:/root:/bin/bash`,
    `jane:!:19700:0:99999:7:::`,
    `daemon:*:19700:0:99999:7:::`,
    `Accepted publickey for jane from 10.0.0.1 port 50022 ssh2: ED25519 SHA256:${s.word(43)}`,
    `{"level":"info","time":1714557600000,"pid":1,"hostname":"web-0","msg":"token refreshed"}`,
    `Test Files  12 passed (12)\n     Tests  340 passed (340)`,
    `src/server/share/mask/secrets/named-value.ts:120:  const placeholder =`,
  ]
}
