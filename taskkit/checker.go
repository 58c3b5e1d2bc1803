package taskkit

import (
	"context"
	"fmt"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/engine/session"
)

// ItemChecker is an [Executor] with a condition for its items. The directive of the kind names their list, with targets=FIELD, and
// Target is the type of its elements.
//
// CheckItems is called before Execute, with the items that [Take] would return in the batch, and returns what is done with each,
// in their order; nil processes all. Take then returns those that are to be processed. So an item that is left out never
// reaches Execute, in whatever form the task has its items: a list, a frozen set, a range, a preview, a round over deferred items.
//
// The batch is the batch of the call of Execute that follows: what CheckItems writes through b.Tx and changes in b.State is committed with it.
// If no item of a batch is left, Execute is called only with the last batch of the items. Errors and the end of the context mean what
// they mean for Execute.
type ItemChecker[Spec, State, Target any] interface {
	CheckItems(ctx context.Context, b *Batch[Spec, State], items []Target) ([]Processing, error)
}

// BucketChecker is a [Segmenter] with a condition for its buckets.
//
// CheckBucket is called for each segment in a batch of the task itself, before the bucket is submitted; b.Segment is the segment.
// For a bucket that is left out no child is submitted. One with [Skip] is recorded by its code, as an item of the task that was skipped, whose
// key is the segment, and [Client.WriteBuckets] has a line for it. Its items are not counted. It does
// not make the task partial: its kind says that there is nothing to do.
//
// What CheckBucket writes through b.Tx is committed with the batch that submits the buckets; changes to b.State are not kept. It is called
// once for a segment unless that batch is tried again. Errors and the end of the context mean what they mean for Execute.
type BucketChecker[Spec, State any] interface {
	CheckBucket(ctx context.Context, b *Batch[Spec, State]) (Processing, error)
}

// Processing is what is done with an item or a bucket: [Process], [CountOnly] or the value of [Skip]. The zero value is Process.
type Processing struct {
	countOnly bool
	code      string // of Skip
}

var (
	// Process processes the item or the bucket.
	Process = Processing{}
	// CountOnly does not process the item, which counts as one that succeeded. A bucket is done without a child and without a record.
	CountOnly = Processing{countOnly: true}
)

// Skip leaves the item or the bucket out, and records it with a code for clients as [Batch.Skip] does. The code "" is "skipped".
func Skip(code string) Processing {
	if code == "" {
		code = classify.CodeSkipped
	}
	return Processing{code: code}
}

// checkFunc takes the items of a batch and calls the method CheckItems of an executor. It returns how many items are left, and of how many.
type checkFunc[Spec, State any] func(ctx context.Context, b *Batch[Spec, State]) (left, of int, next Next, err error)

// ItemsCheckedIn is the value of Definition.CheckItems for the list of the targets of a kind, of an executor that is an
// [ItemChecker]. taskgen writes the call.
func ItemsCheckedIn[State, Spec any, L ~[]T, T any](list func(*Spec) *L) func(executor any) any {
	return func(x any) any {
		checker, ok := find[ItemChecker[Spec, State, T]](x)
		if !ok {
			return nil
		}
		return checkFunc[Spec, State](func(ctx context.Context, b *Batch[Spec, State]) (left, of int, next Next, err error) {
			items, next := Take(b, []T(*list(&b.Spec)))
			if len(items) == 0 {
				return 0, 0, next, nil
			}
			decided, err := checker.CheckItems(ctx, b, items)
			if err == nil && decided != nil && len(decided) != len(items) {
				err = misuse(fmt.Errorf("CheckItems was given %d items and returned %d values: return one for each item, in their order, or nil to process all", len(items), len(decided)))
			}
			if err != nil {
				return 0, 0, next, err
			}
			kept := items
			if decided != nil {
				kept = make([]T, 0, len(items))
			}
			for i, p := range decided {
				switch {
				case p.code != "":
					b.Skip(items[i], p.code)
				case !p.countOnly:
					kept = append(kept, items[i])
				}
			}
			b.step.Checked = &checkedItems[T]{kept, next}
			return len(kept), len(items), next, nil
		})
	}
}

// checkedItems are what Take returns after CheckItems.
type checkedItems[T any] struct {
	items []T
	next  Next
}

// takeChecked is Take after CheckItems.
func takeChecked[T any](step *session.Step) ([]T, Next) {
	checked, ok := step.Checked.(*checkedItems[T])
	if !ok {
		var want []T
		panic(misuse(fmt.Errorf("Take was given a list of %T, and the items that CheckItems has checked are others: give Take the list that targets= names in the directive", want)))
	}
	return checked.items, checked.next
}
