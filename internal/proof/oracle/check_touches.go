package oracle

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"
)

// ledger is what the ledger says of a task's entities, added up while it is
// read: a task may have millions.
type ledger struct {
	inside, twice, outside int64 // entities
	firstTwice, firstOut   int64
	at                     int // of the ranges
}

// checkedSet returns ranges in order and without overlaps, and their size.
func checkedSet(set []Range) (out []Range, size int64) {
	set = slices.Clone(set)
	slices.SortFunc(set, func(a, b Range) int { return cmp.Compare(a.First, b.First) })
	for _, r := range set {
		if n := len(out); n > 0 && r.First <= out[n-1].Past {
			out[n-1].Past = max(out[n-1].Past, r.Past)
		} else if r.Past > r.First {
			out = append(out, r)
		}
	}
	for _, r := range out {
		size += r.Past - r.First
	}
	return out, size
}

// add takes the next entity, in rising order, and how often it was touched.
func (l *ledger) add(set []Range, entity, times int64) {
	for l.at < len(set) && entity >= set[l.at].Past {
		l.at++
	}
	if l.at == len(set) || entity < set[l.at].First {
		if l.outside++; l.outside == 1 {
			l.firstOut = entity
		}
	} else {
		l.inside++
	}
	if times > 1 {
		if l.twice++; l.twice == 1 {
			l.firstTwice = entity
		}
	}
}

// loadLedger reads the entities of a page's tasks. The sets are needed for it,
// so it reads them too.
func (c *checker) loadLedger(ctx context.Context, page []any, tasks map[string]*Task) error {
	if err := c.loadSets(ctx, page, tasks); err != nil {
		return err
	}
	for _, t := range tasks {
		t.Set, t.size = checkedSet(t.Set)
	}
	return c.each(ctx, "SELECT task, entity, count(*) FROM {s}oracle_touch WHERE task"+between+"GROUP BY task, entity ORDER BY task, entity", page,
		func(rows *sql.Rows) error {
			var (
				id            string
				entity, times int64
			)
			if err := rows.Scan(&id, &entity, &times); err != nil {
				return err
			}
			if t := tasks[id]; t != nil {
				t.ledger.add(t.Set, entity, times)
			}
			return nil
		})
}

// checkSet checks I1: a completed task has touched each entity of its set exactly
// once, any other at most once, and none has touched anything else.
func (c *checker) checkSet(t *Task) {
	l := &t.ledger
	if t.preview() {
		return // see checkPreview
	}
	if l.twice > 0 {
		c.found("I1", t.ID, "%d entities touched more than once, %d among them", l.twice, l.firstTwice)
	}
	switch {
	case l.outside > 0 && !t.Declared:
		c.found("I1", t.ID, "touched %d entities, and nobody has declared a set", l.outside)
	case l.outside > 0:
		c.found("I1", t.ID, "touched %d entities that are not of its set, %d among them", l.outside, l.firstOut)
	}
	r, deleted := t.last()
	if t.Declared && !deleted && r.Status == completed && r.Partial == 0 && l.inside != t.size {
		c.found("I1", t.ID, "completed with %d of %d entities touched", l.inside, t.size)
	}
}

// checkTouches checks I5 and I6 for the ledger: each touch belongs to the
// checkpoint that was committed with it, of the fence under which it was made;
// each checkpoint counts what it touched. It also checks I4 for the cursor.
func (c *checker) checkTouches(t *Task) {
	ledger := make(map[*Change]int64)
	committed := newCommits(t)
	for i := range t.Touches {
		b := &t.Touches[i]
		c.checkHolder(t, b, committed.claims)
		h := c.committedWith(committed, b)
		switch {
		case h == nil:
			c.found("I6", t.ID, "%d touches from %d under fence %d and checkpoint_seq %d were committed without a checkpoint", b.N, b.First, b.Fence, b.Seq)
		case h.Old.Seq != b.Seq || h.Old.Fence != b.Fence:
			c.found("I6", t.ID, "%d touches from %d under fence %d and checkpoint_seq %d were committed with the checkpoint %d of fence %d",
				b.N, b.First, b.Fence, b.Seq, h.Old.Seq, h.Old.Fence)
		default:
			ledger[h] += b.N
		}
	}
	c.report.Counts.Batches += int64(len(ledger))
	// Where the cursor is known, checkCursor checks each entity instead: items
	// may be processed without a touch.
	if t.Declared && t.Facts == nil && !t.preview() {
		for _, h := range t.Changes {
			if n := h.New.processed() - h.Old.processed(); h.Op == "UPDATE" && h.checkpoint() && n != ledger[h] {
				c.found("I6", t.ID, "the checkpoint %d counts %d items and was committed with %d touches", h.Old.Seq, n, ledger[h])
			}
		}
	}
	if t.Facts != nil && !t.Facts.ascend() {
		return // checkCursor knows their order
	}
	order := slices.Clone(t.Touches)
	slices.SortStableFunc(order, func(a, b Touches) int { return cmp.Compare(a.Seq, b.Seq) })
	anew := func(a, b *Touches) bool { // between the two it began for another spec, or another pass
		return slices.ContainsFunc(t.Changes, func(h *Change) bool {
			return (h.coalesced() || h.Old.Round < h.New.Round) && a.Seq < h.New.Seq && h.New.Seq <= b.Seq
		})
	}
	for i := 1; i < len(order); i++ {
		if a, b := &order[i-1], &order[i]; a.Seq < b.Seq && b.First <= a.Last && !anew(a, b) {
			c.found("I4", t.ID, "the cursor goes back: %d under checkpoint_seq %d, then %d under %d", a.Last, a.Seq, b.First, b.Seq)
		}
	}
}

// checkHolder checks I5: whoever touches holds the task, and no claim has been
// committed since its own.
func (c *checker) checkHolder(t *Task, b *Touches, claims []*Change) {
	if c.history == nil && !strings.HasPrefix(b.Holder, b.Worker+"-") {
		c.found("I5", t.ID, "worker %s touched %d entities from %d while the task was held by %q", b.Worker, b.N, b.First, b.Holder)
	}
	for _, h := range claims {
		if h.New.Fence > b.Fence && c.saw(b, h) {
			c.found("I5", t.ID, "%d touches from %d under fence %d, after fence %d was committed", b.N, b.First, b.Fence, h.New.Fence)
			return
		}
	}
}

// commits are a task's changes, made ready to be looked up for each batch.
type commits struct {
	changes     []*Change // in the order of their ids
	checkpoints map[int64][]*Change
	claims      []*Change
}

func newCommits(t *Task) *commits {
	k := &commits{changes: t.Changes, checkpoints: make(map[int64][]*Change)}
	for _, h := range t.Changes {
		if h.checkpoint() {
			k.checkpoints[h.Tx] = append(k.checkpoints[h.Tx], h)
		}
		if h.claim() {
			k.claims = append(k.claims, h)
		}
	}
	return k
}

// committedWith returns the checkpoint in whose transaction touches were made.
// On PostgreSQL and in a History it has the transaction's id. On SQLite, where one writes at a
// time, it is the next change of the task.
func (c *checker) committedWith(k *commits, b *Touches) *Change {
	if c.history == nil && c.o.dialect == SQLite {
		i, _ := slices.BinarySearchFunc(k.changes, number(b.Seen)+1, func(h *Change, id int64) int { return cmp.Compare(h.ID, id) })
		if i < len(k.changes) && k.changes[i].checkpoint() {
			return k.changes[i]
		}
		return nil
	}
	of := k.checkpoints[b.Tx]
	if i := slices.IndexFunc(of, func(h *Change) bool { return h.Old.Seq == b.Seq }); i >= 0 {
		return of[i]
	}
	if len(of) > 0 {
		return of[0]
	}
	return nil
}

// saw reports whether a change had been committed when touches were made.
func (c *checker) saw(b *Touches, h *Change) bool {
	if c.history != nil {
		return h.Tx < b.Tx
	}
	if c.history == nil && c.o.dialect == SQLite {
		return h.ID <= number(b.Seen)
	}
	return visible(b.Seen, h.Tx)
}

// visible reports whether a transaction that committed had done so before a
// PostgreSQL snapshot xmin:xmax:list of those under way.
func visible(snapshot string, txid int64) bool {
	parts := strings.Split(snapshot, ":")
	if len(parts) != 3 {
		return false
	}
	return txid < number(parts[1]) && !slices.Contains(strings.Split(parts[2], ","), strconv.FormatInt(txid, 10))
}

// number reads a number that the oracle itself has written.
func number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// checkCounters checks I1 for the entities: each counter is the number of
// touches, whoever made them.
func (c *checker) checkCounters(ctx context.Context) error {
	err := c.each(ctx, "SELECT count(*) FROM {s}oracle_entity", nil, func(rows *sql.Rows) error {
		return rows.Scan(&c.report.Counts.Entities)
	})
	if err != nil {
		return err
	}
	return c.each(ctx, `SELECT id, CAST(sum(counter) AS bigint), CAST(sum(touches) AS bigint) FROM (
  SELECT id, counter, 0 AS touches FROM {s}oracle_entity
  UNION ALL SELECT entity, 0, count(*) FROM {s}oracle_touch GROUP BY entity
) e GROUP BY id HAVING sum(counter) <> sum(touches) ORDER BY id LIMIT 20`, nil, func(rows *sql.Rows) error {
		var id, counter, times int64
		if err := rows.Scan(&id, &counter, &times); err != nil {
			return err
		}
		c.found("I1", "", "the counter of entity %d is %d, and the ledger has %d touches", id, counter, times)
		return nil
	})
}
