package simulation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"taskkit.dev/internal/memstore"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/workflow"
)

// life is what the log says of one task, read change by change.
type life struct {
	*world
	task *Task
	id   uuid.UUID
	bad  []string

	row     *store.Task // as the last change left it
	inserts int
	removed int64           // the commit that removed it
	touched map[int]int     // by item
	fences  map[int64]int64 // the commit of each claim, by its fence
	tries   int             // holds of this checkpoint that may have tried it
	told    int64           // the fence whose holder knows of a stop or a delete
	at      int             // the cursor
}

// legal is the table of transitions, written down from the design and not taken
// from the code.
var legal = map[[2]workflow.Status]bool{
	{workflow.Queued, workflow.Scheduling}:    true,
	{workflow.Queued, workflow.Completed}:     true, // a stop that nobody holds
	{workflow.Scheduling, workflow.Executing}: true,
	{workflow.Scheduling, workflow.Queued}:    true,
	{workflow.Scheduling, workflow.Completed}: true,
	{workflow.Scheduling, workflow.Failure}:   true,
	{workflow.Scheduling, workflow.Error}:     true,
	{workflow.Executing, workflow.Queued}:     true,
	{workflow.Executing, workflow.Completed}:  true,
	{workflow.Executing, workflow.Failure}:    true,
	{workflow.Executing, workflow.Error}:      true,
	{workflow.Error, workflow.Queued}:         true, // retried
	{workflow.Failure, workflow.Queued}:       true,
}

// check reads the log and the rows that executors have written, and returns what
// is wrong with them.
func (w *world) check() (bad []string) {
	log, rows := w.mem.Log(), w.mem.Rows()
	w.mu.Lock()
	defer w.mu.Unlock()
	lives := make(map[uuid.UUID]*life, len(w.plan.Tasks))
	for id, t := range w.byID {
		lives[id] = &life{world: w, task: t, id: id, touched: make(map[int]int), fences: make(map[int64]int64)}
	}
	keys := make(map[string]uuid.UUID) // live tasks by unique key
	there := make(map[*Task]uuid.UUID) // tasks that there are, each by its idempotency key
	for _, c := range log {
		t := c.After
		if t == nil {
			t = c.Before
		}
		l := lives[t.ID]
		if l == nil {
			bad = append(bad, fmt.Sprintf("I2: task %s was never submitted", t.ID))
			continue
		}
		var wrote []memstore.Row
		for len(rows) > 0 && rows[0].Commit <= c.Commit && rows[0].Hold.ID == t.ID {
			wrote, rows = append(wrote, rows[0]), rows[1:]
		}
		l.change(c, wrote)
		if a, ok := made(c); ok {
			w.facts.accepted[a]--
		}
		// I13: one task an idempotency key, and one live task a key of its kind.
		switch other, ok := there[l.task]; {
		case c.After == nil:
			delete(there, l.task)
		case ok && other != t.ID:
			l.wrong("I13: its idempotency key is also that of another task")
		default:
			there[l.task] = t.ID
		}
		if t.UniqueKey == "" {
			continue
		}
		key := t.Kind + " " + t.UniqueKey
		if c.After == nil || c.After.Status.Terminal() {
			if keys[key] == t.ID {
				delete(keys, key)
			}
			continue
		}
		if other, ok := keys[key]; ok && other != t.ID {
			l.wrong("I13: %q is also the key of another live task", key)
		}
		keys[key] = t.ID
	}
	if len(rows) > 0 {
		bad = append(bad, fmt.Sprintf("I6: %d rows were committed without a checkpoint, the first by fence %d at checkpoint %d", len(rows), rows[0].Hold.Fence, rows[0].Hold.Seq))
	}
	// I5, from the holders' side: what they were told was made was made under
	// their fence.
	for a, n := range w.facts.accepted {
		if n > 0 {
			lives[a.ID].wrong("I5: fence %d was told that it had brought checkpoint %d to %s, which the log does not have", a.Fence, a.Seq, a.to)
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(lives), func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }) {
		l := lives[id]
		l.end()
		for _, b := range l.bad {
			bad = append(bad, fmt.Sprintf("task %d: %s", l.task.ID[0], b))
		}
	}
	return bad
}

// made is what a change by a holder looks like to the holder.
func made(c memstore.Change) (a accepted, ok bool) {
	if c.By != "Apply" && c.By != "Commit" {
		return a, false
	}
	a.Hold, a.to = store.Hold{ID: c.Before.ID, Fence: c.Before.Fence, Seq: c.Before.Seq}, workflow.Completed
	if c.After != nil {
		a.to = c.After.Status
	}
	return a, true
}

func (l *life) wrong(format string, args ...any) { l.bad = append(l.bad, fmt.Sprintf(format, args...)) }

// change reads one change of the task and the rows committed with it.
func (l *life) change(c memstore.Change, wrote []memstore.Row) {
	if c.Before == nil {
		l.inserts++
		l.row = c.After
		return
	}
	if l.row == nil || l.removed > 0 {
		l.wrong("I2: changed by %s while it does not exist", c.By)
		return
	}
	b := l.row
	l.rows(c, b, wrote)
	if c.After == nil {
		l.gone(c, b)
		return
	}
	a := c.After
	l.row = a
	moved := a.Status != b.Status
	switch {
	case moved && !legal[[2]workflow.Status{b.Status, a.Status}]:
		l.wrong("I3: %s brought it from %s to %s", c.By, b.Status, a.Status)
	case a.Status == workflow.Completed && b.Status == workflow.Queued && a.Control != workflow.Stop:
		l.wrong("I3: completed while it waited, and nobody had asked for that")
	}
	// I4: the fence goes up by one with a claim and never else; the checkpoint
	// by one, by who holds it; the cursor and the counts never go back.
	claim := b.Status == workflow.Queued && a.Status == workflow.Scheduling
	switch {
	case claim && a.Fence != b.Fence+1 || !claim && a.Fence != b.Fence:
		l.wrong("I4: %s brought the fence from %d to %d, %s to %s", c.By, b.Fence, a.Fence, b.Status, a.Status)
	case a.Seq != b.Seq && (a.Seq != b.Seq+1 || !b.Status.InFlight()):
		l.wrong("I4: %s brought the checkpoint from %d to %d, %s to %s", c.By, b.Seq, a.Seq, b.Status, a.Status)
	case a.Progress.Done < b.Progress.Done || a.Progress.Failed < b.Progress.Failed || a.Progress.Taken < b.Progress.Taken:
		l.wrong("I4: %s brought the counts back from %+v to %+v", c.By, b.Progress, a.Progress)
	}
	if at := cursor(a.State); at < l.at {
		l.wrong("I4: %s brought the cursor back from %d to %d", c.By, l.at, at)
	} else {
		l.at = at
	}
	if claim {
		l.fences[a.Fence] = c.Commit
	}
	l.obeys(c, b, a, claim)
	l.counts(b, a, claim)
}

// rows checks what was written with a change: I1, I5 and I6.
func (l *life) rows(c memstore.Change, b *store.Task, wrote []memstore.Row) {
	from, to := cursor(b.State), cursor(b.State)
	if c.After != nil && c.After.Seq != b.Seq {
		to = cursor(c.After.State)
	}
	if c.After == nil && len(wrote) > 0 {
		to = l.task.Items // its state is gone with it
	}
	var want []int
	for i := from; i < to && l.task.Kind != kindCount; i++ {
		if !l.task.fails(i) {
			want = append(want, i)
		}
	}
	var got []int
	for _, r := range wrote {
		i, _ := r.Values[0].(int)
		got = append(got, i)
		l.touched[i]++
		if l.touched[i] > 1 {
			l.wrong("I1: item %d is touched %d times, now by fence %d at checkpoint %d", i, l.touched[i], r.Hold.Fence, r.Hold.Seq)
		}
		switch {
		case r.Commit != c.Commit:
			l.wrong("I6: item %d was committed in %d without a checkpoint, before %s in %d", i, r.Commit, c.By, c.Commit)
		case r.Hold.Fence != b.Fence || r.Hold.Seq != b.Seq:
			l.wrong("I5: item %d was touched by fence %d at checkpoint %d, when fence %d had checkpoint %d", i, r.Hold.Fence, r.Hold.Seq, b.Fence, b.Seq)
		}
	}
	slices.Sort(got)
	if c.After == nil && len(wrote) > 0 {
		want = want[:min(len(want), len(got))]
	}
	if !slices.Equal(got, want) {
		l.wrong("I6: %s moved the cursor from %d to %d and touched %v, not %v", c.By, from, to, got, want)
	}
}

// gone checks a removal.
func (l *life) gone(c memstore.Change, b *store.Task) {
	l.removed = c.Commit
	if !l.facts.removing[l.id] {
		l.wrong("I8: removed by %s, and nobody had asked for that", c.By)
	}
	if b.Status.InFlight() && c.By != "Apply" && c.By != "Commit" {
		l.wrong("I8: removed by %s while a worker held it", c.By)
	}
}

// obeys checks that a holder that knows of a stop or a delete does nothing more:
// I8. It knows from the claim, and from the answer to a checkpoint.
func (l *life) obeys(c memstore.Change, b, a *store.Task, claim bool) {
	checkpoint := a.Seq != b.Seq
	if checkpoint && l.told == b.Fence && !a.Status.Terminal() && (b.Control == workflow.Stop || b.Control == workflow.Delete) {
		l.wrong("I8: %s made checkpoint %d of fence %d, which had been told of a %s", c.By, a.Seq, a.Fence, b.Control)
	}
	if (claim || checkpoint) && (a.Control == workflow.Stop || a.Control == workflow.Delete) {
		l.told = a.Fence
	}
	if a.Control == workflow.Stop && b.Control != workflow.Stop && !l.facts.stopping[l.id] {
		l.wrong("I8: %s wrote a stop for which nobody had asked", c.By)
	}
}

// counts checks what a task's attempts say and how it ends: I10 and I11.
func (l *life) counts(b, a *store.Task, claim bool) {
	switch {
	case a.Seq != b.Seq:
		l.tries = 1
	case claim:
		l.tries++
	case b.Status.Terminal() && a.Status == workflow.Queued:
		l.tries = 0
	}
	if claim && a.Attempts != b.Attempts+1 {
		l.wrong("I10: a claim brought attempts from %d to %d", b.Attempts, a.Attempts)
	}
	switch {
	case !a.Status.Terminal() || b.Status.Terminal():
	case a.Status == workflow.Failure && l.tries < maxAttempts && !l.facts.permanent[l.id]:
		l.wrong("I10: gave up after %d holds of checkpoint %d, with transient errors only: %s", l.tries, b.Seq, a.Desc)
	case a.Status == workflow.Error && l.task.Spec && l.tries <= maxAttempts:
		l.wrong("I11: taken for one that kills its workers after %d holds: %s", l.tries, a.Desc)
	case a.Status == workflow.Completed && !l.task.Spec && a.Control != workflow.Stop:
		l.wrong("I3: completed with a spec that cannot be decoded")
	}
}

// end checks what there is in the end.
func (l *life) end() {
	switch {
	case l.inserts > 1:
		l.wrong("I2: inserted %d times", l.inserts)
	case l.facts.tooOften[l.id] > 0:
		l.wrong("I11: executed for try %d, of at most %d", l.facts.tooOften[l.id], maxAttempts)
	case l.facts.acked[l.id] && l.inserts == 0:
		l.wrong("I2: acknowledged and not there")
	}
	if l.row == nil {
		return
	}
	t := l.row
	for i := range l.touched {
		if i < 0 || i >= l.task.Items {
			l.wrong("I1: item %d is none of its %d", i, l.task.Items)
		}
	}
	if l.removed > 0 {
		return
	}
	if t.Status == workflow.Completed && t.Control == workflow.None {
		if l.at != l.task.Items {
			l.wrong("I1: completed with its cursor at %d of %d", l.at, l.task.Items)
		}
		if p := t.Progress; p.Done+p.Failed+p.Skipped != int64(l.task.Items) || p.Total != int64(l.task.Items) {
			l.wrong("I4: completed with %+v of %d", p, l.task.Items)
		}
	}
	if t.Status == workflow.Error && l.task.Spec && l.task.Killer < 0 {
		l.seen["taken for a killer"]++ // its workers died by chance
	}
}

// cursor reads a state.
func cursor(raw json.RawMessage) int {
	var s state
	if json.Unmarshal(raw, &s) != nil {
		return -1
	}
	return s.At
}
