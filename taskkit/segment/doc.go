// Package segment divides the rows of a table into segments by the values of one
// column, so that many workers can process one table side by side.
//
// A division defines the segments: [Numeric], [Strings], [UUID] and [Time] compute their
// boundaries, [Explicit] lists its segments, [Even] samples the table for
// boundaries with about equal numbers of rows between them, and [Predicates] divides by
// conditions in SQL. Each makes a [Plan], which computes its segments and stores none of them: a plan of [MaxSegments]
// takes no more memory than one of two. A [Segment] is a small value that encodes to
// JSON and builds its predicate for SQL and for ent.
//
// # Coverage
//
// Every row must be in exactly one segment. [Plan.Verify] proves that from the
// segments themselves, and not from the parameters of the division. Call it
// before a plan is used: it returns a [CoverageError] with the values of the gap or
// of the overlap. Of conditions, [Predicates.Prove] proves it by counting the rows.
//
// An interval includes its lower end and excludes its upper end. The first interval
// of a plan is open below and the last is open above, so that later and unexpected rows
// are in a segment too. NULL is in the segment that is open below, unless another segment has it: see [Null] and [Segment.OrNull].
//
// Prefixes, exact values and ranges with two ends leave rows out. They need the field
// Partial, which states that the remaining rows are not meant.
//
// # How values are compared
//
// Both databases compare in the order in which this package does:
//
//   - Text is compared as bytes, whatever the collation of the column or of the
//     database: COLLATE "C" on PostgreSQL and COLLATE BINARY on SQLite. The column must
//     have a text type. PostgreSQL refuses another one. SQLite compares a column of
//     numbers by number, so that a row could be in two segments. With a [Rule] the case of
//     the letters A to Z, and white space, are ignored.
//   - Numbers are compared as numbers. The boundaries are integers of any size, the
//     column may have fractions. SQLite has integers of 64 bits: Verify refuses
//     boundaries outside -2^63 to 2^63-1 there.
//   - UUIDs are of the type uuid on PostgreSQL, and text in lower case with hyphens on
//     SQLite, as ent stores them.
//   - Times are exact to the microsecond, from the year 1 to 9999. On SQLite they are text
//     that begins like "2006-01-02 15:04:05", as ent stores them with either driver, and
//     are compared as if all were UTC. Store them in UTC.
//
// A stored number, UUID or time of another form is in exactly one segment all the same,
// but perhaps not in the expected one.
//
// # Indexes
//
// But for a [Rule] and for [Predicates], every predicate is a range or an equality of the bare
// column, which a B-tree index on the column serves:
//
//   - Numbers, UUIDs and times: any index that begins with the column. On PostgreSQL
//     a boundary beyond 64 bits needs a column of type numeric for it.
//   - Text, also prefixes: on PostgreSQL an index with the collation "C", which is
//     CREATE INDEX ON t (c COLLATE "C"), or a column that was declared with it; an index with
//     another collation does not serve, even if that is the same order under another name.
//     On SQLite any index, unless it or its column has a collation other than BINARY.
//   - NULL: the same index. A segment with values and NULL reads it twice; of text on
//     SQLite, it scans the table. Give NULL its own segment there if that matters.
package segment
