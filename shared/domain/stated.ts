import type * as z from 'zod';

type DeepReadonly<T> = T extends object ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> } : T;

/** The type that a schema states: its parsed values, which nothing changes afterwards. */
export type Stated<Schema extends z.ZodType> = DeepReadonly<z.infer<Schema>>;

/** The fields of a record that a shape names, such as those that it has in every status. */
export function pickFields<Shape extends z.ZodRawShape>(
  shape: Shape,
  record: Stated<z.ZodObject<Shape>>,
): Stated<z.ZodObject<Shape>> {
  const fields = Object.keys(shape).map((name) => [name, record[name as keyof typeof record]]);
  return Object.fromEntries(fields) as Stated<z.ZodObject<Shape>>;
}
