/** What the service tells about itself: metrics for Prometheus, spans for OpenTelemetry. */
export { Metrics, type MetricsOptions } from './metrics.js';
export { type RequestSpan, registeredSpans, type Spans } from './spans.js';
