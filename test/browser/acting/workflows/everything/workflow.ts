/** Every kind of field that a form is made of. */
import { workflow, z } from 'perdure';

const Address = z
  .object({ street: z.string().min(1), zip: z.string().optional() })
  .meta({ title: 'Address' });

interface Folder {
  name: string;
  inside: Folder[];
}
const Folder: z.ZodType<Folder> = z.object({
  name: z.string().min(1),
  get inside() {
    return z.array(Folder);
  },
});

export default workflow({
  name: 'everything',
  description: 'Has an input of every kind',
  inputSchema: z.object({
    title: z.string().min(1).describe('What it is called'),
    pages: z.int().min(1).max(500),
    price: z.number().default(9.5),
    isUrgent: z.boolean(),
    colour: z.enum(['red', 'green', 'blue']).default('green'),
    size: z.enum(['small', 'large']),
    mail: z.email().optional(),
    due: z.iso.date().optional(),
    note: z.string().nullable(),
    address: Address,
    billing: Address.optional(),
    tags: z.array(z.string()),
    range: z.tuple([z.number(), z.number()]),
    limits: z.record(z.string(), z.int()),
    payment: z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('card'), number: z.string().min(4) }),
      z.object({ kind: z.literal('invoice'), days: z.int().positive() }),
    ]),
    folder: Folder,
    extra: z.any().optional(),
  }),
  fn: async (input) => input,
});
