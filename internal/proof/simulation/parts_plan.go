package simulation

import (
	"math/rand/v2"
	"time"

	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/taskpolicy"
)

// firstPartsID is the first byte of the id of the first task that is divided.
const firstPartsID = 200

// drawParts adds to some plans a parent whose children are the ranges of its targets, or which find their own targets, as
// buckets do. It draws from a generator of its own, so that the other plans stay as they are.
func (p *Plan) drawParts(r *rand.Rand) {
	d := familyDrawer{r: r, id: firstPartsID}
	if !d.maybe(0.25) {
		return
	}
	t := d.task(kindParent)
	t.After = time.Duration(r.Int64N(int64(p.Chaos)))
	t.Family = &Family{Window: d.in(1, 4), OnFailure: store.FailureContinues}
	if d.maybe(0.3) {
		t.Family.OnFailure = store.FailurePauses
	}
	n := d.in(2, 6)
	if d.maybe(0.5) {
		d.ranges(&t, n)
	} else {
		for range n {
			c := d.part(d.in(0, 150))
			c.Search, c.Repeats, c.Values = d.in(20, 200), d.in(0, 50), c.positions()
			t.Family.Children = append(t.Family.Children, c)
		}
	}
	t.Items = len(t.Family.Children)
	if d.maybe(0.6) {
		t.Policies = taskpolicy.Policies{{
			When: taskpolicy.Condition{Items: &taskpolicy.Items{Of: taskpolicy.Failed, AtLeast: int64(d.in(1, 6))}},
			Do:   []taskpolicy.Action{taskpolicy.Notify, taskpolicy.Pause, taskpolicy.Stop}[d.in(0, 2)],
		}}
	}
	p.Tasks = append(p.Tasks, t)
}

// ranges divides the targets of a parent, which cross a page.
func (d *familyDrawer) ranges(t *Task, n int) {
	size := d.in(1, 250)
	first := d.in(0, n*size)
	t.Family.Set = make([]int, n*size)
	for at := range t.Family.Set {
		t.Family.Set[at] = (first + at) % len(t.Family.Set)
	}
	for i := range n {
		c := d.part(size)
		c.Range = &store.Range{From: int64(i * size), To: int64((i + 1) * size)}
		c.Values = t.Family.Set[i*size : (i+1)*size]
		t.Family.Children = append(t.Family.Children, c)
	}
}

// part draws a child over targets. What happens to its items depends on these, which are numbers below 1,500.
func (d *familyDrawer) part(items int) Task {
	c := d.task(kindFrozen)
	c.Items, c.Part = items, true
	for i, every := range []*int{&c.Fails, &c.Skips, &c.Defers} {
		if d.maybe([]float64{0.7, 0.3, 0.3}[i]) {
			*every = 20 * d.in(1, 5)
		}
	}
	if items > 0 && d.maybe(0.1) {
		c.Killer = d.in(0, items)
	}
	return c
}
