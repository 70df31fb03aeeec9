/** The version of a worker's code as Temporal's build id. */
import { type CodeVersion, versionFromText, versionText } from '../../core/run/version.js';

export const buildIdOf = (version: CodeVersion): string => versionText(version);

/** A build id of another maker is a version without a name. */
export function versionOfBuild(buildId: string | null | undefined): CodeVersion | undefined {
  return buildId ? versionFromText(buildId) : undefined;
}
