package segment

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"taskkit.dev/internal/dialect"
)

// Limits of [Even].
const (
	// MaxEven is the largest Count: its boundaries are stored.
	MaxEven = 10_000

	minEvenReads = 2_000
	maxEvenReads = 100_000
	// maxEvenText is the largest number of characters of a boundary: a prefix of a text
	// is a boundary too.
	maxEvenText = 100
)

// Even divides a table into segments with about equal numbers of rows. It samples the
// table for the boundaries, so that a skewed column, such as a name or a creation time,
// makes no segment that is much longer than the others.
//
// The sample is bounded whatever the size of the table. On PostgreSQL it is about Reads random
// pages of the table, and on SQLite Reads rows at equal distances of rowid, or the whole table if
// it is smaller. A segment has about equal shares of the rows, with a standard deviation of
// about sqrt(Count/Reads) of its own share; where values and pages go together, or rowids have
// long gaps, it is more. There are fewer segments than Count if the table has few different
// values, since equal values are in one segment.
type Even struct {
	// Table and Column are SQL, such as "person" and "last_name", and are not escaped:
	// they must not come from a user. The table must not be a view; on SQLite it must have rowids.
	Table, Column string
	Type          Type // of the column
	Count         int  // how many segments are wanted: 1 to MaxEven
	// Reads bounds the sample, at most 100,000. Defaults to 100 for each segment, but at
	// least 2,000.
	Reads int
	// Matching is the rule by which text is compared, as bytes if it is empty.
	Matching Rule
}

// Querier is what Sample needs of a handle: *sql.DB, *sql.Conn and *sql.Tx have it.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Sample reads the table once and returns the segments as they are to be stored: another
// sample has other boundaries. It returns a [ParameterError], or an error of the
// database. An empty table makes one segment of everything.
func (e Even) Sample(ctx context.Context, db Querier) (Explicit, error) {
	if err := e.check(); err != nil {
		return Explicit{}, err
	}
	name, err := dialect.Detect(ctx, db)
	if err != nil {
		return Explicit{}, fmt.Errorf("segment: sample %s: %w", e.Table, err)
	}
	sample := e.postgresSample
	if name == dialect.SQLite {
		sample = e.sqliteSample
	}
	from, err := sample(ctx, db)
	if err != nil {
		return Explicit{}, fmt.Errorf("segment: sample %s: %w", e.Table, err)
	}
	values, err := column[*string](ctx, db, e.quantiles(name, from))
	if err != nil {
		return Explicit{}, fmt.Errorf("segment: sample %s: %w", e.Table, err)
	}
	return e.explicit(values), nil
}

func (e Even) check() error {
	const typ = "Even"
	switch {
	case strings.TrimSpace(e.Table) == "":
		return refuse(typ, "Table", "it is empty: name the table")
	case strings.TrimSpace(e.Column) == "":
		return refuse(typ, "Column", "it is empty: name the column")
	case e.Type != TypeNumber && e.Type != TypeText && e.Type != TypeUUID && e.Type != TypeTime:
		return refuse(typ, "Type", "%q is unknown: it must be number, text, uuid or time", e.Type)
	case e.Matching.problem() != "":
		return refuse(typ, "Matching", "%s", e.Matching.problem())
	case e.Matching != "" && e.Type != TypeText:
		return refuse(typ, "Matching", "the rule %s is for texts, and Type is %s", e.Matching, e.Type)
	case e.Count < 1 || e.Count > MaxEven:
		return refuse(typ, "Count", "it is %d and must be 1 to %d", e.Count, MaxEven)
	case e.Reads < 0 || e.Reads > maxEvenReads:
		return refuse(typ, "Reads", "it is %d and must be 1 to %d, or 0 for the default", e.Reads, maxEvenReads)
	}
	return nil
}

func (e Even) reads() int {
	if e.Reads > 0 {
		return e.Reads
	}
	return min(max(minEvenReads, 100*e.Count), maxEvenReads)
}

// postgresSample returns the SQL of a sample with the column v. TABLESAMPLE SYSTEM reads
// whole pages and nothing of the others, so the percentage bounds the reads.
func (e Even) postgresSample(ctx context.Context, db Querier) (string, error) {
	// A partitioned table has no pages, its partitions have.
	pages, err := column[int64](ctx, db,
		`SELECT COALESCE((SELECT SUM(pg_relation_size(relid)) FROM pg_partition_tree($1::text::regclass)), pg_relation_size($1::text::regclass))::bigint
			/ current_setting('block_size')::bigint`, e.Table)
	if err != nil {
		return "", err
	}
	percent := 100.0
	if n := int64(e.reads()); pages[0] > n {
		percent = 100 * float64(n) / float64(pages[0])
	}
	return fmt.Sprintf("SELECT %s AS v FROM %s TABLESAMPLE SYSTEM (%g)", e.value(dialect.Postgres), e.Table, percent), nil
}

// sqliteSample returns the SQL of a sample with the column v.
func (e Even) sqliteSample(ctx context.Context, db Querier) (string, error) {
	reads := e.reads()
	rows, err := column[int](ctx, db, fmt.Sprintf("SELECT COUNT(*) FROM (SELECT 1 FROM %s LIMIT %d)", e.Table, reads+1))
	if err != nil {
		return "", err
	}
	if rows[0] <= reads {
		return fmt.Sprintf("SELECT %s AS v FROM %s", e.value(dialect.SQLite), e.Table), nil
	}
	// One row of each of many equal ranges of rowid, at a random place, for rows at equal
	// distances could repeat a pattern. The distance can be more than 64 bits: it is real.
	return fmt.Sprintf(`WITH RECURSIVE taskkit_step(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM taskkit_step WHERE i < %[3]d - 1),
		taskkit_ends(low, high) AS MATERIALIZED (SELECT (SELECT MIN(rowid) FROM %[2]s), (SELECT MAX(rowid) FROM %[2]s)),
		taskkit_start(rowid_from) AS MATERIALIZED (SELECT low + CAST((CAST(high AS REAL) - low) / %[3]d * (i + ABS(RANDOM() / 2) / 4611686018427387904.0) AS INTEGER) FROM taskkit_step, taskkit_ends)
		SELECT (SELECT %[1]s FROM %[2]s WHERE rowid >= taskkit_start.rowid_from ORDER BY rowid LIMIT 1) AS v FROM taskkit_start`,
		e.value(dialect.SQLite), e.Table, reads), nil
}

// value is the SQL of the values that are compared.
func (e Even) value(name dialect.Name) string {
	if e.Matching == "" {
		return bare(e.Column)
	}
	return e.Matching.sql(string(name), bare(e.Column))
}

// quantiles returns the statement that sorts a sample and returns the first value of each
// segment but the first, as text. NULL is the lowest value, since the first segment has
// it.
func (e Even) quantiles(name dialect.Name, sample string) string {
	order, result := "v", "CAST(v AS TEXT)"
	switch {
	case e.Type == TypeText:
		order += bytewise(string(name))
	case name == dialect.Postgres && e.Type == TypeNumber:
		result = "FLOOR(v::numeric)::text"
	case name == dialect.Postgres && e.Type == TypeTime:
		result = "CASE WHEN isfinite(v) THEN FLOOR(EXTRACT(EPOCH FROM v) * 1000000.0)::text END"
	case e.Type == TypeNumber:
		result = "CAST(CAST(v AS INTEGER) AS TEXT)"
	}
	return fmt.Sprintf(`SELECT %s FROM (
			SELECT v, ROW_NUMBER() OVER (ORDER BY %s NULLS FIRST) AS r, COUNT(*) OVER () AS n FROM (%s) AS sample
		) AS sorted WHERE r > 1 AND (r - 1) * %[4]d / n > (r - 2) * %[4]d / n ORDER BY r`, result, order, sample, e.Count)
}

// explicit returns the segments between boundaries. It omits NULL, repeated values, and
// values of another form.
func (e Even) explicit(values []*string) Explicit {
	var starts []Value
	for _, text := range values {
		if text == nil {
			continue
		}
		v := e.boundary(*text)
		if v.problem != "" || len(starts) > 0 && compare(starts[len(starts)-1], v) >= 0 {
			continue
		}
		starts = append(starts, v)
	}
	p := boundaries(len(starts), func(i int) Value { return starts[i] })
	out := Explicit{Matching: e.Matching}
	for _, s := range p.All() {
		out.Segments = append(out.Segments, s)
	}
	return out
}

// boundary returns the boundary of a sampled value.
func (e Even) boundary(text string) Value {
	switch e.Type {
	case TypeText:
		if r := []rune(text); len(r) > maxEvenText {
			text = e.Matching.apply(string(r[:maxEvenText]))
		}
	case TypeTime:
		return sampledTime(text)
	case TypeNumber, TypeUUID:
	}
	return parseValue(e.Type, text)
}

// sampledTime reads the time of a sample: microseconds since 1970 on PostgreSQL, and on
// SQLite what a driver stored, whose zone is ignored as in comparisons.
func sampledTime(text string) Value {
	if n := parseValue(TypeNumber, text); n.problem == "" && n.number().IsInt64() {
		return Instant(time.UnixMicro(n.number().Int64()))
	}
	const layout = "2006-01-02 15:04:05"
	end := len(layout)
	if len(text) > end && text[end] == '.' {
		end++
		for end < len(text) && '0' <= text[end] && text[end] <= '9' {
			end++
		}
	}
	t, err := time.Parse(layout, text[:min(end, len(text))])
	if err != nil {
		return Value{typ: TypeTime, problem: err.Error()}
	}
	return Instant(t.Truncate(time.Microsecond))
}

// column returns the values of a statement that selects one column.
func column[T any](ctx context.Context, db Querier, query string, args ...any) (values []T, err error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var v T
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, rows.Err()
}
