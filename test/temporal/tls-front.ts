/** A door with TLS in front of the dev server, which has none: takes only clients that show a certificate. */
import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { createServer, type TLSSocket } from 'node:tls';

export const canMakeCertificates = spawnSync('openssl', ['version']).status === 0;

export interface Certificates {
  ca: string;
  cert: string;
  key: string;
}

/** An authority, and a certificate by it for `perdure.test`, which serves both sides; paths of the files. */
export function makeCertificates(folder: string): Certificates {
  const openssl = (args: string) => execFileSync('openssl', args.split(' '), { cwd: folder, stdio: 'pipe' });
  const newKey = '-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes';
  openssl(`req -x509 ${newKey} -keyout ca.key -out ca.pem -days 2 -subj /CN=authority`);
  openssl(
    `req ${newKey} -keyout own.key -out own.csr -subj /CN=perdure.test -addext subjectAltName=DNS:perdure.test`,
  );
  openssl(
    'x509 -req -in own.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out own.pem -days 2 -copy_extensions copy',
  );
  return { ca: join(folder, 'ca.pem'), cert: join(folder, 'own.pem'), key: join(folder, 'own.key') };
}

export class TlsFront {
  #sockets = new Set<TLSSocket>();
  readonly #server;

  private constructor(targetPort: number, { ca, cert, key }: Certificates) {
    const files = { ca: readFileSync(ca), cert: readFileSync(cert), key: readFileSync(key) };
    this.#server = createServer({ ...files, requestCert: true, ALPNProtocols: ['h2'] }, (socket) => {
      this.#sockets.add(socket);
      const inner = connect(targetPort, '127.0.0.1');
      socket.pipe(inner).pipe(socket);
      const end = () => {
        socket.destroy();
        inner.destroy();
        this.#sockets.delete(socket);
      };
      for (const side of [socket, inner]) side.on('error', end).on('close', end);
    });
  }

  static async start(targetPort: number, certificates: Certificates): Promise<TlsFront> {
    const front = new TlsFront(targetPort, certificates);
    front.#server.listen(0, '127.0.0.1');
    await once(front.#server, 'listening');
    return front;
  }

  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
