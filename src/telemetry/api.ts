/**
 * The API package of OpenTelemetry, where it is installed. It is the author's own copy: an SDK registers itself with the
 * copy that it finds, and a second one beside it, of another version, would see nothing of that and say nothing.
 */
/** Only who has it installed has its types, so declarations that are published must not name them. @internal */
type Api = typeof import('@opentelemetry/api');

/** @internal */
export const api: Api | undefined = await import('@opentelemetry/api').catch((error: unknown) => {
  // Nobody wants spans.
  if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') return undefined;
  throw error;
});

/** Whether an SDK takes what the API is told. @internal */
export function hasSdk({ trace, ProxyTracerProvider }: Api): boolean {
  const provider = trace.getTracerProvider();
  if (!(provider instanceof ProxyTracerProvider)) return true;
  return provider.getDelegate() !== new ProxyTracerProvider().getDelegate();
}

/** Where every copy of the API leaves what was registered with it. */
const REGISTERED = Symbol.for('opentelemetry.js.api.1');

/**
 * What is wrong when an SDK is there and its spans would not be: it was registered with a copy of the API that the one
 * found from here cannot work with. Undefined when all is well.
 */
export function unheardSdk(): string | undefined {
  const { trace, version } =
    (globalThis as { [REGISTERED]?: { trace?: unknown; version?: string } })[REGISTERED] ?? {};
  if (trace === undefined || (api && hasSdk(api))) return undefined;
  return `an OpenTelemetry SDK is loaded with @opentelemetry/api ${version}, and perdure finds ${api ? 'another version of it' : 'none'}: no span of perdure is made. Have one version installed; "npm ls @opentelemetry/api" shows what there is`;
}
