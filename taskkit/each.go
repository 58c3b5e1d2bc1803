package taskkit

import (
	"context"
	"errors"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
)

// errNilEach is permanent: no retry can correct a missing function.
var errNilEach = errors.New("taskkit.Each was called with a nil function: pass the one that processes the items")

// Each calls f once with all items, inside a savepoint of b.Tx. When f returns an
// error that belongs to an item, what f did is rolled back and f is called with
// parts of the items, until the item that fails is alone. That item is recorded with
// [Batch.Fail], and the others commit together with the batch. One bad item of n
// takes at most log2(n) + 3 calls; many bad items take few more calls than there are
// items. On PostgreSQL a call takes one round trip beside those of f.
//
// An error belongs to an item when it is marked [Permanent], is one of decoding or
// validation, or when the database refused a value or a row: a constraint, a value
// out of range, what a trigger raises. Each returns any other error at once, and so
// should the executor: transient errors, a statement that is wrong (an unknown
// table, no privilege), one that is too large, which halves b.Limit, unless f had
// one item alone, the end of ctx, and misuse of the transaction. Then the batch is
// not committed, as after a failed statement; inside [Batch.Try] all that Each did is
// undone. A panic of f continues.
//
// F must accept any part of items, in any division, and leave the slice as it is.
// Its effects must be writes through b.Tx, and what it records through b: Fail,
// Skip, Succeed, Advance, Total and [Take] are undone with the writes of their call. Variables
// of the program and b.State are not: change them after Each, or in f directly before
// it returns nil, since the writes of such a call are kept. Calls may be nested. A
// constraint that is checked only when the transaction commits fails the whole batch.
//
// Each counts no items as processed and records none as succeeded, since f may know
// them by another identity: use [Take], [Batch.Advance] or, in f, [Batch.Succeed] as
// without it. After Each, Succeed would replace what Each recorded as failed.
// Without items it does nothing and does not call f.
func Each[T, Spec, State any](ctx context.Context, b *Batch[Spec, State], items []T, f func(ctx context.Context, items []T) error) error {
	if f == nil {
		return &classify.MarkedError{Class: lifecycle.Permanent, Code: classify.CodeMisuse, Err: errNilEach}
	}
	return b.runtime().Each(ctx, len(items),
		func(from, to int) error { return f(ctx, items[from:to:to]) },
		func(i int, err error) { b.Fail(items[i], err) })
}
