/** A way to a server that can be cut: whoever calls over it meets what a crash or a broken network is like. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

export class Wire {
  readonly #sockets = new Set<Socket>();

  private constructor(private readonly server: Server) {}

  static async to(url: string): Promise<Wire> {
    const { hostname: host, port } = new URL(url);
    const server = createServer();
    const wire = new Wire(server);
    server.on('connection', (near) => {
      const far = connect({ host, port: Number(port) });
      for (const socket of [near, far]) {
        wire.#sockets.add(socket);
        socket
          .on('error', () => {})
          .on('close', () => {
            near.destroy();
            far.destroy();
          });
      }
      near.pipe(far).pipe(near);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return wire;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** For good: what comes now is refused. */
  cut(): void {
    this.server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}
