import type { Column, Order } from '#dashboard/components/column.ts';

type HeadProps<Row> = {
  readonly columns: readonly Column<Row>[];
  readonly order?: Order;
  readonly onOrder?: (order: Order) => void;
};

type Props<Row> = HeadProps<Row> & {
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string | number;
  readonly rowClass?: (row: Row) => string;
};

export function DataTable<Row>({ columns, rows, keyOf, rowClass, ...order }: Props<Row>) {
  return (
    <table class="table">
      <TableHead columns={columns} {...order} />
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)} class={rowClass?.(row)}>
            <Cells {...{ columns, row }} />
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The headers of all columns; those with `by` are buttons that sort, first ascending. */
export function TableHead<Row>({ columns, order, onOrder }: HeadProps<Row>) {
  return (
    <thead>
      <tr aria-rowindex={1}>
        {columns.map(({ header, by, class: name }, index) => {
          const isSorted = by !== undefined && order?.by === by;
          const direction = order?.isDescending === true ? 'descending' : 'ascending';
          const sort = by === undefined ? undefined : isSorted ? direction : 'none';
          const change = () => onOrder?.({ by: by ?? '', isDescending: isSorted && direction === 'ascending' });
          return (
            <th key={by ?? index} scope="col" class={name} aria-sort={sort}>
              {by === undefined ? (
                header
              ) : (
                <button type="button" class="text-button user-text" onClick={change}>
                  {header}
                  {isSorted && (direction === 'descending' ? ' ↓' : ' ↑')}
                </button>
              )}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

/** The cells of one row. */
export function Cells<Row>({ columns, row }: { readonly columns: readonly Column<Row>[]; readonly row: Row }) {
  return (
    <>
      {columns.map(({ cell, by, class: name }, index) => (
        <td key={by ?? index} class={name}>
          {cell(row)}
        </td>
      ))}
    </>
  );
}
