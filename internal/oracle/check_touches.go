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

// note takes the next entity, in rising order, and how often it was touched.
func (l *ledger) note(set []Range, entity, times int64) {
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
func (c *checker) loadLedger(ctx context.Context, page []any, tasks map[string]*task) error {
	if err := c.loadSets(ctx, page, tasks); err != nil {
		return err
	}
	for _, t := range tasks {
		t.set, t.size = checkedSet(t.set)
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
				t.ledger.note(t.set, entity, times)
			}
			return nil
		})
}

// checkSet holds I1: a completed task has touched each entity of its set exactly
// once, any other at most once, and none has touched anything else.
func (c *checker) checkSet(t *task) {
	l := &t.ledger
	if l.twice > 0 {
		c.found("I1", t.id, "%d entities touched more than once, %d among them", l.twice, l.firstTwice)
	}
	switch {
	case l.outside > 0 && !t.declared:
		c.found("I1", t.id, "touched %d entities, and nobody has declared a set", l.outside)
	case l.outside > 0:
		c.found("I1", t.id, "touched %d entities that are not of its set, %d among them", l.outside, l.firstOut)
	}
	r, deleted := t.last()
	if t.declared && !deleted && r.status == completed && r.control != stop && l.inside != t.size {
		c.found("I1", t.id, "completed with %d of %d entities touched", l.inside, t.size)
	}
}

// checkTouches holds I5 and I6 for the ledger: each touch belongs to the
// checkpoint that was committed with it, of the fence under which it was made;
// each checkpoint counts what it touched. It also holds I4 for the cursor.
func (c *checker) checkTouches(t *task) {
	ledger := make(map[*change]int64)
	committed := newCommits(t)
	for i := range t.touches {
		b := &t.touches[i]
		c.checkHolder(t, b, committed.claims)
		h := c.committedWith(committed, b)
		switch {
		case h == nil:
			c.found("I6", t.id, "%d touches from %d under fence %d and checkpoint_seq %d were committed without a checkpoint", b.n, b.first, b.fence, b.seq)
		case h.old.seq != b.seq || h.old.fence != b.fence:
			c.found("I6", t.id, "%d touches from %d under fence %d and checkpoint_seq %d were committed with the checkpoint %d of fence %d",
				b.n, b.first, b.fence, b.seq, h.old.seq, h.old.fence)
		default:
			ledger[h] += b.n
		}
	}
	c.report.Counts.Batches += int64(len(ledger))
	if t.declared {
		for _, h := range t.changes {
			if n := h.new.dealt() - h.old.dealt(); h.checkpoint() && n != ledger[h] {
				c.found("I6", t.id, "the checkpoint %d counts %d items and was committed with %d touches", h.old.seq, n, ledger[h])
			}
		}
	}
	order := slices.Clone(t.touches)
	slices.SortStableFunc(order, func(a, b touches) int { return cmp.Compare(a.seq, b.seq) })
	for i := 1; i < len(order); i++ {
		if a, b := order[i-1], order[i]; a.seq < b.seq && b.first <= a.last {
			c.found("I4", t.id, "the cursor goes back: %d under checkpoint_seq %d, then %d under %d", a.last, a.seq, b.first, b.seq)
		}
	}
}

// checkHolder holds I5: whoever touches holds the task, and no claim has been
// committed since its own.
func (c *checker) checkHolder(t *task, b *touches, claims []*change) {
	if !strings.HasPrefix(b.holder, b.worker+"-") {
		c.found("I5", t.id, "worker %s touched %d entities from %d while the task was held by %q", b.worker, b.n, b.first, b.holder)
	}
	for _, h := range claims {
		if h.new.fence > b.fence && c.saw(b, h) {
			c.found("I5", t.id, "%d touches from %d under fence %d, after fence %d was committed", b.n, b.first, b.fence, h.new.fence)
			return
		}
	}
}

// commits are a task's changes, made ready to be looked up for each batch.
type commits struct {
	changes     []*change // in the order of their ids
	checkpoints map[int64][]*change
	claims      []*change
}

func newCommits(t *task) *commits {
	k := &commits{changes: t.changes, checkpoints: make(map[int64][]*change)}
	for _, h := range t.changes {
		if h.checkpoint() {
			k.checkpoints[h.txid] = append(k.checkpoints[h.txid], h)
		}
		if h.claim() {
			k.claims = append(k.claims, h)
		}
	}
	return k
}

// committedWith returns the checkpoint in whose transaction touches were made.
// On PostgreSQL it has the transaction's id. On SQLite, where one writes at a
// time, it is the next change of the task.
func (c *checker) committedWith(k *commits, b *touches) *change {
	if c.o.dialect == SQLite {
		i, _ := slices.BinarySearchFunc(k.changes, number(b.seen)+1, func(h *change, id int64) int { return cmp.Compare(h.id, id) })
		if i < len(k.changes) && k.changes[i].checkpoint() {
			return k.changes[i]
		}
		return nil
	}
	of := k.checkpoints[b.txid]
	if i := slices.IndexFunc(of, func(h *change) bool { return h.old.seq == b.seq }); i >= 0 {
		return of[i]
	}
	if len(of) > 0 {
		return of[0]
	}
	return nil
}

// saw reports whether a change had been committed when touches were made.
func (c *checker) saw(b *touches, h *change) bool {
	if c.o.dialect == SQLite {
		return h.id <= number(b.seen)
	}
	return visible(b.seen, h.txid)
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

// checkCounters holds I1 for the entities: each counter is the number of
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
