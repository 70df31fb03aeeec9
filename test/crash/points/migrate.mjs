/** Opens a data folder of the first schema and is killed before the nth statement of its migrations. */
import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { openDatabase } from '../../../dist/embedded/store/folder/database.js';
import { MIGRATIONS } from '../../../dist/embedded/store/folder/schema.js';

const Database = createRequire(import.meta.url)('better-sqlite3');
const [dataDir, nth] = process.argv.slice(2);

mkdirSync(dataDir, { recursive: true });
const old = new Database(join(dataDir, 'perdure.db'));
old.exec(MIGRATIONS[0]);
old.pragma('application_id = 0x70657264');
old.pragma('user_version = 1');
old.pragma('journal_mode = WAL');
old.close();

let count = 0;
const { exec } = Database.prototype;
Database.prototype.exec = function (text) {
  // No statement of a migration has a semicolon within it.
  for (const statement of text.replaceAll(/--.*$/gm, '').split(';')) {
    if (statement.trim() === '') continue;
    if (++count === Number(nth)) process.kill(process.pid, 'SIGKILL');
    exec.call(this, statement);
  }
  return this;
};
openDatabase(dataDir).close();
