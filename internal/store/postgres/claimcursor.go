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
	"taskkit.dev/internal/store/sqlbase"
)

// claimCursors are the positions in the index, for each lane and rank, from which a worker claims. Without them a claim
// reads the index from its beginning, including the entries of all tasks that were claimed since the oldest snapshot in the
// database: PostgreSQL keeps these entries as long as the snapshot.
//
// Cursors are used only after a claim without them has read many more entries of the index than it took tasks. A cursor is
// an entry of the index before which the last claim found no task that it could take. It is never within
// [settling] of the present, since a transaction that is about to commit may have inserted an earlier task.
//
// A task may still come to be before a cursor. It does not remain unseen for long:
//
//   - A claim with cursors that finds fewer tasks than it may take is followed by one without, at once.
//   - Otherwise the cursors are used for cursorShare times the duration of the last claim without them, at most
//     cursorLongest, from their first use. Then a claim is made without them, which sets them again.
//
// The time is measured by the monotonic clock of the worker, so that no change of the database's clock extends it.
// Cursors are in memory and belong to one process with its queues and kinds. Other processes on the same store claim
// without cursors at first.
type claimCursors struct {
	mu      sync.Mutex
	claim   store.Claim // the process, queues and kinds of the cursors
	at      map[probe]indexEntry
	version int           // counts the changes
	use     time.Duration // how long they are used
	until   time.Time     // zero: not used since they were set
	short   bool          // the last claim with cursors found fewer tasks than it could take
}

const (
	// settling is how long a transaction that inserts a task may take without its task being passed over.
	settling = 250 * time.Millisecond
	// cursorShare bounds the share of claims without cursors in the time of all claims: one in cursorShare.
	cursorShare = 20
	// cursorLongest is the longest time for which a task before a cursor is passed over.
	cursorLongest = 30 * time.Second
	// readFree and readPerTask bound the entries of the index that a claim may read before cursors are used. Even without
	// a snapshot it reads the entries of the previous claim, since only the next reader marks them as removed.
	readFree    = 1000
	readPerTask = 3
)

// probe is what one scan of the index by a claim reads. Without a queue and a kind it stands for the scans of the rank in
// all lanes that have no cursor of their own.
type probe struct {
	queue  string
	served string // the kind with its revision
	rank   int    // its number
}

// entry is an entry of the index, by its order in a probe.
type indexEntry struct {
	due time.Time
	id  uuid.UUID
}

// compare orders entries as a probe reads them.
func (e indexEntry) compare(other indexEntry) int {
	return cmp.Or(e.due.Compare(other.due), bytes.Compare(e.id[:], other.id[:]))
}

// claimCursor has the cursors of one claim.
type claimCursor struct {
	of      map[probe]indexEntry // empty: the claim begins at the beginning
	version int
}

// current returns the cursors for a claim.
func (f *claimCursors) current(c store.Claim) claimCursor {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.at) == 0 || f.short || !f.belong(c) {
		return claimCursor{version: f.version}
	}
	now := time.Now()
	if f.until.IsZero() {
		f.until = now.Add(f.use)
	}
	if !now.Before(f.until) {
		return claimCursor{version: f.version}
	}
	return claimCursor{maps.Clone(f.at), f.version}
}

// unbounded returns no cursors: the claim begins at the beginning.
func (f *claimCursors) unbounded() claimCursor {
	f.mu.Lock()
	defer f.mu.Unlock()
	return claimCursor{version: f.version}
}

// belong reports whether the cursors are for the claim's process, queues and kinds.
func (f *claimCursors) belong(c store.Claim) bool {
	return f.claim.Process == c.Process && slices.Equal(f.claim.Queues, c.Queues) &&
		maps.EqualFunc(f.claim.Kinds, c.Kinds, slices.Equal[[]int])
}

// record moves the cursors by the tasks of a claim from b, unless another claim has changed them meanwhile.
func (f *claimCursors) record(c store.Claim, b claimCursor, r taken) {
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
		f.advance(c, r)
		return
	}
	f.short, f.until, f.at = false, time.Time{}, nil
	if !r.many() {
		return
	}
	f.use = min(cursorShare*r.took, cursorLongest)
	f.at = make(map[probe]indexEntry)
	f.claim = store.Claim{Process: c.Process, Queues: slices.Clone(c.Queues), Kinds: make(map[string][]int)}
	for kind, revisions := range c.Kinds {
		f.claim.Kinds[kind] = slices.Clone(revisions)
	}
	f.advance(c, r)
}

// many reports whether the claim has read so many entries of the index that cursors help.
func (r taken) many() bool { return r.read > readFree+readPerTask*int64(len(r.Tasks)) }

// advance sets the cursors of the probes of a claim. Ranks before the rank of the last task were read to their end, unless
// a queue is paused, whose name is not known; the rank of the last task was read up to it.
func (f *claimCursors) advance(c store.Claim, r taken) {
	recent := indexEntry{due: r.at.Add(-settling)}
	move := func(p probe, to indexEntry) {
		if to.compare(recent) > 0 {
			to = recent
		}
		if to.compare(f.at[p]) > 0 {
			f.at[p] = to
		}
	}
	for _, t := range r.Tasks {
		o := r.orders[t.ID]
		move(probe{t.Queue, sqlbase.KindRevision(t.Kind, t.Revision), o.number}, indexEntry{o.due, t.ID})
	}
	if r.Paused || r.contended {
		return
	}
	ranks := lifecycle.Ranks(c.TriedFirst)
	if r.full(c) {
		ranks = ranks[:r.orders[r.Tasks[len(r.Tasks)-1].ID].rank]
	}
	for _, rank := range ranks {
		move(probe{rank: rank.Number}, recent)
	}
}

// args returns the cursors as the parameters of cursorTable.
func (b claimCursor) args() []any {
	var (
		n      = len(b.of)
		queues = make([]string, 0, n)
		served = make([]string, 0, n)
		ranks  = make([]int64, 0, n)
		dues   = make([]string, 0, n)
		ids    = make([]string, 0, n)
	)
	for p, at := range b.of {
		if all := b.of[probe{rank: p.rank}]; all.compare(at) > 0 {
			at = all
		}
		queues, served, ranks = append(queues, p.queue), append(served, p.served), append(ranks, int64(p.rank))
		dues, ids = append(dues, at.due.UTC().Format("2006-01-02 15:04:05.999999-07:00")), append(ids, at.id.String())
	}
	return []any{queues, served, ranks, dues, ids}
}

// cursorTable is the table expression of cursors, whose parameters begin with number first. They are in subqueries for the
// reason that claimQuery gives.
func cursorTable(first int) string {
	array := func(i int, as string) string {
		return "(SELECT $" + strconv.Itoa(first+i) + "::" + as + ")"
	}
	return `claim_cursor AS MATERIALIZED (
  SELECT f.queue, f.served, f.rank, f.due::timestamptz AS due, f.id::uuid AS id
  FROM unnest(` + array(0, "text[]") + ", " + array(1, "text[]") + ", " + array(2, "bigint[]") + ", " + array(3, "text[]") + ", " + array(4, "text[]") + `) f(queue, served, rank, due, id)
)`
}

const (
	// joinCursor joins the cursor of a lane l and a rank r, and the one of the rank in all lanes.
	joinCursor = `
  LEFT JOIN claim_cursor f ON f.queue = l.queue AND f.served = l.served AND f.rank = r.rank
  LEFT JOIN claim_cursor a ON a.queue = '' AND a.rank = r.rank`
	// cursorFrom is the cursor, or before all entries.
	cursorFrom = "coalesce(f.due, a.due, '-infinity') AS due, coalesce(f.id, a.id, '00000000-0000-0000-0000-000000000000') AS id"
	// entriesRead is the number of entries of the index taskkit_claim that the connection has read, including entries of
	// removed rows. It is not reset within a statement.
	entriesRead = "pg_stat_get_xact_tuples_returned('{s}taskkit_claim'::regclass)"
)
