// Takes out of package-lock.json what names hosts: `npm run lock` calls it after npm has written it.

import { readFile, writeFile } from "node:fs/promises";

const lock = JSON.parse(await readFile("package-lock.json", "utf8"));
for (const described of Object.values(lock.packages)) {
  delete described.resolved;
  delete described.funding;
}
await writeFile("package-lock.json", `${JSON.stringify(lock, null, 2)}\n`);
