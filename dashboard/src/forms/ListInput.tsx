/** The items of a list; of a tuple, each with its own schema. */
import { Button, IconButton } from '../components/Button.js';
import type { ListField } from './field.js';
import { useForm } from './form-context.js';
import { startingValue } from './starting-value.js';
import type { Path } from './value.js';

/** Longer lists are edited as JSON: nobody goes through that many fields. */
const MAX_SHOWN = 100;

export function ListInput({ field, path, value }: { field: ListField; path: Path; value: unknown[] }) {
  const { Field, dispatch, root } = useForm();
  const { first, items, minItems, maxItems } = field;
  const next = first[value.length] ?? items;
  const replace = (list: unknown[]) => dispatch({ type: 'value', path, value: list });
  const add = () => next && replace([...value, startingValue({ schema: next, root }) ?? null]);
  return (
    <div className="members">
      {value.slice(0, MAX_SHOWN).map((item, index) => {
        const isFixed = index < Math.min(minItems, first.length);
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: items have nothing else to be told apart by
          <div className="item" key={index}>
            <Field
              schema={first[index] ?? items ?? {}}
              name={`Item ${index + 1}`}
              isRequired
              path={[...path, index]}
              value={item}
              onRemove={isFixed ? undefined : () => replace(value.toSpliced(index, 1))}
            />
            {index > first.length && (
              <IconButton
                icon="up"
                label={`Move item ${index + 1} up`}
                onClick={() => replace(value.with(index, value[index - 1]).with(index - 1, item))}
              />
            )}
          </div>
        );
      })}
      {value.length > MAX_SHOWN && (
        <p className="field-hint">{value.length - MAX_SHOWN} more items: see the JSON.</p>
      )}
      {next && value.length < maxItems && (
        <div>
          <Button icon="plus" onClick={add}>
            Add item
          </Button>
        </div>
      )}
    </div>
  );
}
