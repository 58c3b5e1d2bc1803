package taskotel

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// A series is a counter with its attributes, which are made once. It is safe for concurrent use.
type series struct {
	n     atomic.Int64
	attrs []metric.ObserveOption
}

func (s *series) add(n int64) { s.n.Add(n) }

// observed returns attributes as an option of an observation.
func observed(attrs ...attribute.KeyValue) []metric.ObserveOption {
	return []metric.ObserveOption{metric.WithAttributeSet(attribute.NewSet(attrs...))}
}

// recorded returns attributes as an option of a recording.
func recorded(attrs ...attribute.KeyValue) []metric.RecordOption {
	return []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(attrs...))}
}

// family returns a series for each value of a label.
func family(key attribute.Key, values []string, attrs ...attribute.KeyValue) []series {
	all := make([]series, len(values))
	for i, v := range values {
		all[i].attrs = observed(append([]attribute.KeyValue{key.String(v)}, attrs...)...)
	}
	return all
}

// A table has a row for each value of an attribute that it has seen, up to valuesMost, and one for all others. Rows are made when
// a value is first seen. It is safe for concurrent use, and reading it takes no lock.
type table[Row any] struct {
	make func(value string) *Row

	mu    sync.Mutex // of those who add a row
	rows  atomic.Pointer[map[string]*Row]
	names []string // values that have no row of their own, some of them
}

// namesMost is how many values without a row of their own are kept by name.
const namesMost = 10

// beyond returns values that have no row of their own, at most namesMost.
func (t *table[Row]) beyond() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.names)
}

// row returns the row of a value.
func (t *table[Row]) row(value string) *Row {
	if r, ok := t.all()[value]; ok {
		return r
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	rows := t.all()
	if len(rows) >= valuesMost {
		if len(t.names) < namesMost && !slices.Contains(t.names, value) {
			t.names = append(t.names, value)
		}
		value = Other
	}
	if r, ok := rows[value]; ok {
		return r
	}
	r, next := t.make(value), maps.Clone(rows)
	if next == nil {
		next = make(map[string]*Row)
	}
	next[value] = r
	t.rows.Store(&next)
	return r
}

// all returns the rows by value. The map is not modified.
func (t *table[Row]) all() map[string]*Row {
	if rows := t.rows.Load(); rows != nil {
		return *rows
	}
	return nil
}

// kindRow is what is counted of a kind. The counters are in the order of their labels' values.
type kindRow struct {
	submitted, ended, attempts, processed []series
	run, batch                            []metric.RecordOption

	submitSpan, runSpan, batchSpan string // names of spans
}

func newKindRow(kind string) *kindRow {
	of := keyKind.String(kind)
	return &kindRow{
		submitted: family(keyOutcome, results, of), ended: family(keyOutcome, ends, of), attempts: family(keyOutcome, attempts, of),
		processed: family(keyOutcome, processed, of), run: recorded(of), batch: recorded(of),
		submitSpan: "submit " + kind, runSpan: "run " + kind, batchSpan: "batch " + kind,
	}
}

// queueRow is what is counted of a queue.
type queueRow struct {
	ended series
	wait  []metric.RecordOption
}

func newQueueRow(queue string) *queueRow {
	of := keyQueue.String(queue)
	r := &queueRow{wait: recorded(of)}
	r.ended.attrs = observed(of)
	return r
}
