/**
 * Finds what a start names: the workflow in its catalog, by name or alias, and whether the input fits it.
 *
 * Validators are compiled once per catalog object and kept as long as it lives, so an engine answers with the same
 * object until the catalog changes.
 */
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import type { Catalog, CatalogEntry, JsonSchema } from '../core/catalog.js';
import { PerdureError, type ValidationIssue } from '../core/errors.js';
import { MAX_ISSUES } from '../core/limits.js';
import type { Log } from '../core/log.js';
import type { Engine } from '../engine.js';

interface Target {
  workflowType: string;
  inputSchema: JsonSchema | null;
  /** Undefined until the first start; null where there is nothing to check. */
  validate: ValidateFunction | null | undefined;
}

export class StartTargets {
  private readonly byCatalog = new WeakMap<Catalog, Map<string, Target>>();

  constructor(
    private readonly engine: Engine,
    private readonly log: Log,
  ) {}

  /** The workflow type that `name` stands for. @throws CatalogNotAvailableError, UnsupportedWorkflowError, ValidationError */
  async resolve(catalogName: string, name: string, input: unknown): Promise<string> {
    const catalog = await this.engine.catalog(catalogName);
    if (catalog === undefined) {
      throw new PerdureError(
        'CatalogNotAvailableError',
        `No worker has registered the catalog "${catalogName}" yet: start one, or try again when it is up`,
      );
    }
    const target = this.targetsOf(catalog).get(name);
    if (target === undefined) {
      throw new PerdureError(
        'UnsupportedWorkflowError',
        `The catalog "${catalogName}" has no workflow "${name}"`,
      );
    }
    if (target.validate === undefined) target.validate = this.compile(catalogName, target);
    if (target.validate !== null && !target.validate(input)) {
      throw new PerdureError('ValidationError', 'Invalid Payload', {
        issues: (target.validate.errors ?? []).slice(0, MAX_ISSUES).map((error) => toIssue(error, input)),
      });
    }
    return target.workflowType;
  }

  private targetsOf(catalog: Catalog): Map<string, Target> {
    let targets = this.byCatalog.get(catalog);
    if (targets === undefined) {
      targets = indexTargets(catalog.workflows.map(({ entry }) => entry));
      this.byCatalog.set(catalog, targets);
    }
    return targets;
  }

  private compile(catalogName: string, target: Target): ValidateFunction | null {
    if (target.inputSchema === null) return null;
    try {
      const validate = newAjv().compile(target.inputSchema);
      if (!('$async' in validate && validate.$async)) return validate;
      throw new Error('asynchronous schemas cannot be checked at the door');
    } catch (error) {
      // The workflow itself checks its input as well, so a schema that only this check cannot read stops nobody.
      this.log.warn(
        { err: error, catalog: catalogName, workflow: target.workflowType },
        'the input schema of a workflow cannot be compiled; its inputs are checked by its worker only',
      );
      return null;
    }
  }
}

function indexTargets(entries: CatalogEntry[]): Map<string, Target> {
  const targets = new Map<string, Target>();
  const own = new Map<string, Target>();
  for (const { name, aliases, inputSchema } of entries) {
    const target: Target = { workflowType: name, inputSchema, validate: undefined };
    own.set(name, target);
    for (const alias of aliases) targets.set(alias, target);
  }
  // A workflow's own name goes before an alias of another one.
  return new Map([...targets, ...own]);
}

/** One per schema, so that an `$id` used twice cannot clash. References to elsewhere are errors, never fetched. */
function newAjv(): Ajv2020 {
  return new Ajv2020({
    strict: false,
    allErrors: true,
    validateFormats: false,
    logger: false,
    addUsedSchema: false,
  });
}

function toIssue(error: ErrorObject, input: unknown): ValidationIssue {
  const path: (string | number)[] = ['input'];
  let value = input;
  for (const part of error.instancePath.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    path.push(Array.isArray(value) ? Number(key) : key);
    value = (value as Record<string, unknown> | null | undefined)?.[key];
  }
  const missing = error.params.missingProperty ?? error.params.additionalProperty;
  if (typeof missing === 'string') path.push(missing);
  return { path, message: error.message ?? 'does not fit the schema', code: error.keyword };
}
