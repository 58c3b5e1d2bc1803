package simulation

import (
	"math/rand/v2"
	"time"

	"taskkit.dev/internal/store"
)

// Family is what a task of [kindParent] has of a plan: the children that it submits, one for each of
// its items.
type Family struct {
	Children  []Task
	Window    int // how many it lets be open at once
	OnFailure store.OnFailure
	// EachEnd: it has a batch for each child that ends, as a composite task has.
	EachEnd bool
	// Set are the targets of the parent, of which each child has a range; nil: it has none.
	Set []int
}

// drawParents adds parents to some plans. It draws from a generator of its own, so that
// the other plans stay as they are.
func (p *Plan) drawParents(r *rand.Rand) {
	d := familyDrawer{r: r, id: firstFamilyID}
	if !d.maybe(0.35) {
		return
	}
	for range d.in(1, 2) {
		t := d.parent(12, true)
		t.After = time.Duration(r.Int64N(int64(p.Chaos)))
		p.Tasks = append(p.Tasks, t)
	}
	late := d.parent(8, false)
	p.Afterwards = &late
	p.PauseAfterwards = d.maybe(0.5)
	p.PassesOn = d.maybe(0.5)
}

// firstFamilyID is the first byte of the ids of the first parent. Those of other tasks are less.
const firstFamilyID = 20

type familyDrawer struct {
	r  *rand.Rand
	id byte
}

func (d *familyDrawer) maybe(p float64) bool { return d.r.Float64() < p }

func (d *familyDrawer) in(lo, hi int) int { return lo + d.r.IntN(hi-lo+1) }

// task draws what all tasks have.
func (d *familyDrawer) task(kind string) Task {
	t := Task{Kind: kind, Spec: true, Batch: d.in(1, mostInBatch), Poison: -1, Panic: -1, Goexit: -1, Killer: -1}
	for b := range t.ID {
		t.ID[b] = byte(d.r.Uint32())
	}
	t.ID[0], t.ID[6], t.ID[8] = d.id, t.ID[6]&0x0f|0x70, t.ID[8]&0x3f|0x80
	d.id++
	return t
}

// parent draws a task with at most so many children. With faults, some of them fail always, or
// have children themselves.
func (d *familyDrawer) parent(most int, faults bool) Task {
	t := d.task(kindParent)
	t.Items = d.in(1, most)
	f := &Family{
		Window: d.in(1, 6), EachEnd: d.maybe(0.3),
		OnFailure: []store.OnFailure{store.FailureContinues, store.FailurePauses, store.FailureFails}[d.in(0, 2)],
	}
	if faults {
		for _, at := range []*int{&t.Poison, &t.Panic, &t.Killer} {
			if d.maybe(0.05) {
				*at = d.in(0, t.Items-1)
			}
		}
	}
	for range t.Items {
		switch {
		case faults && most > 3 && d.maybe(0.06):
			f.Children = append(f.Children, d.parent(3, faults))
		default:
			f.Children = append(f.Children, d.child(faults))
		}
	}
	t.Family = f
	return t
}

// child draws a child that has none itself.
func (d *familyDrawer) child(faults bool) Task {
	t := d.task([]string{kindMove, kindMove, kindTidy, kindCount, kindRemote}[d.in(0, 4)])
	t.Items = d.in(0, 8)
	if faults && t.Items > 0 {
		for _, at := range []*int{&t.Poison, &t.Poison, &t.Panic, &t.Goexit, &t.Killer} {
			if d.maybe(0.04) {
				*at = d.in(0, t.Items-1)
			}
		}
		if d.maybe(0.2) {
			t.Fails = d.in(2, 5)
		}
		t.Spec = !d.maybe(0.03)
	}
	return t
}
