package postgres

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// floors are lower bounds, one for each queue and rank, from which a worker claims. Without them a claim reads the index
// from its beginning, and with it the entries of all tasks that were claimed since the oldest snapshot in the
// database: PostgreSQL keeps those for as long as the snapshot lasts.
//
// They are used only after a claim without them has read many entries more than it took tasks. A bound is an entry of the index
// before which the last claim found nothing that it could take. It is never within
// [settling] of the present, since a transaction that is about to commit may have inserted an earlier task.
//
// Other tasks may still come to be below a bound. None stays unseen for long:
//
//   - A bounded claim that finds fewer tasks than it may take is followed by one without bounds, at once.
//   - Otherwise the bounds are used for floorShare times as long as the last claim without them took, at most floorLongest,
//     from their first use after it. Then a claim is made without them, which sets them anew.
//
// The time is measured by the monotonic clock of the worker, so that no change of the database's clock extends it.
// Floors are in memory and belong to one process with its queues and kinds. Claims of another on the same store begin without.
type floors struct {
	mu      sync.Mutex
	claim   store.Claim // whose they are
	at      map[probe]entry
	version int           // counts the changes
	use     time.Duration // for how long they are used
	until   time.Time     // zero: they have not been used since they were set
	short   bool          // the last bounded claim found fewer tasks than it could take
}

const (
	// settling is how long a transaction that inserts a task may take without its task being passed over.
	settling = 250 * time.Millisecond
	// floorShare bounds the share of the time that claims without bounds take: one in so many.
	floorShare = 20
	// floorLongest is for how long a task below a bound is passed over at most.
	floorLongest = 30 * time.Second
	// readFree and readPerTask say how many entries of the index a claim may read before bounds are used. Without any
	// snapshot it reads those that the claim before it has taken, since only the next reader marks them as removed.
	readFree    = 1000
	readPerTask = 3
)

// probe is one probe of the index by a claim.
type probe struct {
	queue string
	rank  int // its number
}

// entry is an entry of the index, by its order in a probe.
type entry struct {
	due time.Time
	id  uuid.UUID
}

// compare orders entries as a probe reads them.
func (e entry) compare(other entry) int {
	return cmp.Or(e.due.Compare(other.due), bytes.Compare(e.id[:], other.id[:]))
}

// bounds are the floors of one claim.
type bounds struct {
	of      map[probe]entry // empty: a claim without bounds
	version int
}

// bounds returns from where to claim.
func (f *floors) bounds(c store.Claim) bounds {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.at) == 0 || f.short || !f.belong(c) {
		return bounds{version: f.version}
	}
	now := time.Now()
	if f.until.IsZero() {
		f.until = now.Add(f.use)
	}
	if !now.Before(f.until) {
		return bounds{version: f.version}
	}
	return bounds{maps.Clone(f.at), f.version}
}

// none returns that to claim from the beginning.
func (f *floors) none() bounds {
	f.mu.Lock()
	defer f.mu.Unlock()
	return bounds{version: f.version}
}

// belong reports whether the floors are those of the claim's process, queues and kinds.
func (f *floors) belong(c store.Claim) bool {
	return f.claim.Process == c.Process && slices.Equal(f.claim.Queues, c.Queues) &&
		maps.EqualFunc(f.claim.Kinds, c.Kinds, slices.Equal[[]int])
}

// record moves the floors by what a claim from b has taken. Those that another claim has changed meanwhile stay.
func (f *floors) record(c store.Claim, b bounds, r taken) {
	f.mu.Lock()
	defer f.mu.Unlock()
	bounded := len(b.of) > 0
	if bounded && !r.full(c) {
		f.short = true
		return
	}
	if b.version != f.version || !bounded && f.at == nil && !r.many() {
		return
	}
	f.version++
	if bounded {
		f.raise(c, r)
		return
	}
	f.short, f.until, f.at = false, time.Time{}, nil
	if !r.many() {
		return
	}
	f.use = min(floorShare*r.took, floorLongest)
	f.at = make(map[probe]entry)
	f.claim = store.Claim{Process: c.Process, Queues: slices.Clone(c.Queues), Kinds: make(map[string][]int)}
	for kind, revisions := range c.Kinds {
		f.claim.Kinds[kind] = slices.Clone(revisions)
	}
	f.raise(c, r)
}

// many reports whether the claim has read so many entries of the index that bounds help.
func (r taken) many() bool { return r.read > readFree+readPerTask*int64(len(r.Tasks)) }

// raise sets the floors of the probes that a claim has made. Those of the ranks before that of the last task were read to
// their end, unless a queue is paused, which is not known by name; at its rank, the others were read up to the last task.
func (f *floors) raise(c store.Claim, r taken) {
	recent := entry{due: r.at.Add(-settling)}
	raise := func(p probe, to entry) {
		if to.compare(recent) > 0 {
			to = recent
		}
		if to.compare(f.at[p]) > 0 {
			f.at[p] = to
		}
	}
	for _, t := range r.Tasks {
		o := r.orders[t.ID]
		raise(probe{t.Queue, o.number}, entry{o.due, t.ID})
	}
	if r.Paused {
		return
	}
	ranks := lifecycle.Ranks(c.TriedFirst)
	if r.full(c) {
		ranks = ranks[:r.orders[r.Tasks[len(r.Tasks)-1].ID].rank]
	}
	for _, rank := range ranks {
		for _, queue := range c.Queues {
			raise(probe{queue, rank.Number}, recent)
		}
	}
}

// args are the bounds as the parameters of floorTable.
func (b bounds) args() []any {
	var (
		n      = len(b.of)
		queues = make([]string, 0, n)
		ranks  = make([]int64, 0, n)
		dues   = make([]string, 0, n)
		ids    = make([]string, 0, n)
	)
	for p, at := range b.of {
		queues, ranks = append(queues, p.queue), append(ranks, int64(p.rank))
		dues, ids = append(dues, at.due.UTC().Format("2006-01-02 15:04:05.999999-07:00")), append(ids, at.id.String())
	}
	return []any{queues, ranks, dues, ids}
}

// floorTable is the table expression of bounds, whose parameters begin with a number. They are in subqueries for the
// reason that claimQuery gives.
func floorTable(first int) string {
	array := func(i int, as string) string {
		return "(SELECT $" + strconv.Itoa(first+i) + "::" + as + ")"
	}
	return `floor AS MATERIALIZED (
  SELECT f.queue, f.rank, f.due::timestamptz AS due, f.id::uuid AS id
  FROM unnest(` + array(0, "text[]") + ", " + array(1, "bigint[]") + ", " + array(2, "text[]") + ", " + array(3, "text[]") + `) f(queue, rank, due, id)
)`
}

const (
	// joinFloor joins the bound of a rank r and a queue u.
	joinFloor = `
  LEFT JOIN floor f ON f.queue = u.queue AND f.rank = r.rank`
	// floorDue and floorID are the bound, or before all.
	floorDue = "coalesce(f.due, '-infinity')"
	floorID  = "coalesce(f.id, '00000000-0000-0000-0000-000000000000')"
	// aboveFloor is the condition on a task q. The index has the columns in this order, so a scan of it begins there.
	aboveFloor = "(q.not_before, q.id) >= (" + floorDue + ", " + floorID + ")"
	// entriesRead is how many entries of the index taskkit_claim the connection has read, whether their tasks were there
	// or not. It is not reset within a statement.
	entriesRead = "pg_stat_get_xact_tuples_returned('{s}taskkit_claim'::regclass)"
)
