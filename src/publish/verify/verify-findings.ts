/** What a verification found, one by one. */

/** What is wrong. */
export type FindingKind =
  /** `latest.json` is not there or cannot be read. */
  | 'pointer'
  /** A manifest is not the one that was published, or contradicts itself. */
  | 'manifest'
  /** An object that the manifest names is not there. */
  | 'missing'
  /** An object is shorter or longer than it was. */
  | 'size'
  /** An object has other bytes than it had. */
  | 'sha256'
  /** A Parquet file cannot be read. */
  | 'unreadable'
  /** A Parquet file has other columns, types or field ids. */
  | 'columns'
  /** There are more or fewer rows than the manifest says. */
  | 'rows'
  /** Rows stand in a file of another partition. */
  | 'partition'
  /** Smallest, largest or number of nulls of a column are not those of the manifest. */
  | 'statistics'
  /** Rows are not sorted by the key. */
  | 'order'
  /** A key is null or stands in more than one row. */
  | 'key'
  /** The list of deleted rows names rows that there are not. */
  | 'deleted'
  /** The rows are others than those that were published. */
  | 'fingerprint'
  /** `views.sql` is not that of the manifest. */
  | 'views'
  /** The Delta log tells readers something else than the manifest. */
  | 'delta'
  /** An object that nothing refers to. */
  | 'extra'

/** One thing that is not as it should be. */
export interface Finding {
  readonly kind: FindingKind
  /** Null where it is not about one table. */
  readonly table: string | null
  /** Key of the object that is wrong. */
  readonly object: string
  /** One sentence. */
  readonly message: string
}

/** Takes a finding. */
export type Report = (finding: Finding) => void
