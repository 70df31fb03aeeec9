import { expect, it } from 'vitest';
import { DataFolderError } from '../../embedded/store/folder/data-folder-error.js';
import { databaseFailure, nodeFinding, speedFinding, sqliteFinding } from './machine.js';

const PROBE = { sqliteVersion: '3.53.2', synchronous: 2, commits: 40, medianMs: 0.4, slowestMs: 3 };
const EXT4 = 0xef53;

it.each([
  ['18.20.0', 'fail'],
  ['20.17.9', 'fail'],
  ['20.18.0', 'ok'],
  ['24.0.1', 'ok'],
])('Node %s: %s', (version, status) => {
  expect(nodeFinding(version)).toMatchObject({ status });
});

it('a mode that would lose commits in a power cut fails', () => {
  expect(sqliteFinding(PROBE)).toMatchObject({ status: 'ok', message: '3.53.2, synchronous=FULL' });
  expect(sqliteFinding({ ...PROBE, synchronous: 1 })).toMatchObject({
    status: 'fail',
    remedy: expect.stringContaining('better-sqlite3'),
  });
});

it('a full disk is none of the database, and is told of the folder that was named', () => {
  const full = new DataFolderError(
    'the disk of the data folder /data/.trial is full (database or disk is full): make space and start again; nothing was lost',
  );
  expect(databaseFailure(full, '/data/.trial', '/data/mine')).toEqual({
    ...{ name: 'synced write', status: 'fail' },
    message: 'the disk of the data folder /data/mine is full (database or disk is full)',
    remedy: expect.stringMatching(/^Make space/),
  });
  const old = new DataFolderError('SQLite 3.40.0 has a known corruption bug: reinstall better-sqlite3');
  expect(databaseFailure(old, '/data/.trial', '/data/mine')).toMatchObject({ name: 'SQLite' });
  const unbuilt = new Error('Could not locate the bindings file.\nTried: …');
  expect(databaseFailure(unbuilt, '/data/.trial', '/data/mine')).toMatchObject({
    ...{ name: 'SQLite', message: 'Could not locate the bindings file.' },
    remedy: expect.stringContaining('npm rebuild'),
  });
});

it('a slow disk is warned of, and one that is no disk of this machine', () => {
  expect(speedFinding(PROBE, EXT4)).toMatchObject({ status: 'ok', remedy: null });
  expect(speedFinding({ ...PROBE, medianMs: 40 }, EXT4)).toMatchObject({
    status: 'warn',
    message: expect.stringMatching(/^40\.0 ms/),
    remedy: expect.stringContaining('SSD'),
  });
  if (process.platform !== 'linux') return;
  expect(speedFinding(PROBE, 0x6969)).toMatchObject({
    status: 'warn',
    message: expect.stringContaining('NFS'),
  });
  expect(speedFinding(PROBE, 0x01021994)).toMatchObject({
    status: 'warn',
    message: expect.stringContaining('in memory'),
  });
});
