// Tables: with numbers to the right, and scrolling sideways by themselves where the screen is narrow.
import type { ReactNode } from "react";
import type { ValueTable } from "../charts/csv";

export interface Column<Row> {
  head: string;
  /** Said on hover over the head. */
  title?: string;
  cell(row: Row): ReactNode;
  /** Exact value, on hover. */
  exact?(row: Row): string;
  text?: boolean;
  /** The word by which rows are sorted when its head is pressed. */
  sort?: string;
}

/** By what rows are sorted, and which way. */
export interface Sorting {
  by: string;
  down: boolean;
  onSort(by: string): void;
}

export function DataTable<Row>(props: {
  label: string;
  columns: Column<Row>[];
  rows: Row[];
  keyOf(row: Row, at: number): string;
  onRow?: (row: Row) => void;
  selected?: (row: Row) => boolean;
  sorting?: Sorting;
}) {
  const { columns, rows, label } = props;
  return (
    <div className="scroll" role="region" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.head} scope="col" className={column.text ? "text" : ""} title={column.title} aria-sort={sortOf(column, props.sorting)}>
                {props.sorting && column.sort !== undefined
                  ? <button type="button" className="sort" onClick={() => props.sorting!.onSort(column.sort!)}>{column.head}<span aria-hidden="true">{props.sorting.by === column.sort ? (props.sorting.down ? " ↓" : " ↑") : ""}</span></button>
                  : column.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={props.keyOf(row, at)} className={props.selected?.(row) ? "selected" : ""} onClick={() => props.onRow?.(row)}>
              {columns.map((column) => (
                <td key={column.head} className={column.text ? "text" : ""} title={column.exact?.(row)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function sortOf<Row>(column: Column<Row>, sorting: Sorting | undefined): "ascending" | "descending" | undefined {
  if (!sorting || column.sort !== sorting.by) return undefined;
  return sorting.down ? "descending" : "ascending";
}

/** Rows beyond this are in the CSV alone. */
const MOST_ROWS = 1000;

/** The values of a chart. */
export function ValueTableView({ table, label }: { table: ValueTable; label: string }) {
  const rows = table.rows.slice(0, MOST_ROWS);
  return (
    <div className="scroll values" role="region" aria-label={`Values: ${label}`} tabIndex={0}>
      <table>
        <thead>
          <tr>{table.head.map((head) => <th key={head} scope="col">{head}</th>)}</tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>{row.map((value, i) => <td key={i}>{value ?? ""}</td>)}</tr>
          ))}
        </tbody>
      </table>
      {table.rows.length > rows.length && <p className="hint">{table.rows.length - rows.length} more rows are in the CSV.</p>}
    </div>
  );
}
