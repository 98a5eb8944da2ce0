import { readFile, writeFile } from 'node:fs/promises';
import { playTutorial } from '../support/tutorial/play-tutorial.ts';
import { listTutorials, openTutorials } from '../support/tutorial/tutorials.ts';

const [pattern = ''] = process.argv.slice(2);
const tutorials = await openTutorials();
for (const path of (await listTutorials()).filter((one) => one.includes(pattern))) {
  const shell = await tutorials.openShell();
  await writeFile(path, await playTutorial(await readFile(path, 'utf8'), shell));
  await shell.close();
}
await tutorials.close();
