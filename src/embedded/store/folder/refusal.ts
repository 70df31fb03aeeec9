/** Why a server would not start on a data folder, found without changing it. */
import { accessSync, constants, existsSync } from 'node:fs';
import { storageFailure } from '../damage.js';
import { databaseFile, requireWhole } from './data-folder.js';
import { DataFolderError } from './data-folder-error.js';
import { connectToSqlite, explainOpening, knownVersion } from './database.js';

/** Undefined where it would, and where one runs there. @throws where there is no SQLite */
export function refusalOf(dataDir: string): string | undefined {
  try {
    requireServable(dataDir);
    return undefined;
  } catch (error) {
    if (storageFailure(error) === 'busy') return undefined;
    const told = explainOpening(error, dataDir);
    if (told instanceof DataFolderError) return told.message;
    throw error;
  }
}

function requireServable(dataDir: string): void {
  const file = databaseFile(dataDir);
  if (existsSync(file)) {
    accessSync(file, constants.W_OK);
    const db = connectToSqlite(file, { readonly: true, timeout: 0 });
    try {
      knownVersion(db, file);
    } finally {
      db.close();
    }
  }
  requireWhole(dataDir);
}
